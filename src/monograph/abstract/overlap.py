"""Overlap of tensors: whether two of them may lie in one memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.integers import known, le

if TYPE_CHECKING:
    from monograph.abstract.tensor import AbstractTensor
    from monograph.abstract.tensor_type import TensorType

__all__ = ["are_apart", "memory_end"]


def memory_end(t: TensorType) -> Any:
    """Where the memory of the elements ends."""
    return t.offset + 1 + sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))


def are_apart(written: AbstractTensor, other: AbstractTensor) -> bool:
    """Whether no element of the one certainly lies in the memory of the other."""
    if written.storage_root is not other.storage_root:
        return True
    one, two = written.tensor_type, other.tensor_type
    return bool(known(le(memory_end(one), two.offset)) or known(le(memory_end(two), one.offset)))
