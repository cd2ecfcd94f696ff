"""How the elements of a tensor lie in memory: strides, contiguity, memory formats.

Questions here give the *general* answer: what holds for all sizes that the facts allow. None but
`suggest_memory_format` records a guard. (Strides of a dimension of size 1 do not matter to any
kernel, and a tensor of size 0 has no elements; so a general "contiguous" stays true there.)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import torch

from monograph.integers import all_of, any_of, choose, eq, known, le, lt, terms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.abstract.tensor import AbstractTensor
    from monograph.abstract.tensor_type import TensorType
    from monograph.integers import Expr, Int, Truth

LayoutQuestion = Literal["form", "strides", "offset"]
"""What is asked: the strides that decide whether a tensor is contiguous and how it may be viewed
(where there are elements, and a size is not 1), all strides as numbers, or where it begins."""

_CHANNELS_LAST_ORDER = {4: (1, 3, 2, 0), 5: (1, 4, 3, 2, 0)}


def contiguous_strides(shape: Sequence[Int]) -> tuple[Int, ...]:
    """Row-major strides. A size 0 counts as 1, as in PyTorch.

    >>> contiguous_strides((2, 3, 4))
    (12, 4, 1)
    """
    return strides_in_order(shape, range(len(shape) - 1, -1, -1))


def strides_in_order(shape: Sequence[Int], order: Sequence[int]) -> tuple[Int, ...]:
    """Dense strides where `order` lists the dimensions from fastest to slowest.

    >>> strides_in_order((2, 3, 4, 5), (1, 3, 2, 0))
    (60, 1, 15, 3)
    """
    strides: list[Int] = [1] * len(shape)
    step: Int = 1
    for i in order:
        strides[i] = step
        size = shape[i]
        if not (isinstance(size, int) and size < 2):
            step = step * size
    return tuple(strides)


def _same(left: Int, right: Int) -> bool:
    if left is right or (type(left) is int and type(right) is int):
        return left == right
    return known(eq(left, right)) is True


def is_size_one(size: Int) -> bool:
    """Whether the size is 1 for certain."""
    return size == 1 if type(size) is int else known(eq(size, 1)) is True


def _lies_in_order(t: TensorType, order: Sequence[int]) -> bool:
    step: Int = 1
    strides = t.stride()
    for i in order:
        size = t.shape[i]
        if is_size_one(size):
            continue
        if not _same(strides[i], step):
            return False
        step = step * size
    return True


def is_contiguous(
    t: TensorType, memory_format: torch.memory_format = torch.contiguous_format
) -> bool:
    """Whether `t` is contiguous in the given format, for all sizes in question."""
    if memory_format == torch.contiguous_format:
        is_empty = any(isinstance(size, int) and size == 0 for size in t.shape)
        return t.strides is None or is_empty or _lies_in_order(t, range(t.rank)[::-1])
    rank = 4 if memory_format == torch.channels_last else 5
    return t.rank == rank and _lies_in_order(t, _CHANNELS_LAST_ORDER[rank])


def contiguity(
    t: TensorType, memory_format: torch.memory_format = torch.contiguous_format
) -> Truth:
    """At which sizes `t` is contiguous: also where sizes of 1, or a size of 0, make it so."""
    is_plain = memory_format == torch.contiguous_format
    rank = t.rank if is_plain else 4 if memory_format == torch.channels_last else 5
    if t.rank != rank:
        return False
    step: Int = 1
    strides = t.stride()
    conditions: list[Truth] = []
    for i in range(rank)[::-1] if is_plain else _CHANNELS_LAST_ORDER[rank]:
        conditions.append(any_of(eq(t.shape[i], 1), eq(strides[i], step)))
        step = step * t.shape[i]
    return any_of(*[eq(size, 0) for size in t.shape if is_plain], all_of(*conditions))


def shares_elements(t: TensorType) -> Truth:
    """At which sizes elements of `t` certainly share memory: a dimension was expanded."""
    if t.strides is None:
        return False
    steps = zip(t.shape, t.strides, strict=True)
    repeated = any_of(*[lt(1, n) for n, step in steps if type(step) is int and step == 0])
    return all_of(repeated, *[lt(0, n) for n in t.shape])


def strides_for(shape: Sequence[Int], memory_format: torch.memory_format) -> tuple[Int, ...] | None:
    """Strides of a fresh tensor in a memory format; None means contiguous."""
    if memory_format == torch.channels_last and len(shape) == 4:
        return strides_in_order(shape, _CHANNELS_LAST_ORDER[4])
    if memory_format == torch.channels_last_3d and len(shape) == 5:
        return strides_in_order(shape, _CHANNELS_LAST_ORDER[5])
    return None


def suggest_memory_format(t: TensorType) -> torch.memory_format:
    """The format convolutions and pools follow: channels_last if the strides say so.

    The one question here that may record a guard, where strides and sizes have nothing in common.
    """
    if t.strides is None:
        return torch.contiguous_format
    if t.rank == 4 and _looks_channels_last(t):
        return torch.channels_last
    if t.rank == 5 and _looks_channels_last(t):
        return torch.channels_last_3d
    return torch.contiguous_format


def _looks_channels_last(t: TensorType) -> bool:
    """Whether strides grow C, W, H, N.

    Source: c10's `is_channels_last_strides_2d` (observed, not copied).
    """
    strides = t.stride()
    if isinstance(strides[1], int) and strides[1] == 0:
        return False
    least: Int = 0
    for i in _CHANNELS_LAST_ORDER[t.rank]:
        if isinstance(t.shape[i], int) and t.shape[i] == 0:
            return False
        if not _reaches(strides[i], least):
            return False
        if i == 0 and _same(least, strides[1]):
            return False
        least = strides[i] if is_size_one(t.shape[i]) else strides[i] * t.shape[i]
    return True


def _reaches(stride: Int, least: Int) -> bool:
    """Whether a stride is at least another number.

    Where neither is greater for certain it becomes a guard, one way or the other: the layout
    depends on it. Of two that are equal only with sizes of 1, the general answer stands.
    """
    if no_greater(least, stride):
        return True
    if no_greater(stride, least):
        return False
    return choose(le(least, stride), lt(stride, least)) == 0


def no_greater(left: Int, right: Int) -> bool:
    """Whether one stride is at most another in every tensor that has elements.

    Such a tensor has no size 0, so whatever its strides are products of counts from 1 here.
    """
    if isinstance(left, int) and isinstance(right, int):
        return left <= right
    if left is right or known(le(left, right)) is True:
        return True
    # Write each atom as 1 + x, x >= 0. If no coefficient is negative then, neither is the gap.
    shifted: dict[tuple[Expr, ...], int] = {}
    for coefficient, atoms in terms(right - left):
        expanded: dict[tuple[Expr, ...], int] = {(): coefficient}
        for atom in atoms:
            for monomial, c in list(expanded.items()):
                longer = (*monomial, atom)
                expanded[longer] = expanded.get(longer, 0) + c
        for monomial, c in expanded.items():
            shifted[monomial] = shifted.get(monomial, 0) + c
    return all(c >= 0 for c in shifted.values())


def stride_order(t: TensorType) -> tuple[int, ...]:
    """Dimensions from fastest to slowest; ties keep the later dimension first (row-major)."""
    strides = t.stride()
    if not all(type(step) is int for step in strides):
        dense = _dense_order(t)
        if dense is not None:
            return (*(dim for dim in range(t.rank) if dim not in dense), *dense)
    # A repeated dimension (stride 0) ties with every other, as in PyTorch.
    return tuple(insertion_sorted(t.rank, lambda a, b: _slower(t, strides, a, b)))


def insertion_sorted(rank: int, compare: Callable[[int, int], int]) -> list[int]:
    """Dimensions, the last first, as TensorIterator sorts them: ties (0) keep their order."""
    order = list(range(rank - 1, -1, -1))
    for i in range(1, len(order)):
        at = i
        for before in range(i - 1, -1, -1):
            verdict = compare(order[before], order[at])
            if verdict > 0:
                order[before], order[at] = order[at], order[before]
                at = before
            elif verdict < 0:
                break
    return order


def _slower(t: TensorType, strides: Sequence[Int], a: int, b: int) -> int:
    """Positive if dimension `a` is slower than `b`, negative if faster, 0 if they tie."""
    left, right = strides[a], strides[b]
    if (isinstance(left, int) and left == 0) or (isinstance(right, int) and right == 0):
        return 0
    if _same(left, right):
        return int(known(lt(t.shape[b], t.shape[a])) is True)
    if no_greater(left, right):
        return -1
    return int(no_greater(right, left))


def is_dense(t: TensorType) -> bool:
    """Non-overlapping and dense: a permutation of a contiguous tensor."""
    return t.strides is None or _dense_order(t) is not None


def _dense_order(t: TensorType) -> list[int] | None:
    """Dimensions of more than one element, from fastest to slowest, where `t` is dense; else None.

    The next dimension is the one whose stride is what those before it take up. So strides are only
    compared for equality, and nobody needs to know which of two sizes is greater.
    """
    strides, shape = t.stride(), t.shape
    rest = [dim for dim in range(len(shape) - 1, -1, -1) if not _is_trivial(shape[dim])]
    order: list[int] = []
    step: Int = 1
    while rest:
        for dim in rest:
            if strides[dim] == step:
                break
        else:
            dim = next((dim for dim in rest if _same(strides[dim], step)), -1)
            if dim < 0:
                return None
        rest.remove(dim)
        order.append(dim)
        step = step * shape[dim]
    return order


def _is_trivial(size: Int) -> bool:
    """Whether the stride of a dimension never matters: it has one element, or the tensor none."""
    return size < 2 if type(size) is int else is_size_one(size)


def dense_like_strides(t: TensorType, shape: Sequence[Int] | None = None) -> tuple[Int, ...] | None:
    """What `preserve_format` gives for a fresh tensor like `t`; None means contiguous.

    A dense `t` keeps its strides, any other its order of dimensions.
    """
    if t.strides is None:
        return None
    if shape is not None:
        return strides_in_order(shape, stride_order(t))
    order = _dense_order(t)
    if order is None:
        return strides_in_order(t.shape, stride_order(t))
    return t.strides


# --- overlap --------------------------------------------------------------------------------------


def memory_end(t: TensorType) -> Any:
    """Where the memory of the elements ends."""
    return t.offset + 1 + sum((n - 1) * step for n, step in zip(t.shape, t.stride(), strict=True))


def are_apart(written: AbstractTensor, other: AbstractTensor) -> bool:
    """Whether no element of the one certainly lies in the memory of the other."""
    if written.storage_root is not other.storage_root:
        return True
    one, two = written.tensor_type, other.tensor_type
    return bool(known(le(memory_end(one), two.offset)) or known(le(memory_end(two), one.offset)))
