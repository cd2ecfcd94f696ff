"""Reductions: fewer dimensions, or dimensions of size 1; and scans, which keep the shape.

Observed on every CPU kernel here: the result is contiguous, whatever the operand's strides are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import float_dtype, kind
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.diagnostics import problem
from monograph.integers import maximum, minimum
from monograph.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.abstract.promotion import Number
    from monograph.integers import Int

aten = torch.ops.aten


def reduced(
    shape: tuple[Int, ...], dims: int | Sequence[int] | None, keepdim: bool
) -> tuple[Int, ...]:
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


def refusal(op: str, reason: str) -> Exception:
    """The operator does not take these arguments."""
    return problem("operator-refused-types", op=op, reason=reason)


def _need_float(op: str, dtype: torch.dtype) -> None:
    if kind(dtype) < 2:
        raise problem("dtype-disagrees", what=op, expected="floats or complex numbers", got=dtype)


# ------------------------------------------------------------------------------ sums and products


def _summed(dtype: torch.dtype, wanted: torch.dtype | None) -> torch.dtype:
    if wanted is not None:
        return wanted
    return dtype if dtype.is_floating_point or dtype.is_complex else torch.int64


@rule(aten.sum.default, aten.prod.default)
def sum_of_all(x: TensorType, *, dtype: torch.dtype | None = None) -> TensorType:
    """sum([*]) -> []; integers and bools give int64."""
    return TensorType((), _summed(x.dtype, dtype), x.device)


@rule(aten.sum.dim_IntList)
def sum_dim(
    x: TensorType,
    dim: Sequence[int] | None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> TensorType:
    """sum([*a, n, *b], n's dim) -> [*a, *b]; integers and bools give int64."""
    return TensorType(reduced(x.shape, dim, keepdim), _summed(x.dtype, dtype), x.device)


@rule(aten.nansum.default)
def nansum(
    x: TensorType,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> TensorType:
    """nansum([*a, n, *b], n's dim) -> [*a, *b]; integers and bools give int64."""
    return TensorType(reduced(x.shape, dim, keepdim), _summed(x.dtype, dtype), x.device)


@rule(aten.prod.dim_int)
def prod_dim(
    x: TensorType, dim: int, keepdim: bool = False, *, dtype: torch.dtype | None = None
) -> TensorType:
    """prod([*a, n, *b], n's dim) -> [*a, *b]; integers and bools give int64."""
    return TensorType(reduced(x.shape, dim, keepdim), _summed(x.dtype, dtype), x.device)


@rule(aten.mean.default)
def mean(x: TensorType, *, dtype: torch.dtype | None = None) -> TensorType:
    """mean([*]) -> []; floats only."""
    _need_float("mean", dtype or x.dtype)
    return TensorType((), dtype or x.dtype, x.device)


@rule(aten.mean.dim)
def mean_dim(
    x: TensorType,
    dim: Sequence[int] | None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> TensorType:
    """mean([*a, n, *b], n's dim) -> [*a, *b]; floats only."""
    wanted = dtype or x.dtype
    _need_float("mean", wanted)
    return TensorType(reduced(x.shape, dim, keepdim), wanted, x.device)


@rule(aten.nanmean.default)
def nanmean(
    x: TensorType,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    *,
    dtype: torch.dtype | None = None,
) -> TensorType:
    """nanmean([*a, n, *b], n's dim) -> [*a, *b]; floats only."""
    _need_float("nanmean", x.dtype)
    return TensorType(reduced(x.shape, dim, keepdim), dtype or x.dtype, x.device)


# ------------------------------------------------------------------------------ extremes


@rule(aten.amax.default, aten.amin.default)
def amax(x: TensorType, dim: Sequence[int] = (), keepdim: bool = False) -> TensorType:
    """amax([*a, n, *b], n's dim) -> [*a, *b]."""
    return TensorType(reduced(x.shape, dim, keepdim), x.dtype, x.device)


@rule(aten.aminmax.default)
def aminmax(
    x: TensorType, *, dim: int | None = None, keepdim: bool = False
) -> tuple[TensorType, TensorType]:
    """aminmax([*a, n, *b], n's dim) -> two of [*a, *b]."""
    one = TensorType(reduced(x.shape, dim, keepdim), x.dtype, x.device)
    return one, TensorType(one.shape, x.dtype, x.device)


@rule(aten._aminmax.default)
def aminmax_of_all(x: TensorType) -> tuple[TensorType, TensorType]:
    """_aminmax([*]) -> two of []."""
    return aminmax(x)


@rule(aten._aminmax.dim)
def aminmax_dim(x: TensorType, dim: int, keepdim: bool = False) -> tuple[TensorType, TensorType]:
    """_aminmax([*a, n, *b], n's dim) -> two of [*a, *b]."""
    return aminmax(x, dim=dim, keepdim=keepdim)


@rule(aten.max.default, aten.min.default, aten.median.default, aten.nanmedian.default)
def max_of_all(x: TensorType) -> TensorType:
    """max([*]) -> []."""
    return TensorType((), x.dtype, x.device)


def _values_and_indices(x: TensorType, dim: int, keepdim: bool) -> tuple[TensorType, TensorType]:
    shape = reduced(x.shape, dim, keepdim)
    return TensorType(shape, x.dtype, x.device), TensorType(shape, torch.int64, x.device)


@rule(aten.max.dim, aten.min.dim, aten.median.dim, aten.nanmedian.dim)
def max_dim(x: TensorType, dim: int, keepdim: bool = False) -> tuple[TensorType, TensorType]:
    """max([*a, n, *b], n's dim) -> values [*a, *b], indices i64[*a, *b]."""
    return _values_and_indices(x, dim, keepdim)


@rule(aten.mode.default)
def mode(x: TensorType, dim: int = -1, keepdim: bool = False) -> tuple[TensorType, TensorType]:
    """mode([*a, n, *b], n's dim) -> values [*a, *b], indices i64[*a, *b]."""
    return _values_and_indices(x, dim, keepdim)


@rule(aten.kthvalue.default)
def kthvalue(
    x: TensorType, k: Int, dim: int = -1, keepdim: bool = False
) -> tuple[TensorType, TensorType]:
    """kthvalue([*a, n, *b], k, n's dim) -> values [*a, *b], indices i64[*a, *b]."""
    return _values_and_indices(x, dim, keepdim)


@rule(aten.argmax.default, aten.argmin.default)
def argmax(x: TensorType, dim: int | None = None, keepdim: bool = False) -> TensorType:
    """argmax([*a, n, *b], n's dim) -> i64[*a, *b]; without dim, of all elements."""
    return TensorType(reduced(x.shape, dim, keepdim), torch.int64, x.device)


# ------------------------------------------------------------------------------ truth and counts


def _truth(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    # uint8 was the bool of old, and stays uint8.
    return TensorType(shape, torch.uint8 if x.dtype == torch.uint8 else torch.bool, x.device)


@rule(aten.any.default, aten.all.default)
def any_of_all(x: TensorType) -> TensorType:
    """any([*]) -> bool[]."""
    return _truth(x, ())


@rule(aten.any.dim, aten.all.dim)
def any_dim(x: TensorType, dim: int, keepdim: bool = False) -> TensorType:
    """any([*a, n, *b], n's dim) -> bool[*a, *b]."""
    return _truth(x, reduced(x.shape, dim, keepdim))


@rule(aten.any.dims, aten.all.dims)
def any_dims(x: TensorType, dim: Sequence[int] | None = None, keepdim: bool = False) -> TensorType:
    """any([*a, n, *b], n's dim) -> bool[*a, *b]; an empty list reduces nothing, None everything."""
    if dim is not None and not dim:
        return _truth(x, x.shape)
    return _truth(x, reduced(x.shape, dim, keepdim))


@rule(aten.count_nonzero.default)
def count_nonzero(x: TensorType, dim: int | None = None) -> TensorType:
    """count_nonzero([*a, n, *b], n's dim) -> i64[*a, *b]."""
    return TensorType(reduced(x.shape, dim, False), torch.int64, x.device)


@rule(aten.count_nonzero.dim_IntList)
def count_nonzero_dims(x: TensorType, dim: Sequence[int]) -> TensorType:
    """count_nonzero([*a, n, *b], n's dim) -> i64[*a, *b]."""
    return TensorType(reduced(x.shape, dim, False), torch.int64, x.device)


# ------------------------------------------------------------------------------ spread


def _spread(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    _need_float("var", x.dtype)
    return TensorType(shape, x.dtype.to_real(), x.device)


def _spread_and_mean(x: TensorType, shape: tuple[Int, ...]) -> tuple[TensorType, TensorType]:
    return _spread(x, shape), TensorType(shape, x.dtype, x.device)


@rule(aten.var.default, aten.std.default)
def var(x: TensorType, unbiased: bool = True) -> TensorType:
    """var([*]) -> [], real."""
    return _spread(x, ())


@rule(aten.var.dim, aten.std.dim)
def var_dim(
    x: TensorType, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> TensorType:
    """var([*a, n, *b], n's dim) -> [*a, *b], real."""
    return _spread(x, reduced(x.shape, dim, keepdim))


@rule(aten.var.correction, aten.std.correction)
def var_correction(
    x: TensorType,
    dim: Sequence[int] | None = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
) -> TensorType:
    """var([*a, n, *b], n's dim) -> [*a, *b], real."""
    return _spread(x, reduced(x.shape, dim, keepdim))


@rule(aten.var_mean.default, aten.std_mean.default)
def var_mean(x: TensorType, unbiased: bool = True) -> tuple[TensorType, TensorType]:
    """var_mean([*]) -> [] real, []."""
    return _spread_and_mean(x, ())


@rule(aten.var_mean.dim, aten.std_mean.dim)
def var_mean_dim(
    x: TensorType, dim: Sequence[int] | None, unbiased: bool = True, keepdim: bool = False
) -> tuple[TensorType, TensorType]:
    """var_mean([*a, n, *b], n's dim) -> [*a, *b] real, [*a, *b]."""
    return _spread_and_mean(x, reduced(x.shape, dim, keepdim))


@rule(aten.var_mean.correction, aten.std_mean.correction)
def var_mean_correction(
    x: TensorType,
    dim: Sequence[int] | None = None,
    *,
    correction: Number | None = None,
    keepdim: bool = False,
) -> tuple[TensorType, TensorType]:
    """var_mean([*a, n, *b], n's dim) -> [*a, *b] real, [*a, *b]."""
    return _spread_and_mean(x, reduced(x.shape, dim, keepdim))


# ------------------------------------------------------------------------------ exponentials


@rule(aten.logsumexp.default, aten.special_logsumexp.default)
def logsumexp(x: TensorType, dim: Sequence[int], keepdim: bool = False) -> TensorType:
    """logsumexp([*a, n, *b], n's dim) -> [*a, *b]; integers give floats."""
    return TensorType(reduced(x.shape, dim, keepdim), float_dtype(x.dtype), x.device)


def _same_shape(x: TensorType, dim: int, dtype: torch.dtype) -> TensorType:
    wrap_dim(dim, len(x.shape))
    return TensorType(x.shape, dtype, x.device)


@rule(
    aten.softmax.int,
    aten.log_softmax.int,
    aten.special_softmax.default,
    aten._safe_softmax.default,
)
def softmax(x: TensorType, dim: int, dtype: torch.dtype | None = None) -> TensorType:
    """softmax([*]) -> [*]; floats only."""
    wanted = dtype or x.dtype
    if not wanted.is_floating_point:
        raise problem("dtype-disagrees", what="softmax", expected="floats", got=wanted)
    return _same_shape(x, dim, wanted)


@rule(aten.special_log_softmax.default)
def special_log_softmax(x: TensorType, dim: int, *, dtype: torch.dtype | None = None) -> TensorType:
    """log_softmax([*]) -> [*]; floats only."""
    return softmax(x, dim, dtype)


@rule(aten._softmax.default, aten._log_softmax.default)
def softmax_kernel(x: TensorType, dim: int, half_to_float: bool) -> TensorType:
    """_softmax([*]) -> [*]; floats only."""
    if half_to_float:
        raise refusal("_softmax", "softmax with half to float conversion is not supported on CPU")
    return softmax(x, dim)


# ------------------------------------------------------------------------------ scans


@rule(aten.cumsum.default, aten.cumprod.default)
def cumsum(x: TensorType, dim: int, *, dtype: torch.dtype | None = None) -> TensorType:
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


def _quantile(x: TensorType, n_quantiles: Int | None, dim: int | None, keepdim: bool) -> TensorType:
    if x.dtype not in (torch.float32, torch.float64):
        raise problem(
            "dtype-disagrees", what="quantile", expected="float32 or float64", got=x.dtype
        )
    shape = reduced(x.shape, dim, keepdim)
    if n_quantiles is None:
        return TensorType(shape, x.dtype, x.device)
    # The quantiles are computed last and moved to the front.
    inner = TensorType((*shape, n_quantiles), x.dtype, x.device).stride()
    return TensorType((n_quantiles, *shape), x.dtype, x.device, (inner[-1], *inner[:-1]))


@rule(aten.quantile.default, aten.nanquantile.default)
def quantile(
    x: TensorType,
    q: TensorType,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> TensorType:
    """quantile([*a, n, *b], q: [m] or [], n's dim) -> [m, *a, *b]."""
    return _quantile(x, q.shape[0] if q.shape else None, dim, keepdim)


@rule(aten.quantile.scalar, aten.nanquantile.scalar)
def quantile_scalar(
    x: TensorType,
    q: float,
    dim: int | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> TensorType:
    """quantile([*a, n, *b], q, n's dim) -> [*a, *b]."""
    return _quantile(x, None, dim, keepdim)
