"""State assignment: other weights for a program: adapters, a checkpoint, those of a meta program.

Law: afterwards every tensor has data, is of the type the graph says, and lies on the device the
graph computes on. Names that belong together stay one parameter; tensors share memory where they
did. What is not given is shared with the program, and nothing of it is copied.
"""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import torch

from monograph.diagnostics import problem
from monograph.lazy_imports import deferred
from monograph.passes import move_to_device
from monograph.program.signature import OutputKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from monograph.diagnostics import MonographError
    from monograph.program.program import ExportedProgram

    Given = Mapping[str, torch.Tensor] | str | os.PathLike[str]

_checkpoint_state = deferred("monograph.archive.checkpoints:checkpoint_state")
_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)


def with_state(
    program: ExportedProgram, given: Given, key: Callable[[str], str] | None = None
) -> ExportedProgram:
    """The program with these tensors, shared and not copied; its own where none is given.

    A program on the meta device moves to the device of the tensors. `given` is a mapping, or the
    path of a checkpoint, whose names for the program's `key` gives.

    Raises: weights-do-not-fit.
    """
    (found,) = all_with_state([program], given, key)
    return found


def all_with_state(
    programs: Iterable[ExportedProgram], given: Given, key: Callable[[str], str] | None = None
) -> list[ExportedProgram]:
    """Programs that share their state, with these tensors, which they share again.

    Raises: weights-do-not-fit.
    """
    programs = list(programs)
    if key is not None or isinstance(given, str | os.PathLike):
        state = {name: each for program in programs for name, each in program.state_dict.items()}
        read = {name for program in programs for name in _read(program)}
        given = cast("Mapping[str, Any]", _checkpoint_state(given, state, read, key))
    own: dict[str, torch.Tensor] = {}
    for program in programs:
        for name, tensor in {**program.constants, **program.state_dict}.items():
            if own.setdefault(name, tensor) is not tensor and name in given:
                raise problem("weights-do-not-fit", reason=f"`{name}` is another in each entry")
    unknown = [name for name in given if name not in own]
    if unknown:
        raise problem("weights-do-not-fit", reason=f"it has no tensor `{unknown[0]}`")
    made = _made(own, given)
    for program in programs:
        _check_memory(program, made)
    devices = {tensor.device for tensor in given.values()}
    return [_changed(each, made, devices) for each in programs]


def _changed(
    program: ExportedProgram, made: Mapping[int, torch.Tensor], devices: set[torch.device]
) -> ExportedProgram:
    state, constants = _now(program.state_dict, made), _now(program.constants, made)
    found = replace(program, state_dict=state, constants=constants)
    devices_read = _read(program)
    on_meta = any(device.type == "meta" for device in devices_read.values())
    now = {**constants, **state}
    missing = [name for name in (now if on_meta else devices_read) if now[name].is_meta]
    if missing:
        reason = f"`{missing[0]}` has no data, and is not among the tensors given"
        raise problem("weights-do-not-fit", reason=reason)
    before = {**program.constants, **program.state_dict}
    for name, device in devices_read.items():
        if not on_meta and before[name].is_meta and now[name].device.type != device.type:
            reason = f"`{name}` is on {device} in the program, and on {now[name].device} here"
            raise problem("weights-do-not-fit", reason=reason)
    if on_meta:
        if len(devices) > 1:
            reason = f"they are on several devices: {', '.join(sorted(map(str, devices)))}"
            raise problem("weights-do-not-fit", reason=reason)
        found = found.transform(move_to_device({"meta": next(iter(devices))}))
    return found


def _read(program: ExportedProgram) -> dict[str, torch.device]:
    """The tensors that a program's graph reads, and the devices on which it reads them."""
    inputs = [node for node in program.graph.nodes if node.op == "placeholder"]
    held = {**program.constants, **program.state_dict}
    return {
        str(spec.target): node.meta["val"].device
        for node, spec in zip(inputs, program.graph_signature.input_specs, strict=True)
        if isinstance(held.get(spec.target or ""), torch.Tensor) and node.users
    }


def without_data(programs: Mapping[str, ExportedProgram]) -> dict[str, ExportedProgram]:
    """The programs without the numbers of their parameters and persistent buffers.

    Tensors of which others see the memory keep them.
    """
    held = {id(t): t for each in programs.values() for t in each.constants.values()}
    state = {id(t): t for each in programs.values() for t in each.state_dict.values()}
    strided = [t for t in {**held, **state}.values() if t.layout is torch.strided and t.nbytes]
    owners = Counter(tensor.untyped_storage().data_ptr() for tensor in strided)
    made: dict[int, torch.Tensor] = {}
    for tensor in strided:
        if id(tensor) in state and owners[tensor.untyped_storage().data_ptr()] == 1:
            made[id(tensor)] = bare(tensor)
    return {n: replace(p, state_dict=_now(p.state_dict, made)) for n, p in programs.items()}


def bare(tensor: torch.Tensor) -> torch.Tensor:
    """The tensor without its numbers, on the meta device."""
    found = torch.empty_like(tensor, device="meta")
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(found, tensor.requires_grad)
    return found.requires_grad_(tensor.requires_grad)


