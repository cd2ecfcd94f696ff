"""Pooling: windows over the last dimensions.

Law: `size(n) = (n + 2*padding - dilation*(kernel - 1) - 1) // stride + 1`; with `ceil_mode` the
division rounds up, but no window starts in the padding behind: there are at most
`ceil((n + padding) / stride)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.layout import suggest_memory_format
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import Expr, known, le, minimum
from monograph.rules.memory_formats import following, squeezed, unsqueezed
from monograph.rules.operand_checks import check_dtype
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import need_positive, need_same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def pooled_size(
    size: Int,
    kernel: Int,
    stride: Int,
    padding: Int = 0,
    dilation: Int = 1,
    ceil_mode: bool = False,
) -> Int:
    """How many windows fit into a dimension.

    >>> pooled_size(6, 3, 2), pooled_size(6, 3, 2, ceil_mode=True)
    (2, 3)
    """
    span = dilation * (kernel - 1) + 1
    if not ceil_mode:
        return (size + 2 * padding - span) // stride + 1
    windows = (size + 2 * padding - span + stride - 1) // stride + 1
    # With padding + stride <= span the last window cannot start in the padding.
    if known(le(padding + stride, span)) is True:
        return windows
    return minimum(windows, (size + padding + stride - 1) // stride)


def _window(value: Int | Sequence[Int], n: int) -> Sequence[Int]:
    if isinstance(value, int | Expr):
        return (value,) * n
    return value if len(value) == n else tuple(value) * n


def _spatial(x: TensorType, n: int, op: str) -> tuple[Int, ...]:
    """The last `n` sizes, of a batch or of one sample."""
    if len(x.shape) not in (n + 1, n + 2):
        raise problem(
            "rank-disagrees", what=op, expected=f"{n + 1} or {n + 2} dimensions", got=x.rank
        )
    return x.shape[-n:]


def _pooled(
    x: TensorType,
    n: int,
    op: str,
    kernel: Sequence[Int],
    stride: Sequence[Int],
    padding: Sequence[Int],
    dilation: Sequence[Int] = (1,),
    ceil_mode: bool = False,
) -> tuple[Int, ...]:
    sizes = _spatial(x, n, op)
    kernel = _window(kernel, n)
    windows = zip(
        sizes,
        kernel,
        _window(stride, n) if stride else kernel,
        _window(padding, n),
        _window(dilation, n),
        strict=True,
    )
    pooled = tuple([pooled_size(*window, ceil_mode) for window in windows])
    need_positive(pooled, op)
    return x.shape[:-n] + pooled


def _twice(x: TensorType, one: TensorType) -> tuple[TensorType, TensorType]:
    """A result and its indices, which lie alike."""
    return one, TensorType(one.shape, torch.int64, x.device, one.strides)


def _as_2d(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """1d pools run as 2d ones over [N, C, 1, L], and follow *its* memory format."""
    if x.strides is None or len(x.shape) != 3:
        return TensorType(shape, x.dtype, x.device)
    flat = unsqueezed(x, 2)
    return squeezed(following(flat, (*shape[:2], 1, shape[2])), 2)


# ------------------------------------------------------------------------------ maxima


@shared_rule(aten.max_pool1d.default, n=1, op="max_pool1d")
@shared_rule(aten.max_pool2d.default, n=2, op="max_pool2d")
@shared_rule(aten.max_pool3d.default, n=3, op="max_pool3d")
def max_pool(
    x: TensorType,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    n: int,
    op: str,
) -> TensorType:
    """max_pool2d([N?, C, H, W]) -> [N?, C, windows, windows]."""
    shape = _pooled(x, n, op, kernel_size, stride, padding, dilation, ceil_mode)
    # Without gradients the CPU has a kernel of its own, which gives a contiguous result.
    if n == 1 and x.requires_grad and torch.is_grad_enabled():
        return _as_2d(x, shape)
    follows = n == 2 or (n == 3 and len(shape) == 5)
    return following(x, shape) if follows else TensorType(shape, x.dtype, x.device)


@shared_rule(aten.max_pool1d_with_indices.default, n=1, op="max_pool1d")
@shared_rule(aten.max_pool2d_with_indices.default, n=2, op="max_pool2d")
@shared_rule(aten.max_pool3d_with_indices.default, n=3, op="max_pool3d")
def max_pool_with_indices(
    x: TensorType,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
    n: int,
    op: str,
) -> tuple[TensorType, TensorType]:
    """max_pool2d([N?, C, H, W]) -> [N?, C, windows, windows], indices."""
    largest = max_pool(x, kernel_size, stride, padding, dilation, ceil_mode, n, op)
    return _twice(x, _as_2d(x, largest.shape) if n == 1 else largest)


@shared_rule(aten.fractional_max_pool2d.default, n=2, op="fractional_max_pool2d")
@shared_rule(aten.fractional_max_pool3d.default, n=3, op="fractional_max_pool3d")
@shared_rule(aten.adaptive_max_pool3d.default, n=3, op="adaptive_max_pool3d")
def fractional_max_pool(
    x: TensorType, output_size: Sequence[int], n: int, op: str
) -> tuple[TensorType, TensorType]:
    """fractional_max_pool2d([N?, C, H, W], [h, w]) -> [N?, C, h, w], indices, contiguous."""
    return _twice(x, TensorType(_adapted(x, n, output_size, op), x.dtype, x.device))


@rule(aten.max_unpool2d.default)
def max_unpool2d(x: TensorType, indices: TensorType, output_size: Sequence[Int]) -> TensorType:
    """max_unpool2d([N?, C, H, W], i64[N?, C, H, W], [h, w]) -> [N?, C, h, w]."""
    fits = x.dtype.is_floating_point and indices.dtype is torch.int64
    check_dtype(fits, "max_unpool2d", "floats and indices of int64", indices.dtype)
    need_same_shape(x.shape, indices.shape, "max_unpool2d")
    need_positive(x.shape[-3:], "max_unpool2d")
    return following(x, _adapted(x, 2, output_size, "max_unpool2d"))


# ------------------------------------------------------------------------------ averages


@shared_rule(aten.avg_pool1d.default, n=1, op="avg_pool1d")
@shared_rule(aten.avg_pool2d.default, n=2, op="avg_pool2d")
@shared_rule(aten.avg_pool3d.default, n=3, op="avg_pool3d")
def avg_pool(
    x: TensorType,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    n: int,
    op: str,
) -> TensorType:
    """avg_pool2d([N?, C, H, W]) -> [N?, C, windows, windows]; of three dimensions contiguous."""
    shape = _pooled(x, n, op, kernel_size, stride, padding, (1,), ceil_mode)
    if n == 1:
        return _as_2d(x, shape)
    return following(x, shape) if n == 2 else TensorType(shape, x.dtype, x.device)


# ------------------------------------------------------------------------------ adaptive


def _adapted(x: TensorType, n: int, output_size: Sequence[Int], op: str) -> tuple[Int, ...]:
    _spatial(x, n, op)
    return (*x.shape[:-n], *_window(output_size, n))


def _is_global(output_size: Sequence[Int]) -> bool:
    return all(isinstance(size, int) and size == 1 for size in output_size)


def _mean(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """Of everything: channels_last as [N, C, 1, 1] strided [C, 1, C, C], any other contiguous."""
    if x.strides is None or suggest_memory_format(x) == torch.contiguous_format:
        return TensorType(shape, x.dtype, x.device)
    channels = x.shape[1]
    return TensorType(shape, x.dtype, x.device, (channels, 1, *[channels] * (len(shape) - 2)))


@rule(aten.adaptive_avg_pool1d.default)
def adaptive_avg_pool1d(x: TensorType, output_size: Sequence[int]) -> TensorType:
    """adaptive_avg_pool1d([N?, C, L], [l]) -> [N?, C, l]."""
    shape = _adapted(x, 1, output_size, "adaptive_avg_pool1d")
    return _as_2d(x, shape)


@rule(aten.adaptive_avg_pool2d.default)
def adaptive_avg_pool2d(x: TensorType, output_size: Sequence[Int]) -> TensorType:
    """adaptive_avg_pool2d([N?, C, H, W], [h, w]) -> [N?, C, h, w]."""
    shape = _adapted(x, 2, output_size, "adaptive_avg_pool2d")
    return _mean(x, shape) if _is_global(output_size) else following(x, shape)


@rule(aten._adaptive_avg_pool2d.default)
def adaptive_avg_pool2d_kernel(x: TensorType, output_size: Sequence[Int]) -> TensorType:
    """_adaptive_avg_pool2d([N?, C, H, W], [h, w]) -> [N?, C, h, w]."""
    return following(x, _adapted(x, 2, output_size, "adaptive_avg_pool2d"))


@rule(aten.adaptive_avg_pool3d.default)
def adaptive_avg_pool3d(x: TensorType, output_size: Sequence[Int]) -> TensorType:
    """adaptive_avg_pool3d([N?, C, D, H, W], [d, h, w]) -> [N?, C, d, h, w]."""
    shape = _adapted(x, 3, output_size, "adaptive_avg_pool3d")
    return _mean(x, shape) if _is_global(output_size) else TensorType(shape, x.dtype, x.device)


@rule(aten._adaptive_avg_pool3d.default)
def adaptive_avg_pool3d_kernel(x: TensorType, output_size: Sequence[Int]) -> TensorType:
    """_adaptive_avg_pool3d([N?, C, D, H, W], [d, h, w]) -> [N?, C, d, h, w], contiguous."""
    shape = _adapted(x, 3, output_size, "adaptive_avg_pool3d")
    return TensorType(shape, x.dtype, x.device)


@rule(aten.adaptive_max_pool1d.default)
def adaptive_max_pool1d(x: TensorType, output_size: Sequence[int]) -> tuple[TensorType, TensorType]:
    """adaptive_max_pool1d([N?, C, L], [l]) -> [N?, C, l], indices."""
    return _twice(x, _as_2d(x, _adapted(x, 1, output_size, "adaptive_max_pool1d")))


@rule(aten.adaptive_max_pool2d.default)
def adaptive_max_pool2d(x: TensorType, output_size: Sequence[int]) -> tuple[TensorType, TensorType]:
    """adaptive_max_pool2d([N?, C, H, W], [h, w]) -> [N?, C, h, w], indices."""
    return _twice(x, following(x, _adapted(x, 2, output_size, "adaptive_max_pool2d")))
