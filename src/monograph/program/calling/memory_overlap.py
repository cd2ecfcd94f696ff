"""Memory overlap of inputs, down to the byte.

Law: two tensors overlap iff some byte belongs to an element of both, wherever their storages begin:
two views of one array of NumPy's have storages of their own. One tensor overlaps itself, is folded,
iff some byte belongs to two of its elements.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Sequence

Pairs = tuple[tuple[int, int], ...]


def meets(leaves: Sequence[Any], involved: Sequence[int], pairs: Pairs) -> bool:
    """Whether the tensors of any pair overlap; `involved` are the places that pairs name.

    Most calls give tensors whose spans are apart, which one look at the spans in order tells.
    """
    found = [_enclosing(leaves[index]) for index in involved]
    found.sort()
    reached = 0
    for start, end in found:
        if start < reached < end or start < end <= reached:
            break
        reached = max(reached, end)
    else:
        if len({id(leaves[index]) for index in involved}) == len(involved):
            return False
    return any(overlap(leaves[one], leaves[other]) for one, other in pairs)


def _enclosing(tensor: torch.Tensor) -> tuple[int, int]:
    start = tensor.data_ptr()
    return (start, start + tensor.nbytes) if tensor.is_contiguous() else span(tensor)


def overlap(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether some byte belongs to both tensors, or they are one, which may have none."""
    (start, end), (begin, stop) = span(one), span(other)
    if start >= stop or begin >= end:
        return one is other
    first, last = min(start, begin), max(end, stop)
    unit = math.gcd(one.element_size(), other.element_size(), start - begin)
    if last - first > unit * (1 << 28):
        return True
    marks = torch.zeros((last - first) // unit, dtype=torch.bool, device="cpu")
    marked(marks, one, (start - first) // unit, unit).fill_(True)
    return bool(marked(marks, other, (begin - first) // unit, unit).any())


def is_folded(tensor: torch.Tensor) -> bool:
    """Whether two elements of a tensor share memory, as in the result of `expand` or `unfold`."""
    if tensor.is_contiguous() or not tensor.numel():
        return False
    reach = 0
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size > 1 and stride <= reach:
            break
        reach += (size - 1) * stride
    else:
        return False
    marks = torch.arange(reach_of(tensor), device="cpu")
    return marks.as_strided(tensor.shape, tensor.stride()).unique().numel() < tensor.numel()


def lies(tensor: torch.Tensor, strides: Sequence[int]) -> bool:
    """Whether a tensor has these strides where its size is not 1, or has no elements."""
    dims = zip(tensor.shape, tensor.stride(), strides, strict=True)
    return not tensor.numel() or all(size == 1 or step == wanted for size, step, wanted in dims)


def reach_of(tensor: torch.Tensor) -> int:
    """How many elements lie between the first and the last of a tensor, these two included."""
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return 1 + sum((size - 1) * stride for size, stride in steps)


def span(tensor: torch.Tensor) -> tuple[int, int]:
    """The address of the first byte that a tensor reaches, and of the one after the last."""
    start = tensor.data_ptr()
    if not start or not tensor.numel():
        return start, start
    return start, start + reach_of(tensor) * tensor.element_size()


def marked(marks: torch.Tensor, tensor: torch.Tensor, start: int, unit: int) -> torch.Tensor:
    """The marks of a tensor's bytes, a unit each; what is repeated in memory is there once."""
    width = tensor.element_size() // unit
    strides = [stride * width for stride in tensor.stride()]
    sizes = [size if stride else 1 for size, stride in zip(tensor.shape, strides, strict=True)]
    return marks.as_strided((*sizes, width), (*strides, 1), start)


FUNCTIONS = (overlap, is_folded, reach_of, span, marked)
"""What a program as Python text needs of this file."""

__all__ = [
    "FUNCTIONS",
    "Pairs",
    "is_folded",
    "lies",
    "marked",
    "meets",
    "overlap",
    "reach_of",
    "span",
]
