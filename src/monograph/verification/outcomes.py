"""Observable behaviour of a call: results, writes, shared memory, gradients, errors.

Both sides of a comparison are called with equal inputs, random state and module state. What a call
writes to the state is put back.
"""

from __future__ import annotations

from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import ContractError
from monograph.host.trees import flatten, leaves_of
from monograph.program.calling.memory_overlap import overlap
from monograph.program.calling.program_module import ProgramModule
from monograph.verification.operator_traces import OperatorTrace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from monograph.program.calling.kept_state import KeptState
    from monograph.verification.legal_inputs import Draw

RAISES = "raises"
"""Begins the name of what stands for gradients where the backward pass raises."""
CALLS = 2
"""The second call shows what the first one wrote."""


@dataclass(slots=True)
class Outcome:
    """What one call gave. `memory` says for each tensor of the result what it shares memory with.

    `error` is what was raised, `refused` whether it was a refusal before any operator ran.
    """

    leaves: list[Any] = field(default_factory=list[Any])
    structure: Any = None
    inputs: list[Any] = field(default_factory=list[Any])
    state: dict[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])
    memory: list[tuple[str, ...]] = field(default_factory=list[tuple[str, ...]])
    gradients: dict[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])
    error: Exception | None = None
    refused: bool = False


class Side:
    """One side of a comparison: a function, or a module with state."""

    def __init__(self, function: Callable[..., Any], state: KeptState) -> None:
        self._function, self._state = function, state

    def outcomes(self, draw: Draw) -> list[Outcome]:
        """Call with what was drawn, twice; once if gradients are asked: a history is used up."""
        found: list[Outcome] = []
        with self._as_it_was(draw):
            for _ in range(1 if draw.gradients else CALLS):
                found.append(_called(self._function, draw))
                if found[-1].error is not None:
                    break
        return found

    def operators(self, draw: Draw) -> OperatorTrace:
        """The operators that one call runs, up to where it raises."""
        args, kwargs = draw.make()
        with self._as_it_was(draw), OperatorTrace() as trace, suppress(Exception):
            self._function(*args, **kwargs)
        return trace

    @contextmanager
    def _as_it_was(self, draw: Draw) -> Generator[None]:
        """Begin with the state and the random numbers that the other side begins with."""
        with ExitStack() as kept:
            kept.enter_context(self._state.restored())
            kept.enter_context(torch.random.fork_rng(devices=[]))
            torch.manual_seed(draw.seed)
            kept.enter_context(torch.set_grad_enabled(draw.grad_mode))
            module = self._function
            # A program that admits a change of its mode computes the same in both.
            if isinstance(module, torch.nn.Module) and not isinstance(module, ProgramModule):
                mode = module.training if draw.training is None else draw.training
                if mode != module.training:
                    module.train(mode)
            yield


def _called(function: Callable[..., Any], draw: Draw) -> Outcome:
    args, kwargs = inputs = draw.make()
    given = leaves_of(inputs)
    try:
        result = function(*args, **kwargs)
    except ContractError as error:
        return Outcome(error=error, refused=True)
    except Exception as error:  # noqa: BLE001  (whatever user code raises at inputs of ours)
        return Outcome(error=error)
    leaves, structure = flatten(result)
    state = _state(function)
    outcome = Outcome(leaves, structure, memory=_memory(leaves, given, state))
    outcome.gradients = _gradients(leaves, given, state, draw.seed)
    outcome.leaves = [_held(leaf) for leaf in leaves]
    outcome.inputs = [_held(leaf) for leaf in given]
    outcome.state = {name: _held(each) for name, each in state.items() if not each.requires_grad}
    return outcome


def first_line(error: Exception | None) -> str:
    """Type and first line of an exception."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _state(function: Callable[..., Any]) -> dict[str, torch.Tensor]:
    if not isinstance(function, torch.nn.Module):
        return {}
    return {**dict(function.named_parameters()), **dict(function.named_buffers())}


def _held(leaf: Any) -> Any:
    """The leaf as it is now, in memory of its own that lies alike."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    detached = leaf.detach()
    if leaf.layout is not torch.strided:
        return detached.clone()
    held = detached.clone(memory_format=torch.preserve_format)
    return held.requires_grad_(leaf.requires_grad) if held.dtype.is_floating_point else held


def _memory(
    leaves: list[Any], given: list[Any], state: dict[str, torch.Tensor]
) -> list[tuple[str, ...]]:
    """For each result, the inputs, state and results before it that it shares bytes with."""
    owners = [(f"input {index}", leaf) for index, leaf in enumerate(given) if _has_memory(leaf)]
    owners += [(name, tensor) for name, tensor in state.items() if _has_memory(tensor)]
    found: list[tuple[str, ...]] = []
    for index, leaf in enumerate(leaves):
        if not _has_memory(leaf):
            found.append(())
            continue
        found.append(tuple([name for name, owner in owners if overlap(leaf, owner)]))
        owners.append((f"result {index}", leaf))
    return found


def _has_memory(leaf: Any) -> bool:
    is_tensor = isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided
    return is_tensor and not leaf.is_meta and leaf.numel() > 0


def _gradients(
    leaves: list[Any], given: list[Any], state: dict[str, torch.Tensor], seed: int
) -> dict[str, torch.Tensor]:
    """Of inputs and parameters, for a random gradient of each result."""
    results = [each for each in leaves if isinstance(each, torch.Tensor) and each.requires_grad]
    results = [each for each in results if each.grad_fn is not None]
    asking = {f"input {i}": each for i, each in enumerate(given) if _asks(each)}
    asking |= {name: each for name, each in state.items() if _asks(each)}
    if not results or not asking:
        return {}
    generator = torch.Generator().manual_seed(seed)
    seeds = [torch.randn(each.shape, generator=generator).to(each) for each in results]
    before = {name: each.grad for name, each in asking.items()}
    for each in asking.values():
        each.grad = None
    try:
        # A module may keep a tensor with its history for the next call; a program computes it anew.
        torch.autograd.backward(results, seeds, retain_graph=True)
        return {name: each.grad for name, each in asking.items() if each.grad is not None}
    except Exception as error:  # noqa: BLE001  (users' backward functions raise what they like)
        return {f"{RAISES} {first_line(error)}": torch.zeros(0)}
    finally:
        for name, each in asking.items():
            each.grad = before[name]


def _asks(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad and leaf.is_leaf


__all__ = ["RAISES", "Outcome", "Side", "first_line"]
