"""State assignment: weights for a program that was loaded or captured on the meta device.

Law: afterwards every tensor has data, is of the shape and dtype the graph says, and lies on the
device the graph computes on. Names that belong together stay one parameter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from monograph.diagnostics import problem
from monograph.passes import move_to_device

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.program import ExportedProgram


def with_state(program: ExportedProgram, given: Mapping[str, torch.Tensor]) -> ExportedProgram:
    """The program with these tensors, shared and not copied; its own where none is given.

    A program on the meta device moves to the device of the tensors.

    Raises: weights-do-not-fit.
    """
    own = {**program.constants, **program.state_dict}
    unknown = [name for name in given if name not in own]
    if unknown:
        raise problem("weights-do-not-fit", reason=f"it has no tensor `{unknown[0]}`")
    made = _made(own, given)
    missing = [name for name, tensor in made.items() if tensor.is_meta]
    if missing:
        reason = f"`{missing[0]}` has no data, and is not among the tensors given"
        raise problem("weights-do-not-fit", reason=reason)
    found = replace(
        program,
        state_dict={name: made[name] for name in program.state_dict},
        constants={name: made[name] for name in program.constants},
    )
    devices = {tensor.device for tensor in given.values()}
    if any(tensor.is_meta for tensor in own.values()):
        if len(devices) > 1:
            reason = f"they are on several devices: {', '.join(sorted(map(str, devices)))}"
            raise problem("weights-do-not-fit", reason=reason)
        found = found.transform(move_to_device({"meta": devices.pop()}))
    return found


def _made(
    own: Mapping[str, torch.Tensor], given: Mapping[str, torch.Tensor]
) -> dict[str, torch.Tensor]:
    """By name; one tensor of the program becomes one tensor, under all its names."""
    by_tensor: dict[int, torch.Tensor] = {}
    for name, tensor in given.items():
        by_tensor.setdefault(id(own[name]), _as(name, own[name], tensor))
    return {name: by_tensor.get(id(tensor), tensor) for name, tensor in own.items()}


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
    if own.stride() != given.stride():
        given = torch.empty_like(own, device=given.device).copy_(given.detach())
    plain = given.detach()
    if isinstance(own, torch.nn.Parameter):
        if isinstance(given, torch.nn.Parameter) and given.requires_grad == own.requires_grad:
            return given
        return torch.nn.Parameter(plain, requires_grad=own.requires_grad)
    return plain.requires_grad_(own.requires_grad)


__all__ = ["with_state"]
