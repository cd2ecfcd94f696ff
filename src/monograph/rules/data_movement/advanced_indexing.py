"""Reading and writing at positions given by tensors: `x[i, :, mask]`, index_select, embedding.

Law of advanced indexing: a mask of k dimensions stands for k vectors of its nonzero positions; all
index tensors broadcast to one shape, which replaces the indexed dimensions where they are adjacent,
and else comes first. The result's strides follow the order of the tensors' own.

Source: `ATen/native/TensorAdvancedIndexing.cpp` (observed, not copied).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import strides_from_steps
from monograph.abstract.layout import dense_like_strides
from monograph.abstract.promotion import result_dtype
from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import Real, any_of, eq, fresh, ge, lt, product, require
from monograph.rules.data_movement.data_dependent import number_found
from monograph.rules.operand_checks import check_dtype, check_rank, need_rank, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import equal, need_equal, surely_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


Number = int | float | complex | bool | Real

MASKS = (torch.bool, torch.uint8)
INTEGERS = (torch.int64, torch.int32)


# ------------------------------------------------------------------------------ advanced indexing


@dataclass(frozen=True, slots=True)
class _Reading:
    """One index per indexed dimension of `source`, and the shape they have together."""

    source: TensorType
    indices: list[TensorType | None]
    together: tuple[Int, ...]


def _reading(x: TensorType, indices: Sequence[TensorType | None]) -> _Reading:
    """Masks as positions, and a dimension for each index.

    Raises: operator-refused-types, sizes-disagree.
    """
    masks: list[TensorType] = []
    expanded: list[TensorType | None] = []
    for index in indices:
        if index is None or index.dtype in INTEGERS:
            expanded.append(index)
        elif index.dtype in MASKS:
            _check_mask(x, index, len(expanded))
            masks.append(index)
            expanded.extend([index] * len(index.shape))
        else:
            raise refusal(
                "index", "tensors used as indices must be long, int, byte or bool tensors"
            )
    positions = [index for index in expanded if index is not None and index.dtype in INTEGERS]
    if len(expanded) > len(x.shape) or not (positions or masks):
        raise refusal("index", f"{len(expanded)} indices for a tensor of {len(x.shape)} dimensions")
    expanded.extend([None] * (len(x.shape) - len(expanded)))
    return _Reading(x, expanded, _together(positions, masks))


def _check_mask(x: TensorType, mask: TensorType, at: int) -> None:
    """A mask has the sizes of the dimensions it stands for."""
    rank = len(mask.shape)
    if at + rank > len(x.shape) or not rank:
        raise refusal("index", f"a mask of {rank} dimensions for a tensor of {len(x.shape)}")
    for i, size in enumerate(mask.shape, at):
        if not surely_equal(size, x.shape[i]):
            same = eq(size, x.shape[i])
            require(same, "sizes-disagree", left=x.shape[i], right=size, dim=i)


def _together(positions: Sequence[TensorType], masks: Sequence[TensorType]) -> tuple[Int, ...]:
    """The shape of all indices; how many places a mask has is new, unless positions tell."""
    if len(positions) == 1 and not masks:
        return positions[0].shape
    shape = broadcast_shapes(*[index.shape for index in positions]) if positions else ()
    if not masks or (shape and not equal(shape[-1], 1)):
        return shape
    return (*shape[:-1], number_found(masks[0]) if len(masks) == 1 else fresh("a number of places"))


def _place(indices: Sequence[TensorType | None]) -> tuple[int, int]:
    """Where the indexed dimensions begin and end, if adjacent; else (0, 0)."""
    given = [i for i, index in enumerate(indices) if index is not None]
    adjacent = given[-1] - given[0] == len(given) - 1
    return (given[0], given[-1] + 1) if adjacent else (0, 0)


def _read_shape(reading: _Reading) -> tuple[Int, ...]:
    first, end = _place(reading.indices)
    kept = [
        size
        for i, (size, index) in enumerate(zip(reading.source.shape, reading.indices, strict=True))
        if index is None and (i >= end or not end)
    ]
    return (*reading.source.shape[:first], *reading.together, *kept)


def _read_strides(reading: _Reading, shape: tuple[Int, ...]) -> tuple[Int, ...] | None:
    """The order of dimensions that the source and the indices have, the source's first."""
    source, indices = reading.source, reading.indices
    steps = source.stride()
    first, end = _place(indices)
    new = len(reading.together)
    after = [
        step
        for i, (step, index) in enumerate(zip(steps, indices, strict=True))
        if index is None and (i >= end or not end)
    ]
    operands = [(*steps[:first], *(0,) * new, *after)]
    for index in indices:
        if index is not None:
            own = _broadcast_steps(index, reading.together)
            operands.append((0,) * first + own + (0,) * len(after))
    return strides_from_steps(operands, shape)


