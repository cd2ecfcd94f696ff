"""State assignment: other weights for a program: adapters, a checkpoint, those of a meta program.

Law: afterwards every tensor has data, is of the type the graph says, and lies on the device the
graph computes on. Names that belong together stay one parameter; tensors share memory where they
did. What is not given is shared with the program, and nothing of it is copied.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.passes import move_to_device
from monograph.program.signature import OutputKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from monograph.program.program import ExportedProgram

_WRITTEN = (OutputKind.BUFFER_MUTATION, OutputKind.PARAMETER_MUTATION)


def with_state(program: ExportedProgram, given: Mapping[str, torch.Tensor]) -> ExportedProgram:
    """The program with these tensors, shared and not copied; its own where none is given.

    A program on the meta device moves to the device of the tensors.

    Raises: weights-do-not-fit.
    """
    (found,) = all_with_state([program], given)
    return found


def all_with_state(
    programs: Iterable[ExportedProgram], given: Mapping[str, torch.Tensor]
) -> list[ExportedProgram]:
    """Programs that share their state, with these tensors, which they share again.

    Raises: weights-do-not-fit.
    """
    programs = list(programs)
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
    missing = [name for name, tensor in {**constants, **state}.items() if tensor.is_meta]
    if missing:
        reason = f"`{missing[0]}` has no data, and is not among the tensors given"
        raise problem("weights-do-not-fit", reason=reason)
    found = replace(program, state_dict=state, constants=constants)
    before = (*program.constants.values(), *program.state_dict.values())
    if any(tensor.is_meta for tensor in before):
        if len(devices) > 1:
            reason = f"they are on several devices: {', '.join(sorted(map(str, devices)))}"
            raise problem("weights-do-not-fit", reason=reason)
        found = found.transform(move_to_device({"meta": next(iter(devices))}))
    return found


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


__all__ = ["all_with_state", "with_state"]
