"""Copies of results: what a region returns has storage of its own in the graph.

Eager code goes on with the very tensor that a side gives; a graph returns a copy where that tensor
is an input of the region's, or another result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.aliasing import view_chain
from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.torch_overrides.guarded_queries import note_followed
from monograph.diagnostics import problem
from monograph.host.fx_nodes import is_superfluous

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeGuard

    from monograph.capture.control_flow.region import Region

_SLICE = torch.ops.aten.slice.Tensor
_EXPAND = torch.ops.aten.expand.default
_ZEROS = torch.ops.aten.new_zeros.default
_SCATTER = torch.ops.aten.as_strided_scatter.default
_STRIDED = torch.ops.aten.as_strided.default


def copied_with_gaps(region: Region, tensor: AbstractTensor) -> AbstractTensor:
    """A copy with the strides of a tensor that has gaps, or is expanded; gradients go through.

    Raises: gradient-in-forward (each element of an expanded input has a gradient of its own).
    """
    if tensor.node is None or view_chain(tensor.node)[-1].op == "placeholder":
        tensor.recorder.layout_asked(tensor, "strides")  # what is computed has no gaps of inputs
        if 0 in tensor.storage_root.tensor_type.stride():
            note_followed(region.recorder, tensor)
            if tensor.tensor_type.requires_grad:
                because = "gives an expanded input, with a gradient for each of its elements"
                raise problem("gradient-in-forward", what="if", because=because)
    call = tensor.recorder.call
    found = tensor
    for dim, stride in enumerate(tensor.tensor_type.stride()):
        if stride == 0:
            found = call(_SLICE, (found, dim, 0, 1), {})
    sizes, strides = found.shape, [to_sym(each) for each in found.tensor_type.stride()]
    room = sum(n * stride for n, stride in zip(sizes, strides, strict=True))
    memory = call(_ZEROS, (found, [room]), {})
    filled = call(_SCATTER, (memory, found, sizes, strides), {})
    copy = call(_STRIDED, (filled, sizes, strides), {})
    return copy if found is tensor else call(_EXPAND, (copy, tensor.shape), {})


def is_copy(region: Region, given: Any, taken: Any) -> bool:
    """Whether a result is another tensor than the one given, also where the program runs.

    So is what a branch inside gave, where that may be a copy that stands for a written tensor.
    """
    if not isinstance(given, AbstractTensor):
        return False
    written = {id(each) for pair in region.written for each in pair}
    ones = region.recorder.aliases.possible_storages(given) if written else ()
    if any(id(one) in written for one in ones):
        return True
    return given is not taken and not is_superfluous(taken.node)


def lie_alike(values: Sequence[Any]) -> bool:
    """Whether tensors lie in memory with the same steps, and gaps."""
    one, *others = [
        each.tensor_type.stride() for each in values if isinstance(each, AbstractTensor)
    ] or [()]
    return all(one == other for other in others)


def owned(
    region: Region, values: Sequence[Any], n_staying: int = 0, alike: Sequence[bool] = ()
) -> list[Any]:
    """A region's results, each with storage of its own in the graph; the first may stay.

    `alike` tells which of these lie as what another region gives.
    """
    taken: list[Any] = []
    tensors: list[AbstractTensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            if not _is_owned(value, region, tensors):
                break
            tensors.append(value)
        taken.append(value)
    if len(taken) == len(values):
        return taken
    with region:
        for i, value in enumerate(values[len(taken) :], len(taken)):
            if isinstance(value, torch.Tensor):
                tensor = region.recorder.abstract(value)
                keeps_gaps = i < len(alike) and alike[i]
                stays = i < n_staying
                tensors.append(region.own(tensor, tensors, stays=stays, keeps_gaps=keeps_gaps))
                taken.append(tensors[-1])
            else:
                taken.append(value)
        region.recorder.write_assertions()
    return taken


def _is_owned(
    value: torch.Tensor, region: Region, taken: Sequence[AbstractTensor]
) -> TypeGuard[AbstractTensor]:
    """Whether it is one of the region's own, which shares its storage with no other result."""
    if not isinstance(value, AbstractTensor) or value.recorder is not region.recorder:
        return False
    return region.is_owned(value, taken)


__all__ = ["copied_with_gaps", "is_copy", "lie_alike", "owned"]
