"""Result types by running: of an operator that has neither rule nor fake kernel.

One run gives one size of everything. A second, on arguments of other sizes and other data, tells
which sizes of the results follow sizes of the arguments, which are constant, and which are neither.
What is found is a guess, for whoever asks to have it asserted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.aliasing import aliasing_of
from monograph.abstract.layout import strides_in_order
from monograph.abstract.tensor_type import TensorType
from monograph.capture.recovery.concrete_execution import StuckError
from monograph.host.dispatch import schema_of, share_memory, without_modes
from monograph.host.trees import pytree, unflatten
from monograph.integers import Expr, evaluate, fresh

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.capture.recording.operators import Operator
    from monograph.integers import Int

_STEPS = (3, 4, 6, 9, 14, 21)
"""By how much symbols differ in the second run: no two alike, so that sizes can be told apart."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One run of an operator: the types of its arguments, their values, and its result."""

    op: Operator
    types: Any
    real: Any
    result: Any

    @classmethod
    def of(cls, op: Operator, types: Any, real: Any) -> Trial:
        """Run it on copies of the arguments. Raises: StuckError."""
        try:
            return cls(op, types, real, _run(op, real))
        except Exception as error:
            raise StuckError(str(error)) from error


def _run(op: Operator, real: Any) -> Any:
    args, kwargs = pytree.tree_map_only(torch.Tensor, torch.clone, real) if op.mutated else real
    with without_modes(), torch.no_grad(), torch.random.fork_rng(devices=[]):
        return op.overload(*args, **kwargs)


def tensors(result: Any) -> list[torch.Tensor]:
    """The tensors of a result, in order."""
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


def explained(trial: Trial, at_example: Callable[[Any], Any]) -> list[Int | None]:
    """What each size of each result is, in order; None where nothing explains it."""
    sizes = [size for tensor in tensors(trial.result) for size in tensor.shape]
    candidates = _candidates(trial, at_example)
    again = _second_run(trial, at_example)
    if again is None:
        return [_only(candidates, size) for size in sizes]
    others, values = again
    if len(others) != len(sizes):
        return [None] * len(sizes)
    return [
        size
        if size == other
        else next(
            (e for e, v in candidates.items() if v == size and evaluate(e, values) == other), None
        )
        for size, other in zip(sizes, others, strict=True)
    ]


def _candidates(trial: Trial, at_example: Callable[[Any], Any]) -> dict[Expr, int]:
    """Symbolic sizes of the arguments, with their values in the example."""
    found: dict[Expr, int] = {}
    for t in pytree.tree_leaves(trial.types):
        for size in t.shape if isinstance(t, TensorType) else (t,):
            if isinstance(size, Expr):
                value = at_example(size)
                if value is not None:
                    found[size] = value
    return found


def _only(candidates: Mapping[Expr, int], size: int) -> Int | None:
    """The one explanation of a size, where there is one."""
    fitting = [e for e, value in candidates.items() if value == size]
    if not candidates:
        return size
    return fitting[0] if len(fitting) == 1 else None


