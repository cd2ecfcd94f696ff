"""Padding, and the unfolding of images into columns and back.

Law: a padded size is n + before + after. A reflection needs before, after < n; circular padding
needs before, after <= n.

Source: the CPU kernels choose the memory format (observed, not copied): 4- and 5-dim results follow
channels_last, and a constant pad of no positive amount keeps the order of dimensions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.layout import dense_like_strides, strides_for, suggest_memory_format
from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import Real, eq, ge, le, lt, product, require
from monograph.rules.operand_checks import check_rank, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import at_least, need_equal, surely_equal
from monograph.rules.views.slicing import part_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


Number = int | float | complex | bool | Real


def _padded_shape(x: TensorType, pad: Sequence[Int], op: str) -> tuple[Int, ...]:
    """Sizes with the amounts of `pad` added, the last dimension's first."""
    if len(pad) % 2 or len(pad) > 2 * x.rank:
        raise refusal(op, f"{len(pad)} amounts of padding for {x.rank} dimensions")
    shape = list(x.shape)
    for i in range(len(pad) // 2):
        dim = len(shape) - 1 - i
        shape[dim] = shape[dim] + pad[2 * i] + pad[2 * i + 1]
    return tuple(shape)


def _check_positive(x: TensorType, shape: tuple[Int, ...], op: str, least: int) -> None:
    for i, (before, size) in enumerate(zip(x.shape, shape, strict=True)):
        if size is before or (isinstance(size, int) and size >= least):
            continue
        require(ge(size, least), "size-must-be-positive", size=size, what=op, dim=i)


def _in_format(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    if x.strides is None:
        return TensorType(shape, x.dtype, x.device)
    return like(x, shape, strides=strides_for(shape, suggest_memory_format(x)))


@shared_rule(aten.constant_pad_nd.default)
def constant_pad_nd(x: TensorType, pad: Sequence[Int]) -> TensorType:
    """x: [*a, n], pad: (before, after, ...) from the last dimension -> [*a, before + n + after]."""
    shape = _padded_shape(x, pad, "constant_pad_nd")
    if x.strides is None:
        _check_positive(x, shape, "constant_pad_nd", 0)
        return TensorType(shape, x.dtype, x.device)
    if not any(at_least(amount, 1) for amount in pad):
        return like(x, shape, strides=_cropped_strides(x, pad, shape))
    _check_positive(x, shape, "constant_pad_nd", 0)
    return _in_format(x, shape)


def _cropped_strides(
    x: TensorType, pad: Sequence[Int], shape: tuple[Int, ...]
) -> tuple[Int, ...] | None:
    cropped = x
    for i in range(len(pad) // 2):
        dim = x.rank - 1 - i
        cropped = part_of(cropped, dim, -pad[2 * i], shape[dim])
    return dense_like_strides(cropped)


_OF_RANK = {(2, 2): 1, (2, 3): 1, (4, 3): 2, (4, 4): 2, (6, 4): 3, (6, 5): 3}


@rule(aten.pad.default)
def pad(
    x: TensorType, pad: Sequence[Int], mode: str = "constant", value: float | Real | None = None
) -> TensorType:
    """x: [*a, n], pad: (before, after, ...) from the last dimension -> [*a, before + n + after]."""
    if mode == "constant":
        return constant_pad_nd(x, pad)
    if value is not None and value != 0:
        raise refusal("pad", f'padding mode "{mode}" does not take a value argument')
    kernel = {"reflect": _reflected, "replicate": _replicated, "circular": _circular}.get(mode)
    if kernel is None:
        raise refusal("pad", f"unrecognised padding mode {mode}")
    if (len(pad), x.rank) not in _OF_RANK:
        raise refusal("pad", "only 2D to 5D padding with non-constant padding is supported")
    return kernel(x, pad)


def _amounts(x: TensorType, pad: Sequence[Int]) -> list[tuple[Int, Int]]:
    """(size of its dimension, amount) for each amount."""
    return [(x.shape[-1 - i // 2], amount) for i, amount in enumerate(pad)]


def _reflected(x: TensorType, pad: Sequence[Int]) -> TensorType:
    shape = _padded_shape(x, pad, "reflection_pad")
    for size, amount in _amounts(x, pad):
        reason = "the padding must be less than the size it reflects"
        require(lt(amount, size), "operator-refused-types", op="reflection_pad", reason=reason)
    _check_positive(x, shape, "reflection_pad", 1)
    return like(x, shape) if len(pad) == 2 else _in_format(x, shape)


def _replicated(x: TensorType, pad: Sequence[Int]) -> TensorType:
    shape = _padded_shape(x, pad, "replication_pad")
    _check_positive(x, shape, "replication_pad", 1)
    return like(x, shape) if len(pad) == 2 else _in_format(x, shape)


def _circular(x: TensorType, pad: Sequence[Int]) -> TensorType:
    shape = _padded_shape(x, pad, "pad")
    for size, amount in _amounts(x, pad):
        reason = "the padding would wrap around more than once"
        require(le(amount, size), "operator-refused-types", op="pad", reason=reason)
    _check_positive(x, shape, "pad", 0)
    return like(x, shape)


@rule(aten._pad_circular.default)
def pad_circular(x: TensorType, pad: Sequence[Int]) -> TensorType:
    """x: [*a, n], pad: (before, after, ...) -> [*a, before + n + after]."""
    return _circular(x, pad)


@shared_rule(aten.reflection_pad1d.default, n=1, op="reflection_pad1d")
@shared_rule(aten.reflection_pad2d.default, n=2, op="reflection_pad2d")
@shared_rule(aten.reflection_pad3d.default, n=3, op="reflection_pad3d")
@shared_rule(aten.replication_pad1d.default, n=1, op="replication_pad1d")
@shared_rule(aten.replication_pad2d.default, n=2, op="replication_pad2d")
@shared_rule(aten.replication_pad3d.default, n=3, op="replication_pad3d")
def reflection_pad(x: TensorType, padding: Sequence[Int], n: int, op: str) -> TensorType:
    """x: [*a, n, m], padding: (before, after, ...) from the last dimension -> both padded."""
    if _OF_RANK.get((len(padding), x.rank)) != n:
        expected = f"{n + 1} or {n + 2} dimensions"
        raise problem("rank-disagrees", what=op, expected=expected, got=x.rank)
    return _reflected(x, padding) if op.startswith("reflection") else _replicated(x, padding)


# ------------------------------------------------------------------------------ images as columns


def _places(
    sizes: Sequence[Int],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> Int:
    """How many places a sliding window has in an image.

    Raises: size-must-be-positive.
    """
    counts: list[Int] = []
    for n, k, d, p, s in zip(sizes, kernel, dilation, padding, stride, strict=True):
        count = (n + 2 * p - d * (k - 1) - 1) // s + 1
        if not isinstance(count, int) or count < 1:
            require(ge(count, 1), "size-must-be-positive", size=count, what="a sliding window")
        counts.append(count)
    return product(counts)


@rule(aten.im2col.default)
def im2col(
    x: TensorType,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> TensorType:
    """x: [b, c, h, w] or [c, h, w] -> [b, c * Π kernel_size, places of the window]."""
    check_rank(x.rank in {3, 4}, "im2col", "3 or 4 dimensions", x.rank)
    *batch, channels, height, width = x.shape
    columns = _places((height, width), kernel_size, dilation, padding, stride)
    return like(x, (*batch, channels * product(kernel_size), columns))


@rule(aten.col2im.default)
def col2im(
    x: TensorType,
    output_size: Sequence[Int],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> TensorType:
    """x: [b, c * Π kernel_size, places] or without b -> [b, c, *output_size]."""
    check_rank(x.rank in {2, 3}, "col2im", "2 or 3 dimensions", x.rank)
    *batch, rows, columns = x.shape
    window = product(kernel_size)
    places = _places(output_size, kernel_size, dilation, padding, stride)
    need_equal(rows % window, 0, dim=x.rank - 2)
    if not surely_equal(columns, places):
        require(eq(columns, places), "sizes-disagree", left=columns, right=places, dim=x.rank - 1)
    return like(x, (*batch, rows // window, *output_size))
