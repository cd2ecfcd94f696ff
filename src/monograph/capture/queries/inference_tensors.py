"""Inference tensors: which tensors of a run were made in inference mode.

Law: a tensor is one if the operator that made its memory ran in that mode; views and writes change
nothing of it. What an operator makes where forward itself has set the mode is marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monograph.abstract.aliasing import overwritten

if TYPE_CHECKING:
    from monograph.abstract.tensor import AbstractTensor

MARK: Final = "inference"
"""In the metadata of a node: whether it ran in inference mode, where forward has set that."""


def is_inference(tensor: AbstractTensor) -> bool | None:
    """Whether it is an inference tensor; None where that is as the caller has the mode."""
    node = tensor.storage_root.node
    while node is not None and (before := overwritten(node)) is not None:
        node = before
    return None if node is None else node.meta.get(MARK)


__all__ = ["MARK", "is_inference"]
