"""Reductions: fewer dimensions, or dimensions of size 1; and scans, which keep the shape.

Observed on every CPU kernel here: the result is contiguous, whatever the operand's strides are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import float_dtype, kind
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.host.overloads import aten
from monograph.integers import maximum, minimum
from monograph.rules.operand_checks import check_dtype, refusal
from monograph.rules.registry import rule, shared_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


Dtype = torch.dtype | None
Dims: TypeAlias = "int | Sequence[int] | None"


def reduced(shape: tuple[Int, ...], dims: Dims, keepdim: bool) -> tuple[Int, ...]:
    """The shape without `dims`, or with 1 in their place; no dims means all of them.

    Raises: dimension-out-of-range, operator-refused-types.

    >>> reduced((2, 3, 4), [1, -1], False)
    (2,)
    """
    rank = len(shape)
    if dims is None or (not isinstance(dims, int) and len(dims) == 0):
        return (1,) * rank if keepdim else ()
    if not isinstance(dims, int) and len(dims) > 1:
        return _reduced_many(shape, dims, keepdim)
    dim = wrap_dim(dims if isinstance(dims, int) else dims[0], rank)
    if rank == 0:
        return ()
    return (*shape[:dim], 1, *shape[dim + 1 :]) if keepdim else shape[:dim] + shape[dim + 1 :]


def _reduced_many(shape: tuple[Int, ...], dims: Sequence[int], keepdim: bool) -> tuple[Int, ...]:
    gone = {wrap_dim(dim, len(shape)) for dim in dims}
    if len(gone) < len(dims):
        raise refusal("this reduction", "a dimension appears twice in `dim`")
    if keepdim:
        return tuple(1 if i in gone else size for i, size in enumerate(shape))
    return tuple(size for i, size in enumerate(shape) if i not in gone)


def _need_float(op: str, dtype: torch.dtype) -> None:
    check_dtype(kind(dtype) >= 2, op, "floats or complex numbers", dtype)


# ------------------------------------------------------------------------------ sums and products


def _summed(dtype: torch.dtype, wanted: torch.dtype | None) -> torch.dtype:
    if wanted is not None:
        return wanted
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


@shared_rule(aten.sum.default, aten.sum.dim_IntList, aten.nansum.default)
@shared_rule(aten.prod.default, aten.prod.dim_int)
def sum_dims(
    x: TensorType, dim: Dims = None, keepdim: bool = False, dtype: Dtype = None
) -> TensorType:
    """sum([*a, n, *b], n's dim) -> [*a, *b]; integers and bools give int64."""
    return TensorType(reduced(x.shape, dim, keepdim), _summed(x.dtype, dtype), x.device)


@shared_rule(aten.mean.default, aten.mean.dim)
def mean(x: TensorType, dim: Dims = None, keepdim: bool = False, dtype: Dtype = None) -> TensorType:
    """mean([*a, n, *b], n's dim) -> [*a, *b]; floats only."""
    wanted = dtype or x.dtype
    _need_float("mean", wanted)
    return TensorType(reduced(x.shape, dim, keepdim), wanted, x.device)


@shared_rule(aten.nanmean.default)
def nanmean(
    x: TensorType, dim: Dims = None, keepdim: bool = False, dtype: Dtype = None
) -> TensorType:
    """nanmean([*a, n, *b], n's dim) -> [*a, *b]; floats only."""
    _need_float("nanmean", x.dtype)
    return TensorType(reduced(x.shape, dim, keepdim), dtype or x.dtype, x.device)


# ------------------------------------------------------------------------------ extremes


@shared_rule(aten.amax.default, aten.amin.default)
@shared_rule(aten.max.default, aten.min.default, aten.median.default, aten.nanmedian.default)
def amax(x: TensorType, dim: Dims = None, keepdim: bool = False) -> TensorType:
    """amax([*a, n, *b], n's dim) -> [*a, *b]."""
    return TensorType(reduced(x.shape, dim, keepdim), x.dtype, x.device)


@shared_rule(aten.aminmax.default, aten._aminmax.default, aten._aminmax.dim)
def aminmax(
    x: TensorType, dim: Dims = None, keepdim: bool = False
) -> tuple[TensorType, TensorType]:
    """aminmax([*a, n, *b], n's dim) -> two of [*a, *b]."""
    return amax(x, dim, keepdim), amax(x, dim, keepdim)


@shared_rule(aten.max.dim, aten.min.dim, aten.median.dim, aten.nanmedian.dim)
@shared_rule(aten.mode.default, aten.kthvalue.default)
def max_dim(x: TensorType, dim: int, keepdim: bool) -> tuple[TensorType, TensorType]:
    """max([*a, n, *b], n's dim) -> values [*a, *b], indices i64[*a, *b]."""
    return amax(x, dim, keepdim), argmax(x, dim, keepdim)


@shared_rule(aten.argmax.default, aten.argmin.default)
@shared_rule(aten.count_nonzero.default, aten.count_nonzero.dim_IntList)
def argmax(x: TensorType, dim: Dims = None, keepdim: bool = False) -> TensorType:
    """argmax([*a, n, *b], n's dim) -> i64[*a, *b]; without dim, of all elements."""
    return TensorType(reduced(x.shape, dim, keepdim), torch.int64, x.device)


@shared_rule(aten.any.default, aten.any.dim, aten.any.dims)
@shared_rule(aten.all.default, aten.all.dim, aten.all.dims)
def truth(x: TensorType, dim: Dims = None, keepdim: bool = False) -> TensorType:
    """any([*a, n, *b], n's dim) -> bool[*a, *b]; an empty list reduces nothing, None everything."""
    is_empty = dim is not None and not isinstance(dim, int) and not dim
    shape = x.shape if is_empty else reduced(x.shape, dim, keepdim)
    # uint8 was the bool of old, and stays uint8.
    return TensorType(shape, torch.uint8 if x.dtype == torch.uint8 else torch.bool, x.device)


# ------------------------------------------------------------------------------ spread


@shared_rule(aten.var.default, aten.var.dim, aten.var.correction)
@shared_rule(aten.std.default, aten.std.dim, aten.std.correction)
def var(x: TensorType, dim: Dims = None, keepdim: bool = False) -> TensorType:
    """var([*a, n, *b], n's dim) -> [*a, *b], real."""
    _need_float("var", x.dtype)
    return TensorType(reduced(x.shape, dim, keepdim), x.dtype.to_real(), x.device)


@shared_rule(aten.var_mean.default, aten.var_mean.dim, aten.var_mean.correction)
@shared_rule(aten.std_mean.default, aten.std_mean.dim, aten.std_mean.correction)
def var_mean(
    x: TensorType, dim: Dims = None, keepdim: bool = False
) -> tuple[TensorType, TensorType]:
    """var_mean([*a, n, *b], n's dim) -> [*a, *b] real, [*a, *b]."""
    return var(x, dim, keepdim), amax(x, dim, keepdim)


# ------------------------------------------------------------------------------ exponentials


@shared_rule(aten.logsumexp.default, aten.special_logsumexp.default)
def logsumexp(x: TensorType, dim: Dims = None, keepdim: bool = False) -> TensorType:
    """logsumexp([*a, n, *b], n's dim) -> [*a, *b]; integers give floats."""
    return TensorType(reduced(x.shape, dim, keepdim), float_dtype(x.dtype), x.device)


def _same_shape(x: TensorType, dim: int, dtype: torch.dtype) -> TensorType:
    wrap_dim(dim, len(x.shape))
    return TensorType(x.shape, dtype, x.device)


@shared_rule(
    aten.softmax.int,
    aten.log_softmax.int,
    aten.special_softmax.default,
    aten._safe_softmax.default,
    aten.special_log_softmax.default,
)
def softmax(x: TensorType, dim: int, dtype: Dtype = None) -> TensorType:
    """softmax([*]) -> [*]; floats only."""
    wanted = dtype or x.dtype
    check_dtype(wanted.is_floating_point, "softmax", "floats", wanted)
    return _same_shape(x, dim, wanted)


@rule(aten._softmax.default, aten._log_softmax.default)
def softmax_kernel(x: TensorType, dim: int, half_to_float: bool) -> TensorType:
    """_softmax([*]) -> [*]; floats only."""
    if half_to_float:
        raise refusal("_softmax", "softmax with half to float conversion is not supported on CPU")
    return softmax(x, dim)


# ------------------------------------------------------------------------------ scans


@shared_rule(aten.cumsum.default, aten.cumprod.default)
def cumsum(x: TensorType, dim: int, dtype: Dtype) -> TensorType:
    """cumsum([*]) -> [*]; integers and bools give int64."""
    return _same_shape(x, dim, _summed(x.dtype, dtype))


@rule(aten.logcumsumexp.default, aten._logcumsumexp.default)
def logcumsumexp(x: TensorType, dim: int) -> TensorType:
    """logcumsumexp([*]) -> [*]."""
    return _same_shape(x, dim, x.dtype)


@rule(aten.cummax.default, aten.cummin.default)
def cummax(x: TensorType, dim: int) -> tuple[TensorType, TensorType]:
    """cummax([*]) -> values [*], indices i64[*]."""
    return _same_shape(x, dim, x.dtype), _same_shape(x, dim, torch.int64)


@rule(aten.diff.default)
def diff(
    x: TensorType,
    n: int = 1,
    dim: int = -1,
    prepend: TensorType | None = None,
    append: TensorType | None = None,
) -> TensorType:
    """diff([*a, m, *b], n, m's dim) -> [*a, max(0, m + prepended + appended - n), *b]."""
    at = wrap_dim(dim, len(x.shape))
    if not x.shape:
        raise refusal("diff", "it expects a tensor of at least one dimension")
    if n == 0:
        # Without steps `diff` is `zeros_like`: a fresh tensor, joined with nothing.
        return elementwise([x], x.dtype)
    whole = _joined(x, at, prepend, append)
    steps = minimum(n, whole.shape[at])
    shape = (*whole.shape[:at], maximum(whole.shape[at] - steps, 0), *whole.shape[at + 1 :])
    return elementwise([view_of(whole, shape, whole.stride())], x.dtype)


def _joined(
    x: TensorType, dim: int, prepend: TensorType | None, append: TensorType | None
) -> TensorType:
    extra = [t for t in (prepend, append) if t is not None]
    if not extra:
        return x
    size = x.shape[dim]
    for t in extra:
        size = size + t.shape[dim]
    return TensorType((*x.shape[:dim], size, *x.shape[dim + 1 :]), x.dtype, x.device)


# ------------------------------------------------------------------------------ quantiles


@shared_rule(aten.quantile.default, aten.nanquantile.default)
@shared_rule(aten.quantile.scalar, aten.nanquantile.scalar)
def quantile(x: TensorType, q: TensorType | float, dim: int | None, keepdim: bool) -> TensorType:
    """quantile([*a, n, *b], q: [m] or [], n's dim) -> [m, *a, *b] or [*a, *b]."""
    check_dtype(
        x.dtype in (torch.float32, torch.float64), "quantile", "float32 or float64", x.dtype
    )
    shape = reduced(x.shape, dim, keepdim)
    if not isinstance(q, TensorType) or not q.shape:
        return TensorType(shape, x.dtype, x.device)
    # The quantiles are computed last and moved to the front.
    inner = TensorType((*shape, q.shape[0]), x.dtype, x.device).stride()
    return TensorType((q.shape[0], *shape), x.dtype, x.device, (inner[-1], *inner[:-1]))