def _broadcast_steps(index: TensorType, shape: tuple[Int, ...]) -> tuple[Int, ...]:
    if index.dtype in MASKS:
        return (*(0,) * (len(shape) - 1), 1)
    steps = [
        0 if isinstance(size, int) and size == 1 else step
        for size, step in zip(index.shape, index.stride(), strict=True)
    ]
    return (*(0,) * (len(shape) - len(steps)), *steps)


def _row_major(reading: _Reading) -> bool:
    """Whether source and indices are contiguous; then no dimension moves before another."""
    if reading.source.strides is not None:
        return False
    return all(i is None or i.strides is None or i.dtype in MASKS for i in reading.indices)


@rule(aten.index.Tensor, aten._unsafe_index.Tensor)
def index_tensor(x: TensorType, indices: Sequence[TensorType | None]) -> TensorType:
    """x: [*a, *b, *c], one index per dimension of b -> [*a, *broadcast(indices), *c].

    Raises: operator-refused-types, sizes-disagree.
    """
    reading = _reading(x, indices)
    shape = _read_shape(reading)
    if _row_major(reading):
        return like(x, shape)
    return like(x, shape, strides=_read_strides(reading, shape))


@rule(aten.index_put.default, aten._unsafe_index_put.default)
def index_put(
    x: TensorType,
    indices: Sequence[TensorType | None],
    values: TensorType,
    accumulate: bool = False,
) -> TensorType:
    """x: [*a], values: broadcasts to `x[indices]` -> [*a]; for a mask the kernel checks that.

    Raises: dtype-disagrees, operator-refused-types, sizes-disagree.
    """
    check_dtype(values.dtype == x.dtype, "index_put", x.dtype, values.dtype)
    if not any(map(_is_mask, indices)):
        _check_fits(values.shape, _read_shape(_reading(x, indices)))
    at = 0
    for index in indices:
        if index is not None and _is_mask(index):
            _check_mask(x, index, at)
            at += len(index.shape)
        else:
            at += 1
    return like(x, strides=dense_like_strides(x))


def _is_mask(index: TensorType | None) -> bool:
    return index is not None and index.dtype in MASKS


def _check_fits(given: tuple[Int, ...], wanted: tuple[Int, ...]) -> None:
    check_rank(len(given) <= len(wanted), "index_put", len(wanted), len(given))
    for i in range(1, len(given) + 1):
        a, b = given[-i], wanted[-i]
        if not (isinstance(a, int) and a == 1) and not surely_equal(a, b):
            require(
                any_of(eq(a, b), eq(a, 1)), "sizes-disagree", left=a, right=b, dim=len(wanted) - i
            )


# -------------------------------------------------------------------- positions along one dimension


def _check_vector(index: TensorType, op: str) -> None:
    if len(index.shape) > 1 or index.dtype not in INTEGERS:
        raise refusal(op, "the index must be a vector of int32 or int64")


@rule(aten.index_select.default)
def index_select(x: TensorType, dim: int, index: TensorType) -> TensorType:
    """x: [*a, n, *b], index: i64[k] -> [*a, k, *b]."""
    _check_vector(index, "index_select")
    if not x.shape:
        return like(x)
    at = wrap_dim(dim, len(x.shape))
    return like(x, (*x.shape[:at], index.numel(), *x.shape[at + 1 :]))


def _check_source(x: TensorType, dim: int, index: TensorType, source: TensorType, op: str) -> None:
    """The source of `index_add` and the like is x with as many rows as there are positions."""
    _check_vector(index, op)
    check_dtype(x.dtype == source.dtype, op, x.dtype, source.dtype)
    wanted: tuple[Int, ...] = ()
    if x.shape:
        at = wrap_dim(dim, len(x.shape))
        wanted = (*x.shape[:at], index.numel(), *x.shape[at + 1 :])
    given = source.shape
    if len(given) != len(wanted):
        wanted, given = (index.numel(),), (source.numel(),)
    for i, (a, b) in enumerate(zip(wanted, given, strict=True)):
        need_equal(a, b, dim=i)


@shared_rule(aten.index_add.default, op="index_add")
@shared_rule(aten.index_copy.default, op="index_copy")
@shared_rule(aten.index_reduce.default, op="index_reduce")
def index_add(
    x: TensorType, dim: int, index: TensorType, source: TensorType, op: str
) -> TensorType:
    """x: [*a, n, *b], index: i64[k], source: [*a, k, *b] -> [*a, n, *b]."""
    _check_source(x, dim, index, source, op)
    return like(x)


