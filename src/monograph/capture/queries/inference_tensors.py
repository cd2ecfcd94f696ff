"""Inference tensors: which tensors of a run were made in inference mode.

Law: a tensor is one if the operator that made its memory ran in that mode; views and writes change
nothing of it, but for views of another dtype, which are what the mode says when they are made. What
an operator makes where forward itself has set the mode is marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import torch

from monograph.abstract.aliasing import overwritten, source_of
from monograph.abstract.tensor import AbstractTensor

if TYPE_CHECKING:
    from collections.abc import Iterable

MARK: Final = "inference"
"""In the metadata of a node: whether it ran in inference mode, where forward has set that."""
EITHER: Final = "either"
"""The mark of what is one on one side of a branch, or after some iterations, and else none."""
_AS_DTYPE: Final = torch.ops.aten.view.dtype


def is_inference(tensor: AbstractTensor) -> bool | Literal["either"] | None:
    """Whether it is an inference tensor; None where that is as the caller has the mode."""
    root = tensor.storage_root.node
    node = tensor.node
    while node is not None and node is not root and node.target is not _AS_DTYPE:
        node = source_of(node)
    node = node or root
    while node is not None and (before := overwritten(node)) is not None:
        node = before
    return None if node is None else node.meta.get(MARK)


def note_inference(values: Iterable[AbstractTensor], result: AbstractTensor) -> None:
    """What a branch or a loop gives is one as far as the tensors are that it stands for."""
    marks = {is_inference(each) for each in values}
    if result.node is not None and marks != {result.node.meta.get(MARK)}:
        result.node.meta[MARK] = marks.pop() if len(marks) == 1 else EITHER


def note_made(results: Iterable[Any], scopes: Any) -> None:
    """These results of a program that is recorded again were made in inference mode."""
    for each in results:
        node = each.storage_root.node if isinstance(each, AbstractTensor) else None
        if node is not None and node.op == "call_function":
            scopes.sets_inference = node.meta[MARK] = True


__all__ = ["EITHER", "MARK", "is_inference", "note_inference", "note_made"]