def _second_run(
    trial: Trial, at_example: Callable[[Any], Any]
) -> tuple[list[int], dict[Expr, int]] | None:
    """Sizes of the results for other arguments, and what the symbols were; None if it fails."""
    symbols = sorted(
        {s for e in _candidates(trial, at_example) for s in e.symbols}, key=lambda s: s.name
    )
    values: dict[Expr, int] = {}
    for i, symbol in enumerate(symbols):
        value = at_example(symbol)
        if value is None:
            return None
        values[symbol] = value + _STEPS[i % len(_STEPS)] * (1 + i // len(_STEPS))
    leaves, spec = pytree.tree_flatten(trial.real)
    types = pytree.tree_leaves(trial.types)
    if len(types) != len(leaves):
        return None
    try:
        other = [_another(t, leaf, values) for t, leaf in zip(types, leaves, strict=True)]
        result = _run(trial.op, unflatten(other, spec))
    except Exception:  # noqa: BLE001 - a custom operator may raise anything
        return None
    return [size for tensor in tensors(result) for size in tensor.shape], values


def _another(t: Any, real: Any, values: Mapping[Expr, int]) -> Any:
    """Another argument of the same type: other data, and other sizes where they are symbols."""
    if isinstance(t, Expr):
        return evaluate(t, values)
    if not isinstance(t, TensorType) or not isinstance(real, torch.Tensor):
        return real
    shape = [evaluate(size, values) for size in t.shape]
    if not real.numel():
        return torch.zeros(shape, dtype=real.dtype, device=real.device)
    # Half of the values, so that legal indices stay legal and counts differ.
    chosen = torch.arange(_count(shape), device=real.device) % ((real.numel() + 1) // 2)
    return real.reshape(-1)[chosen].reshape(shape)


def _count(shape: list[int]) -> int:
    count = 1
    for size in shape:
        count *= size
    return count


def fresh_types(
    result: Any, guesses: list[Int | None], label: str
) -> tuple[Any, list[tuple[Expr, Int]]]:
    """Types like the results, every size new; and what is to be asserted of which."""
    waiting = iter(guesses)
    assumed: list[tuple[Expr, Int]] = []

    def size() -> Expr:
        guess, new = next(waiting), fresh(f"a size of {label}")
        if guess is not None:
            assumed.append((new, guess))
        return new

    def typed(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        shape = tuple([size() for _ in leaf.shape])
        strides = None if leaf.is_contiguous() else strides_in_order(shape, _order(leaf))
        return TensorType(shape, leaf.dtype, leaf.device, strides)

    return pytree.tree_map(typed, result), assumed


def disagreement(inferred: Any, result: Any, at_example: Callable[[Any], Any]) -> str | None:
    """In what the types that were inferred differ from a result, in words."""
    types, real = pytree.tree_leaves(inferred), pytree.tree_leaves(result)
    if len(types) != len(real):
        return f"{len(types)} results where there are {len(real)}"
    for t, tensor in zip(types, real, strict=True):
        if isinstance(t, TensorType) and isinstance(tensor, torch.Tensor):
            shape = [at_example(size) for size in t.shape]
            said, is_ = _shown(t.dtype, shape), _shown(tensor.dtype, list(tensor.shape))
            unknown = len(shape) == tensor.dim() and None in shape
            if said != is_ and not (unknown and t.dtype == tensor.dtype):
                return f"{said} where the operator returns {is_}"
            steps = tuple([at_example(step) for step in t.stride()])
            if not unknown and _lies_apart(tensor, steps):
                return f"strides {steps} where the operator returns {tensor.stride()}, of {is_}"
    return None


def returned_argument(trial: Trial) -> str | None:
    """What the operator returns although its schema says that the result is new, in words."""
    schema = schema_of(trial.op.overload)
    table = aliasing_of(trial.op.overload)
    if table.source is not None or any(table.returned):
        return None
    args, kwargs = trial.real
    named = dict(zip([each.name for each in schema.arguments], args, strict=False)) | kwargs
    for name, value in named.items():
        given = tensors(value)
        if any(share_memory(one, other) for one in given for other in tensors(trial.result)):
            return f"returns its argument `{name}`, or a view of it"
    return None


def _order(tensor: torch.Tensor) -> list[int]:
    """The dimensions from fastest to slowest."""
    return sorted(range(tensor.dim()), key=lambda dim: (tensor.stride(dim), -dim))


def _lies_apart(tensor: torch.Tensor, steps: tuple[int | None, ...]) -> bool:
    """Whether steps that matter are others."""
    return tensor.numel() > 0 and any(
        tensor.shape[dim] > 1 and step not in (None, tensor.stride(dim))
        for dim, step in enumerate(steps)
    )


def _shown(dtype: torch.dtype, shape: list[int]) -> str:
    return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]"


__all__ = ["Trial", "disagreement", "explained", "fresh_types", "returned_argument"]