@rule(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def index_fill(
    x: TensorType, dim: int, index: TensorType, value: Number | TensorType
) -> TensorType:
    """x: [*a, n, *b], index: i64[k] -> [*a, n, *b]."""
    _check_vector(index, "index_fill")
    wrap_dim(dim, len(x.shape))
    if isinstance(value, TensorType) and value.shape:
        raise problem("rank-disagrees", what="index_fill's value", expected=0, got=value.rank)
    return like(x, strides=dense_like_strides(x))


@rule(aten.take.default)
def take(x: TensorType, index: TensorType) -> TensorType:
    """x: [*a], index: i64[*b] into x flattened -> [*b]."""
    check_dtype(index.dtype == torch.int64, "take", torch.int64, index.dtype)
    return like(x, index.shape)


@shared_rule(aten.put.default)
def put(x: TensorType, index: TensorType, source: TensorType) -> TensorType:
    """x: [*a], index: i64[*b] into x flattened, source: Π b elements -> [*a]."""
    check_dtype(x.dtype == source.dtype, "put", x.dtype, source.dtype)
    same = eq(index.numel(), source.numel())
    require(same, "sizes-disagree", left=index.numel(), right=source.numel())
    return like(x, strides=dense_like_strides(x))


@rule(aten.masked_scatter.default)
def masked_scatter(x: TensorType, mask: TensorType, source: TensorType) -> TensorType:
    """x: [*a], mask: bool[*b] -> [*broadcast(a, b)]."""
    check_dtype(x.dtype == source.dtype, "masked_scatter", x.dtype, source.dtype)
    if mask.dtype != torch.bool:
        raise problem("dtype-disagrees", what="masked_scatter", expected="bool", got=mask.dtype)
    return like(x, broadcast_shapes(x.shape, mask.shape))


# -------------------------------------------------------------------------------------- embeddings


def _check_indices(what: str, indices: TensorType) -> None:
    check_dtype(indices.dtype in INTEGERS, what, "int64 or int32", indices.dtype)


@shared_rule(aten.embedding.default)
def embedding(weight: TensorType, indices: TensorType) -> TensorType:
    """weight: [n, *a], indices: i64[*b] -> [*b, *a]."""
    need_rank(weight, 2, "embedding")
    _check_indices("embedding", indices)
    return TensorType((*indices.shape, weight.shape[1]), weight.dtype, weight.device)


SUM, MAX = 0, 2


def _is_fast(weight: TensorType, per_sample_weights: TensorType | None) -> bool:
    """Whether the CPU sums bags without remembering to which bag each index belongs."""
    if weight.dtype not in {torch.float32, torch.float16, torch.bfloat16}:
        return False
    if per_sample_weights is not None and not equal(per_sample_weights.stride()[0], 1):
        return False
    return equal(weight.stride()[1], 1)


@shared_rule(aten._embedding_bag.default, forward_only=False, padding_from=0)
@shared_rule(aten._embedding_bag_forward_only.default, forward_only=True, padding_from=0)
@shared_rule(aten.embedding_bag.default, aten.embedding_bag.padding_idx)
def embedding_bag(
    weight: TensorType,
    indices: TensorType,
    offsets: TensorType,
    mode: int,
    per_sample_weights: TensorType | None,
    include_last_offset: bool,
    padding_idx: int | None = None,
    forward_only: bool | None = None,
    padding_from: int | None = None,
) -> tuple[TensorType, TensorType, TensorType, TensorType]:
    """weight: [n, d], indices: [k], offsets: [b] -> [b, d], and what its gradient needs.

    That is the bag of each index, the indices per bag, and the greatest ones' places. Without
    `padding_from` a negative `padding_idx` counts from the end.
    """
    if padding_idx is not None and padding_from is None:
        n, reason = weight.shape[0], "padding_idx must be within the number of embeddings"
        for inside in (lt(padding_idx, n), ge(n + padding_idx, 0)):
            require(inside, "operator-refused-types", op="embedding_bag", reason=reason)
    padded = padding_idx is not None and (padding_from is None or padding_idx >= padding_from)
    if forward_only is None:
        forward_only = not weight.requires_grad
    _check_indices("embedding_bag", indices)
    dtype, device = result_dtype((indices, offsets)), weight.device
    starts, width = offsets.shape[0], weight.shape[1]
    if include_last_offset:
        require(ge(starts, 1), "size-must-be-positive", size=starts, what="embedding_bag")
    bags = starts - 1 if include_last_offset else starts
    fast = mode == SUM and not padded and _is_fast(weight, per_sample_weights)
    bag_of_each = TensorType((0 if fast else product(indices.shape),), dtype, device)
    sizes = TensorType((starts if forward_only and mode == SUM else bags,), dtype, device)
    greatest = TensorType((bags, width), dtype, device) if mode == MAX else sizes
    return TensorType((bags, width), weight.dtype, device), bag_of_each, sizes, greatest