def ask_for_data(program: ExportedProgram, module: torch.nn.Module) -> None:
    """Refuse calls of a program's module while what the graph reads on a device has no data."""
    names = _without_data(program)
    if names:
        module.register_forward_pre_hook(partial(_check_data, names))


def check_data(program: ExportedProgram) -> None:
    """Hold that what the graph reads has data.

    Raises: weights-do-not-fit.
    """
    for name in _without_data(program):
        raise _missing(name)


def _without_data(program: ExportedProgram) -> list[str]:
    held = {**program.constants, **program.state_dict}
    return [n for n, d in _read(program).items() if held[n].is_meta and d.type != "meta"]


def _check_data(names: list[str], module: torch.nn.Module, _args: Any) -> None:
    held = dict(module.named_parameters(remove_duplicate=False))
    held |= dict(module.named_buffers(remove_duplicate=False))
    for name in names:
        if held[name].is_meta:
            raise _missing(name)


def _missing(name: str) -> MonographError:
    reason = f"`{name}` has no data: give it with `program.with_state(...)`"
    return problem("weights-do-not-fit", reason=reason)


def _now(held: Mapping[str, torch.Tensor], made: Mapping[int, torch.Tensor]) -> dict[str, Any]:
    return {name: made.get(id(tensor), tensor) for name, tensor in held.items()}


def _made(
    own: Mapping[str, torch.Tensor], given: Mapping[str, torch.Tensor]
) -> dict[int, torch.Tensor]:
    """By the identity of a tensor of the program: what takes its place, under all its names."""
    first: dict[int, str] = {}
    made: dict[int, torch.Tensor] = {}
    for name, tensor in given.items():
        before = first.setdefault(id(own[name]), name)
        taken = _as(name, own[name], tensor)
        if before != name and not _is_same(given[before], tensor):
            reason = f"`{before}` and `{name}` are one tensor in the program, and two here"
            raise problem("weights-do-not-fit", reason=reason)
        made.setdefault(id(own[name]), taken)
    return made


def _is_same(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two tensors are the same memory, or hold the same numbers, bit for bit."""
    if one.is_meta or other.is_meta:
        return False
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.equal(one.detach(), other.detach())


def _as(name: str, own: torch.Tensor, given: Any) -> torch.Tensor:
    if not isinstance(given, torch.Tensor):
        raise problem("weights-do-not-fit", reason=f"`{name}` is a {type(given).__name__}")
    for what in ("shape", "dtype", "layout"):
        here, there = getattr(own, what), getattr(given, what)
        if here != there:
            shown = [list(each) if what == "shape" else each for each in (here, there)]
            reason = f"the {what} of `{name}` is {shown[0]} in the program, and {shown[1]} here"
            raise problem("weights-do-not-fit", reason=reason)
    if not own.is_meta and own.device != given.device:
        reason = f"`{name}` is on {own.device} in the program, and on {given.device} here"
        raise problem("weights-do-not-fit", reason=reason)
    if given.is_inference() and own.requires_grad:
        raise problem("weights-do-not-fit", reason=f"`{name}` was made in inference mode: clone it")
    lies_alike = own.stride() == given.stride()
    if not lies_alike or given.is_conj() != own.is_conj() or given.is_neg() != own.is_neg():
        given = torch.empty_like(own, device=given.device).copy_(given.detach())
    plain = given.detach()
    if isinstance(own, torch.nn.Parameter):
        if isinstance(given, torch.nn.Parameter) and given.requires_grad == own.requires_grad:
            return given
        return torch.nn.Parameter(plain, requires_grad=own.requires_grad)
    return plain.requires_grad_(own.requires_grad)


# --- memory --------------------------------------------------------------------------------------


def _written(program: ExportedProgram) -> Iterator[str]:
    """The names of the state that calls write to."""
    signature = program.graph_signature
    held = {**program.constants, **program.state_dict}
    yield from (name for name in signature.mutated_in_place.values() if name in held)
    for spec in signature.output_specs:
        if spec.kind in _WRITTEN and spec.target is not None:
            yield spec.target


def _check_memory(program: ExportedProgram, made: Mapping[int, torch.Tensor]) -> None:
    """Hold that what is written to shares memory with what it shared memory with.

    Raises: weights-do-not-fit.
    """
    own = {**program.constants, **program.state_dict}
    now = _now(own, made)
    for name in _written(program):
        for other, tensor in own.items():
            if tensor is own[name] or not {id(own[name]), id(tensor)} & made.keys():
                continue
            before, after = (_distance(each[name], each[other]) for each in (own, now))
            if before != after and not own[name].is_meta:
                where = "in the program alone" if after is None else "here, unlike in the program"
                reason = f"`{name}`, which calls write to, shares memory with `{other}` {where}"
                raise problem("weights-do-not-fit", reason=reason)


def _distance(one: torch.Tensor, other: torch.Tensor) -> int | None:
    """How many bytes apart two tensors of one storage begin; None of those of two."""
    if one.layout is not torch.strided or other.layout is not torch.strided:
        return None
    memory = one.untyped_storage()
    if not memory.nbytes() or memory.data_ptr() != other.untyped_storage().data_ptr():
        return None
    return other.data_ptr() - one.data_ptr()


__all__ = ["all_with_state", "ask_for_data", "bare", "check_data", "with_state", "without_data"]
