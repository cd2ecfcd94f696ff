"""Constant folding of a whole call: the program of a draft that no capture comes to the end of.

Law: it accepts the example's inputs and state, bit for bit, and nothing else. What the module gives
for them, run as it is, are constants of the program; what it writes to tensors among them is
written. A module whose second run gives something else is one that no such program vouches for.
"""

from __future__ import annotations

import copy
import inspect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.capture.installation import heard_by, listening
from monograph.capture.recovery.error_recovery import Continuing, Problems
from monograph.capture.side_effects.process_state import Situation
from monograph.diagnostics import problem
from monograph.host.dispatch import (
    dispatch_keys,
    has_own_dispatch,
    share_memory,
    with_dispatch_keys,
    without_modes,
)
from monograph.host.trees import flatten, leaves_of, unflatten

if TYPE_CHECKING:
    from monograph.capture.tracing import Request

ASSUMED: Final = "inputs and state are those of the example"


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """What one call took and gave: leaves as they were before, after, and returned."""

    given: list[Any]
    after: list[Any]
    returned: list[Any]
    spec: Any
    written: dict[int, torch.Tensor] = field(default_factory=dict)
    """The inputs that it wrote to, by their places, as they were after."""
    state: dict[str, tuple[torch.Tensor, torch.Tensor]] = field(default_factory=dict)
    """The parameters and buffers that it wrote to: before, and after."""
    is_repeatable: bool = False


def watching_request(request: Request) -> Request:
    """The capture that calls the module on the example, as it is, and sees what it does outside."""
    keys, copied, calls = dispatch_keys(), _copied(request.module), list[ExampleCall]()

    def forward(*_args: Any, **_kwargs: Any) -> None:
        recorder = listening()
        with without_modes(), with_dispatch_keys(keys), heard_by(None):
            calls.append(_called(copied, request))
        recorder.called = calls[0]  # what later ones gave may depend on it

    return _standing_in(request, torch.nn.Module(), forward)


def repeating_request(request: Request, call: ExampleCall) -> Request:
    """The capture of a module that gives what the call gave."""
    module = torch.nn.Module()
    for name, (before, _) in call.state.items():
        _register(module, name, before)

    def forward(*args: Any, **kwargs: Any) -> Any:
        return _repeated(call, module, leaves_of((args, kwargs)))

    return _standing_in(request, module, forward)


def _standing_in(request: Request, module: Any, forward: Any) -> Request:
    """The request, of a module that is called like the one it is about."""
    forward.__signature__ = inspect.signature(request.module.forward)
    module.forward, module.training = forward, request.module.training
    return replace(
        request,
        module=module,
        dynamic_shapes=None,
        kept_calls=(),
        strict=False,
        problems=Problems(),
    )


def _repeated(call: ExampleCall, module: torch.nn.Module, leaves: list[Any]) -> Any:
    """What user code is in place of: the comparison with the example, writes, and results."""
    recorder = listening()
    assert isinstance(recorder, Continuing), "drafts go on after refusals"
    state = _state_of(module)
    known = {name: before for name, (before, _) in call.state.items()}
    places = [f"input {i}" for i in range(len(leaves))]
    compared = [*zip(places, leaves, call.given, strict=True)]
    compared += [(f"`{name}`", state[name], known[name]) for name in known]
    for what, tensor, example in compared:
        if isinstance(example, torch.Tensor):
            words = f"{what} is, bit for bit, what it is in the example"
            if not recorder.assert_equal(tensor, example, words):
                recorder.refuse(problem("value-read", call=what), words)
    writes = [(leaves[place], after) for place, after in call.written.items()]
    writes += [(state[name], after) for name, (_, after) in call.state.items()]
    for tensor, after in writes:
        tensor.detach().copy_(after)
    return unflatten(_results(call, leaves), call.spec)


def _results(call: ExampleCall, leaves: list[Any]) -> list[Any]:
    """The returned leaves, which share memory with inputs and each other as they did.

    Raises: unsupported-output (a tensor without memory of its own).
    """
    bases: list[tuple[torch.Tensor, Any]] = [
        (after, leaf)
        for after, leaf in zip(call.after, leaves, strict=True)
        if isinstance(after, torch.Tensor)
    ]
    made: dict[int, Any] = {id(after): leaf for after, leaf in bases}
    for index, each in enumerate(call.returned):
        if not isinstance(each, torch.Tensor) or id(each) in made:
            continue
        if has_own_dispatch(each):
            kind = type(each).__qualname__
            raise problem("unsupported-output", path=f"output[{index}]", type=kind)
        base = next((new for old, new in bases if share_memory(old, each)), None)
        if base is None:
            base = torch.clone(_whole_memory(each))
            bases.append((each, base))
        shape = each.size(), each.stride(), each.storage_offset()
        made[id(each)] = torch.as_strided(base, *shape)
    return [made.get(id(each), each) for each in call.returned]


