"""Inference tensors as results: what a module computes in `torch.inference_mode`.

The graph computes it without gradients; the result gets the flag when it leaves, in the same
memory, so that what shared storage goes on to do so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.capture.installation import listening
from monograph.capture.queries.inference_tensors import note_made

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEGATED: Final = torch.ops.aten._neg_view.default  # noqa: SLF001 - an operator's name


def as_inference(leaves: Sequence[Any], places: Sequence[int]) -> list[Any]:
    """Let those at some places be inference tensors; one that is given twice stays one."""
    made: dict[int, torch.Tensor] = {}
    found = list(leaves)
    recorder = listening()
    if recorder is not None:
        note_made([found[place] for place in places], recorder.scopes)
        return found
    for place in places:
        if place < len(found) and isinstance(found[place], torch.Tensor):
            tensor = found[place]
            if id(tensor) not in made:
                made[id(tensor)] = _flagged(tensor)
            found[place] = made[id(tensor)]
    return found


def _flagged(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_inference():
        return tensor
    with torch.inference_mode():
        if tensor.is_conj():
            return _flagged(tensor.conj()).conj()
        if tensor.is_neg():
            return _NEGATED(_flagged(_NEGATED(tensor)))
        if tensor.layout is not torch.strided:
            return tensor.clone()
        made = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        storage = tensor.untyped_storage()
        return made.set_(storage, tensor.storage_offset(), tensor.shape, tensor.stride())  # pyright: ignore[reportArgumentType, reportCallIssue] - the stub lacks this overload


__all__ = ["as_inference"]
