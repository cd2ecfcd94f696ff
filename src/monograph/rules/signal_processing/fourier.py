"""Fourier transforms: n real or complex samples to n, or n//2 + 1 where the rest is a mirror image.

Observed on CPU: the dimensions that are not transformed come first, from the largest stride to the
smallest, then those that are; the result is contiguous in that order. Several dimensions are
transformed at once, except that a complex to real transform does the last one by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import elementwise
from monograph.abstract.layout import (
    contiguous_strides,
    no_greater,
    strides_for,
    suggest_memory_format,
)
from monograph.abstract.promotion import float_dtype
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import eq, require
from monograph.rules.memory_formats import following
from monograph.rules.operand_checks import check_dtype
from monograph.rules.registry import shared_rule
from monograph.rules.size_checks import at_least, equal, need_equal, need_positive
from monograph.rules.views.slicing import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


# ------------------------------------------------------------------------------ layout


def _slowest_first(x: TensorType, dims: Sequence[int]) -> list[int]:
    """Sorted by stride, from large to small; a pair nobody can order stays as it is."""
    steps = x.stride()
    ordered: list[int] = []
    for dim in dims:
        place = len(ordered)
        while place and not no_greater(steps[dim], steps[ordered[place - 1]]):
            place -= 1
        ordered.insert(place, dim)
    return ordered


def _executed(
    x: TensorType, shape: tuple[Int, ...], dims: Sequence[int], dtype: torch.dtype
) -> TensorType:
    """The result of one pass over `dims`."""
    batch = _slowest_first(x, [dim for dim in range(len(shape)) if dim not in dims])
    order = [*batch, *dims]
    steps = contiguous_strides([shape[dim] for dim in order])
    strides: list[Int] = [0] * len(shape)
    for step, dim in zip(steps, order, strict=True):
        strides[dim] = step
    return TensorType(shape, dtype, x.device, tuple(strides))


def _with_size(shape: tuple[Int, ...], dim: int, size: Int) -> tuple[Int, ...]:
    return (*shape[:dim], size, *shape[dim + 1 :])


def _complex(x: TensorType, dims: Sequence[int]) -> TensorType:
    """Complex to complex."""
    if not dims:
        return elementwise([x], x.dtype)
    return _executed(x, x.shape, _slowest_first(x, dims), x.dtype)


def _real_to_complex(x: TensorType, dims: Sequence[int], onesided: bool) -> TensorType:
    last = dims[-1]
    half = x.shape[last] // 2 + 1
    shape = _with_size(x.shape, last, half) if onesided else x.shape
    order = [*_slowest_first(x, dims[:-1]), last]
    return _executed(x, shape, order, x.dtype.to_complex())


def _complex_to_real(x: TensorType, dims: Sequence[int], size: Int) -> TensorType:
    between = _complex(x, dims[:-1]) if len(dims) > 1 else x
    last = dims[-1]
    return _executed(between, _with_size(x.shape, last, size), [last], x.dtype.to_real())


# ------------------------------------------------------------------------------ operands


def _promoted(x: TensorType, op: str, *, need_complex: bool = False) -> TensorType:
    """`x` as floats or complex numbers; a conversion keeps the order of its dimensions."""
    dtype = float_dtype(x.dtype)
    if dtype in (torch.float16, torch.bfloat16):
        raise problem("dtype-disagrees", what=op, expected="float32 or float64", got=dtype)
    if need_complex:
        dtype = dtype.to_complex()
    return x if dtype is x.dtype else elementwise([x], dtype)


def _need_real(x: TensorType, op: str) -> None:
    check_dtype(not x.dtype.is_complex, op, "real numbers", x.dtype)


def _sized(x: TensorType, dims: Sequence[int], sizes: Sequence[Int] | None) -> TensorType:
    """`x` cut or padded with zeros to `sizes`; -1 leaves a size alone."""
    if sizes is None:
        return x
    shape = x.shape
    padded = False
    for dim, size in zip(dims, sizes, strict=True):
        if size is shape[dim] or (isinstance(size, int) and size == -1):
            continue
        # Cut, it is a view; but of a contiguous tensor a copy has the same order of dimensions.
        if x.strides is not None and not at_least(shape[dim], size):
            padded = True
        shape = _with_size(shape, dim, size)
    if shape is x.shape:
        return x
    if padded:  # a copy that follows the memory format
        strides = None if x.strides is None else strides_for(shape, suggest_memory_format(x))
        return TensorType(shape, x.dtype, x.device, strides)
    return view_of(x, shape, x.stride())


def _dims(x: TensorType, s: Sequence[Int] | None, dim: Sequence[int] | None) -> list[int]:
    """The dimensions to transform: those given, or the last ones as `s` has sizes, or all."""
    rank = len(x.shape)
    if dim is not None:
        return [wrap_dim(d, rank) for d in dim]
    return list(range(0 if s is None else rank - len(s), rank))


# ------------------------------------------------------------------------------ one dimension


@shared_rule(aten.fft_fft.default, aten.fft_ifft.default)
def fft_fft(x: TensorType, n: Int | None, dim: int) -> TensorType:
    """fft([*a, m, *b], n) -> complex [*a, n, *b]."""
    x = _promoted(x, "fft")
    dims = [wrap_dim(dim, len(x.shape))]
    x = _sized(x, dims, None if n is None else [n])
    return _complex(x, dims) if x.dtype.is_complex else _real_to_complex(x, dims, False)


@shared_rule(aten.fft_rfft.default, aten.fft_ihfft.default)
def fft_rfft(x: TensorType, n: Int | None, dim: int) -> TensorType:
    """rfft([*a, m, *b], n) -> complex [*a, n//2 + 1, *b]."""
    _need_real(x, "rfft")
    x = _promoted(x, "rfft")
    dims = [wrap_dim(dim, len(x.shape))]
    return _real_to_complex(_sized(x, dims, None if n is None else [n]), dims, True)


@shared_rule(aten.fft_irfft.default, aten.fft_hfft.default)
def fft_irfft(x: TensorType, n: Int | None, dim: int) -> TensorType:
    """irfft([*a, m, *b], n) -> real [*a, n, *b]; n is 2*(m - 1) unless given."""
    x = _promoted(x, "irfft", need_complex=True)
    dims = [wrap_dim(dim, len(x.shape))]
    size = 2 * (x.shape[dims[0]] - 1) if n is None else n
    x = x if n is None else _sized(x, dims, [n // 2 + 1])
    return _complex_to_real(x, dims, size)


# ------------------------------------------------------------------------------ many dimensions


@shared_rule(aten.fft_fft2.default, aten.fft_ifft2.default)
@shared_rule(aten.fft_fftn.default, aten.fft_ifftn.default)
def fft_fftn(x: TensorType, s: Sequence[Int] | None, dim: Sequence[int] | None) -> TensorType:
    """fftn([*n]) -> complex [*n]."""
    x = _promoted(x, "fftn", need_complex=True)
    dims = _dims(x, s, dim)
    return _complex(_sized(x, dims, s), dims)


@shared_rule(aten.fft_rfft2.default, aten.fft_rfftn.default)
def fft_rfftn(x: TensorType, s: Sequence[Int] | None, dim: Sequence[int] | None) -> TensorType:
    """rfftn([*a, N]) -> complex [*a, N//2 + 1]."""
    _need_real(x, "rfftn")
    x = _promoted(x, "rfftn")
    dims = _dims(x, s, dim)
    return _real_to_complex(_sized(x, dims, s), dims, True)


@shared_rule(aten.fft_ihfft2.default, aten.fft_ihfftn.default)
def fft_ihfftn(x: TensorType, s: Sequence[Int] | None, dim: Sequence[int] | None) -> TensorType:
    """ihfftn([*a, N]) -> complex [*a, N//2 + 1]."""
    _need_real(x, "ihfftn")
    x = _promoted(x, "ihfftn")
    dims = _dims(x, s, dim)
    half = _real_to_complex(_sized(x, dims, s), dims[-1:], True)
    return _complex(half, dims[:-1])


@shared_rule(aten.fft_irfft2.default, aten.fft_irfftn.default, op="irfftn")
@shared_rule(aten.fft_hfft2.default, aten.fft_hfftn.default, op="hfftn")
def fft_irfftn(
    x: TensorType, s: Sequence[Int] | None, dim: Sequence[int] | None, op: str
) -> TensorType:
    """irfftn([*a, N]) -> real [*a, 2*(N - 1)]."""
    x = _promoted(x, op, need_complex=True)
    dims = _dims(x, s, dim)
    given = None if s is None or (isinstance(s[-1], int) and s[-1] == -1) else s[-1]
    size = 2 * (x.shape[dims[-1]] - 1) if given is None else given
    if s is not None:
        x = _sized(x, dims, [*s[:-1], size // 2 + 1])
    if op == "irfftn":
        return _complex_to_real(x, dims, size)
    return _complex_to_real(_complex(x, dims[:-1]), dims[-1:], size)


# ------------------------------------------------------------------------------ kernels


@shared_rule(aten._fft_c2c.default)
def fft_c2c(x: TensorType, dim: Sequence[Int]) -> TensorType:
    """_fft_c2c([*n]) -> [*n]."""
    return _complex(x, [wrap_dim(count_of(d), len(x.shape)) for d in dim])


@shared_rule(aten._fft_r2c.default)
def fft_r2c(x: TensorType, dim: Sequence[int], onesided: bool) -> TensorType:
    """_fft_r2c([*a, N]) -> complex [*a, N//2 + 1], or [*a, N]."""
    return _real_to_complex(x, [wrap_dim(d, len(x.shape)) for d in dim], onesided)


@shared_rule(aten._fft_c2r.default)
def fft_c2r(x: TensorType, dim: Sequence[int], last_dim_size: Int) -> TensorType:
    """_fft_c2r([*a, M], N) -> real [*a, N]."""
    dims = [wrap_dim(d, len(x.shape)) for d in dim]
    # The kernel trusts this, and reads beyond the tensor where it is wrong.
    left, right = x.shape[dims[-1]], last_dim_size // 2 + 1
    require(eq(left, right), "sizes-disagree", left=left, right=right, dim=dims[-1])
    return _complex_to_real(x, dims, last_dim_size)


# ------------------------------------------------------------------------------ order


@shared_rule(aten.fft_fftshift.default, aten.fft_ifftshift.default)
def fft_fftshift(x: TensorType) -> TensorType:
    """fftshift([*]) -> [*]: joins of slices, which follow the memory format."""
    return following(x, x.shape)


# ------------------------------------------------------------------------------ short-time


@shared_rule(aten.istft.default)
def istft(
    x: TensorType,
    n_fft: int,
    hop_length: int | None,
    center: bool,
    onesided: bool | None,
    length: Int | None,
    return_complex: bool,
) -> TensorType:
    """istft(complex [*, F, T], n_fft) -> [*, n_fft + hop*(T - 1)], less n_fft if centred."""
    check_dtype(x.dtype.is_complex, "istft", "complex numbers", x.dtype)
    if len(x.shape) not in (2, 3):
        raise problem("rank-disagrees", what="istft", expected="2 or 3", got=x.rank)
    *batch, n_frequencies, n_frames = x.shape
    half = n_fft // 2 + 1
    if onesided is None:
        onesided = not equal(n_frequencies, n_fft)
    need_equal(n_frequencies, half if onesided else n_fft, "istft", len(batch))
    need_positive((n_frames, 1 if length is None else length), "istft")
    if length is None:
        hop = n_fft // 4 if hop_length is None else hop_length
        length = n_fft + hop * (n_frames - 1) - (2 * (n_fft // 2) if center else 0)
    dtype = x.dtype if return_complex else x.dtype.to_real()
    return TensorType((*batch, length), dtype, x.device)
