"""Device conversion of a program: its state, what its graph creates, and what it takes."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from torch.fx.node import map_aggregate

from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.flags import region_operators
from monograph.passes.rewrites.registry import rewrite
from monograph.passes.rewrites.state_conversion import convert
from monograph.passes.rewrites.type_inference import retyped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.passes.rewrites.program_copy import ProgramCopy

Device = torch.device | str
Moved = TypeVar("Moved")


@rewrite
def move_to_device(edited: ProgramCopy, device: Device | Mapping[Device, Device]) -> None:
    """Move everything to a device, or each device to another where a mapping is given.

    The contract asks for inputs on the new device, and for autocast there. Random numbers are drawn
    there, by the generator of that device: they are others. State without data (`weights=False`, or
    captured on the meta device) stays so, whether the device is here or not: `with_state` gives it.

    Raises: weights-do-not-fit, of data for a device that this machine lacks.
    """
    moves: dict[torch.device | None, torch.device]
    if isinstance(device, torch.device | str):
        moves = {None: torch.device(device)}
    else:
        moves = {torch.device(old): torch.device(new) for old, new in device.items()}

    def moved(old: torch.device) -> torch.device:
        return moves.get(None) or moves.get(old) or moves.get(torch.device(old.type)) or old

    with_data = [name for name, tensor in edited.tensors.items() if not tensor.is_meta]
    convert(edited.tensors, with_data, lambda t: _on(moved(t.device), t))
    for module in list(edited.graphs()):
        _move_graph(module, moved)
    edited.devices = {**edited.devices, **moves}


def _on(device: torch.device, tensor: torch.Tensor) -> torch.Tensor:
    try:
        return tensor.to(device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        what = (str(error).splitlines() or [""])[0]
        reason = f"they would lie on {device}, which is not here: {what}"
        raise problem("weights-do-not-fit", reason=reason) from None


def _move_graph(module: torch.fx.GraphModule, moved: Any) -> None:
    _, autocast = region_operators()

    def constant(value: Any) -> Any:
        return moved(value) if isinstance(value, torch.device) else value

    def change(t: TensorType) -> TensorType:
        return TensorType(t.shape, t.dtype, moved(t.device), t.strides, t.offset, t.requires_grad)

    for node in module.graph.nodes:
        node.args = map_aggregate(node.args, constant)  # pyright: ignore[reportAttributeAccessIssue]
        node.kwargs = map_aggregate(node.kwargs, constant)  # pyright: ignore[reportAttributeAccessIssue]
        if node.target is autocast:
            kind = moved(torch.device(str(node.args[0]))).type
            node.args = (kind, *node.args[1:])
        if "val" in node.meta:
            node.meta["val"] = retyped(node.meta["val"], change)


def move_to_device_pass(ep: Moved, location: Device | Mapping[Device, Device]) -> Moved:
    """Move a program itself, and return it; `program.to(device)` makes another instead."""
    moved: Any = ep
    found = moved.transform(move_to_device(location))
    for field in fields(found):
        setattr(ep, field.name, getattr(found, field.name))
    return ep


__all__ = ["move_to_device", "move_to_device_pass"]
