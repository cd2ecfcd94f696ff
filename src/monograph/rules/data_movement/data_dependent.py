"""Results whose size only the data tells: nonzero, masked_select, unique, bincount.

Law: such a size is a new symbol, at least 0 and at most the number of elements looked at; two
calls give two symbols.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.layout import contiguous_strides
from monograph.abstract.tensor_type import TensorType, like
from monograph.host.overloads import aten
from monograph.integers import Real, active, any_of, eq, fresh, ge, known, le, require
from monograph.rules.operand_checks import check_dtype, check_rank, need_rank, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import need_equal, need_positive, surely_equal

if TYPE_CHECKING:
    from monograph.integers import Int


Number = int | float | complex | bool | Real


def count_up_to(label: str, upper: Int, lower: int = 0) -> Int:
    """A new size of which only its bounds are known."""
    if isinstance(upper, int):
        return 0 if upper == 0 else fresh(label, lower, upper)
    facts = active()
    made = fresh(label, lower, None)
    # No check is needed: it counts some of these elements.
    facts.assume(le(made, upper), facts.locate())
    return made


def number_found(x: TensorType) -> Int:
    """How many elements of x are not zero."""
    return count_up_to("the number of nonzero elements", x.numel())


def _vector(x: TensorType, size: Int, dtype: torch.dtype | None = None) -> TensorType:
    return TensorType((size,), dtype or x.dtype, x.device)


# --------------------------------------------------------------------------------------- nonzero


@rule(aten.nonzero.default, aten.argwhere.default)
def nonzero(x: TensorType) -> TensorType:
    """x: [*a] -> i64[u, rank], one row per nonzero element; each column lies dense."""
    found, rank = number_found(x), len(x.shape)
    strides = (1, found) if rank != 1 else None
    return TensorType((found, rank), torch.int64, x.device, strides)


@shared_rule(aten.nonzero_numpy.default, aten.where.default)
def nonzero_numpy(x: TensorType) -> list[TensorType]:
    """x: [*a] -> rank times i64[u], the position of each nonzero element per dimension."""
    found = number_found(x)
    return [
        TensorType((found,), torch.int64, x.device, None, i * found)
        for i in range(max(len(x.shape), 1))
    ]


@shared_rule(aten.nonzero_static.default)
def nonzero_static(x: TensorType, size: Int) -> TensorType:
    """x: [*a] -> i64[size, rank]."""
    return TensorType((size, len(x.shape)), torch.int64, x.device)


@rule(aten.masked_select.default)
def masked_select(x: TensorType, mask: TensorType) -> TensorType:
    """x: [*a], mask: bool[*b] -> [u], u of the elements of broadcast(a, b)."""
    check_dtype(mask.dtype == torch.bool, "masked_select", "bool", mask.dtype)
    whole = like(x, broadcast_shapes(x.shape, mask.shape))
    return _vector(x, count_up_to("the number of selected elements", whole.numel()))


# ---------------------------------------------------------------------------------------- unique


def _number_of_distinct(n: Int) -> Int:
    """At least one if there is any element at all."""
    return count_up_to("the number of distinct elements", n, int(known(le(1, n)) is True))


@shared_rule(aten._unique2.default)
def unique2(
    x: TensorType, return_inverse: bool, return_counts: bool
) -> tuple[TensorType, TensorType, TensorType]:
    """x: [*a] -> [u]; i64[*a] where each element went, or [0]; i64[u] how often, or [0]."""
    found = _number_of_distinct(x.numel())
    inverse = like(x, x.shape if return_inverse else (0,), torch.int64)
    counts = _vector(x, found if return_counts else 0, torch.int64)
    return _vector(x, found), inverse, counts


@shared_rule(aten._unique.default)
def unique(x: TensorType, return_inverse: bool) -> tuple[TensorType, TensorType]:
    """x: [*a] -> [u]; i64[*a] where each element went, or [0]."""
    values, inverse, _ = unique2(x, return_inverse, False)
    return values, inverse


@shared_rule(aten.unique_consecutive.default)
def unique_consecutive(
    x: TensorType, return_inverse: bool, return_counts: bool, dim: int | None
) -> tuple[TensorType, TensorType, TensorType]:
    """x: [*a] -> [u], as `_unique2`; with a dimension, as `unique_dim`."""
    if dim is None or (dim == 0 and len(x.shape) == 1):
        return unique2(x, return_inverse, return_counts)
    return unique_dim(x, dim)


@shared_rule(aten.unique_dim.default, aten.unique_dim_consecutive.default)
def unique_dim(x: TensorType, dim: int) -> tuple[TensorType, TensorType, TensorType]:
    """x: [*a, n, *b] -> [*a, u, *b]; i64[n]; i64[u].

    Rows are moved to the front, compared, and moved back.
    """
    at = wrap_dim(dim, len(x.shape))
    n = x.shape[at] if x.shape else 1
    found = _number_of_distinct(n)
    rest = (*x.shape[:at], *x.shape[at + 1 :])
    steps = contiguous_strides((found, *rest))
    shape = (*x.shape[:at], found, *x.shape[at + 1 :])
    strides = (*steps[1 : at + 1], steps[0], *steps[at + 1 :])
    values = like(x, shape, strides=strides if at else None)
    return values, _vector(x, n, torch.int64), _vector(x, found, torch.int64)


# --------------------------------------------------------------------------------------- counting


@rule(aten.bincount.default)
def bincount(x: TensorType, weights: TensorType | None = None, minlength: Int = 0) -> TensorType:
    """x: i64[n] -> [u], u the greatest element and 1, at least `minlength`."""
    if len(x.shape) != 1 or x.dtype.is_floating_point or x.dtype == torch.bool:
        raise refusal("bincount", "it takes a vector of non-negative integers")
    if isinstance(x.shape[0], int) and x.shape[0] == 0:
        return _vector(x, minlength, torch.int64)
    dtype = torch.int64
    if weights is not None:
        same = eq(x.shape[0], weights.shape[0])
        require(same, "sizes-disagree", left=x.shape[0], right=weights.shape[0], dim=0)
        _require_some(x)
        dtype = weights.dtype if weights.dtype == torch.float32 else torch.float64
    least = minlength if isinstance(minlength, int) else 0
    size = fresh("the number of bins", max(least, 0), None)
    if not isinstance(minlength, int):
        facts = active()
        facts.assume(le(minlength, size), facts.locate())
    return _vector(x, size, dtype)


def _require_some(x: TensorType) -> None:
    """Without any element the counts are of another dtype."""
    require(le(1, x.shape[0]), "size-must-be-positive", size=x.shape[0], what="bincount", dim=0)


@shared_rule(aten.histc.default)
def histc(x: TensorType, bins: Int) -> TensorType:
    """x: [*a] -> [bins]."""
    need_positive((bins,), "histc")
    return like(x, (bins,))


@rule(aten.repeat_interleave.Tensor)
def repeats(repeats: TensorType, *, output_size: Int | None = None) -> TensorType:
    """repeats: i64[n] -> [u], u their sum: i repeated repeats[i] times."""
    if len(repeats.shape) != 1 or repeats.dtype not in {torch.int64, torch.int32}:
        raise refusal("repeat_interleave", "repeats must be a vector of int32 or int64")
    return _vector(repeats, _sum_of(repeats.shape[0], output_size))


def _sum_of(n: Int, stated: Int | None) -> Int:
    """The sum of n repeats, if stated; the sum of none is 0, whatever is stated."""
    if isinstance(n, int) and n == 0:
        return 0
    if stated is None:
        return fresh("the sum of repeats", 0, None)
    if not isinstance(n, int):
        reason = "there is nothing to repeat"
        some = any_of(ge(n, 1), eq(stated, 0))
        require(some, "operator-refused-types", op="repeat_interleave", reason=reason)
    return stated


@rule(aten.repeat_interleave.self_Tensor)
def repeat_interleave(
    x: TensorType, repeats: TensorType, dim: int | None = None, *, output_size: Int | None = None
) -> TensorType:
    """x: [*a, n, *b], repeats: i64[n], [1] or [] -> [*a, u, *b], u the sum of the repeats."""
    shape = (x.numel(),) if dim is None else x.shape or (1,)
    at = wrap_dim(dim or 0, len(shape))
    if len(repeats.shape) > 1:
        raise refusal("repeat_interleave", "repeats must be 0-dim or 1-dim")
    n = repeats.numel()
    if not surely_equal(n, 1) and not surely_equal(n, shape[at]):
        require(eq(n, shape[at]), "sizes-disagree", left=shape[at], right=n, dim=at)
    # One number of repeats is for every row.
    size = _sum_of(shape[at] if surely_equal(n, 1) else n, output_size)
    return like(x, (*shape[:at], size, *shape[at + 1 :]))


# ----------------------------------------------------------------------- places in sorted sequences


@shared_rule(aten.searchsorted.Tensor, aten.searchsorted.Scalar)
def searchsorted(
    sorted_sequence: TensorType, x: TensorType | Number, out_int32: bool
) -> TensorType:
    """sorted_sequence: [*a, n] or [n], x: [*a, m] -> i64[*a, m]."""
    shape = x.shape if isinstance(x, TensorType) else ()
    own = sorted_sequence.shape
    if len(own) != 1:
        check_rank(len(own) == len(shape), "searchsorted", len(shape), len(own))
        for i, (a, b) in enumerate(zip(own[:-1], shape[:-1], strict=True)):
            need_equal(a, b, dim=i)
    dtype = torch.int32 if out_int32 else torch.int64
    return TensorType(shape, dtype, sorted_sequence.device)


@shared_rule(aten.bucketize.Tensor, aten.bucketize.Scalar)
def bucketize(x: TensorType | Number, boundaries: TensorType, out_int32: bool) -> TensorType:
    """x: [*a], boundaries: [n] -> i64[*a]."""
    need_rank(boundaries, 1, "bucketize")
    return searchsorted(boundaries, x, out_int32)