def _whole_memory(tensor: torch.Tensor) -> Any:
    """A constant of everything that lies in a tensor's memory, as one dimension."""
    recorder = listening()
    with without_modes(), heard_by(None), torch.no_grad():
        storage = tensor.untyped_storage()
        whole = torch.empty(0, dtype=tensor.dtype).set_(storage).clone()  # pyright: ignore[reportArgumentType] - stubs know typed ones
    return recorder.writer.lift_literal(whole, recorder)


def _called(module: torch.nn.Module, request: Request) -> ExampleCall:
    """The module, run twice as it is, on copies of the example."""
    state = _state_of(module)
    before = {name: _kept(tensor) for name, tensor in state.items()}
    surroundings = Situation()
    try:
        call = _run(module, request)
        is_repeatable = call.is_repeatable and not surroundings.restore()
        results = [_kept(leaf) for leaf in call.returned]
        written = {
            name: (value, _kept(state[name]))
            for name, value in before.items()
            if not _same(value, state[name])
        }
        with torch.no_grad():
            for name, (value, _) in written.items():
                state[name].copy_(value)
        again = _run(module, request).returned
    finally:
        surroundings.restore()
    is_repeatable = is_repeatable and len(again) == len(results)
    is_repeatable = is_repeatable and _state_of(module).keys() == state.keys()
    is_repeatable = is_repeatable and all(map(_same, results, again))
    return replace(call, state=written, is_repeatable=is_repeatable)


def _run(module: torch.nn.Module, request: Request) -> ExampleCall:
    """One call, on inputs of its own."""
    flat, spec = flatten((tuple(request.args), dict(request.kwargs or {})))
    leaves = [_kept(leaf) for leaf in flat]
    args, kwargs = unflatten(leaves, spec)
    result = module(*args, **kwargs)
    returned, out_spec = flatten(result)
    given = [_kept(leaf) for leaf in flat]
    written = {i: _kept(leaf) for i, leaf in enumerate(leaves) if not _same(leaf, given[i])}
    keeps_structure = flatten((args, kwargs))[1] == spec
    return ExampleCall(given, leaves, returned, out_spec, written, is_repeatable=keeps_structure)


def _copied(module: torch.nn.Module) -> torch.nn.Module:
    """A copy, which user code may change; what Python cannot copy is shared."""
    memo: dict[int, Any] = {id(t): _kept(t) for t in _state_of(module).values() if not t.is_leaf}
    of_all = vars(torch.nn.Module()).keys()
    for each in module.modules():
        for value in [value for name, value in vars(each).items() if name not in of_all]:
            try:
                copy.deepcopy(value, memo)
            except Exception:  # noqa: BLE001 - a lock, a hash, what a library made
                memo[id(value)] = value
    return copy.deepcopy(module, memo)


def _state_of(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return dict([*module.named_parameters(), *module.named_buffers()])


def _register(module: torch.nn.Module, name: str, tensor: torch.Tensor) -> None:
    """Give a module without code a buffer of a dotted name."""
    *path, last = name.split(".")
    for each in path:
        if each not in dict(module.named_children()):
            module.add_module(each, torch.nn.Module())
        module = module.get_submodule(each)
    module.register_buffer(last, tensor.detach().clone())


def _kept(leaf: Any) -> Any:
    """A leaf with memory of its own, laid out as it was."""
    if not isinstance(leaf, torch.Tensor):
        return leaf
    with torch.no_grad():
        kept = torch.empty_like(leaf, memory_format=torch.preserve_format).copy_(leaf)
    if leaf.layout is torch.strided and kept.stride() != leaf.stride():
        kept = leaf.detach().clone()
    return kept.requires_grad_(leaf.requires_grad)


def _same(one: Any, other: Any) -> bool:
    """Whether two leaves are alike to the last bit; what is no tensor, as Python compares it."""
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        alike = one.dtype is other.dtype and one.shape == other.shape
        return alike and torch.allclose(
            one.detach(), other.detach(), rtol=0, atol=0, equal_nan=True
        )
    return type(one) is type(other) and bool(one == other)


__all__ = ["ASSUMED", "ExampleCall", "repeating_request", "watching_request"]
