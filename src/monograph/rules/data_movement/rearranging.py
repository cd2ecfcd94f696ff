"""Copies with the elements of a tensor elsewhere: repeated, flipped, rolled, shuffled, overwritten.

The strides are those of the CPU kernels: some copy keeps the order of dimensions, some is
contiguous, some follows channels_last, and the `*_scatter` operators keep even gaps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.dims import wrap_dim
from monograph.abstract.layout import (
    dense_like_strides,
    is_size_one,
    strides_for,
    suggest_memory_format,
)
from monograph.abstract.tensor_type import TensorType, like
from monograph.host.overloads import aten
from monograph.integers import Expr, eq, ge, product, require
from monograph.rules.operand_checks import check_rank, need_dimensions, refusal
from monograph.rules.registry import rule
from monograph.rules.size_checks import equal, need_equal, need_positive, surely_equal
from monograph.rules.views.dimensions import as_strided, diagonal, transpose
from monograph.rules.views.slicing import select, slice_tensor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


# ------------------------------------------------------------------------------------- repeating


@rule(aten.repeat.default)
def repeat(x: TensorType, repeats: Sequence[Int]) -> TensorType:
    """x: [*a], repeats: r -> [..., r_i * a_i, ...]; surplus repeats are dimensions in front."""
    lead = len(repeats) - len(x.shape)
    check_rank(lead >= 0, "repeat", len(repeats), x.rank)
    for times in repeats:
        if not isinstance(times, int) or times < 0:
            reason = "a number of repeats is negative"
            require(ge(times, 0), "operator-refused-types", op="repeat", reason=reason)
    padded = (1,) * lead + x.shape
    shape = tuple([times * size for times, size in zip(repeats, padded, strict=True)])
    return like(x, shape)


@rule(aten.tile.default)
def tile(x: TensorType, dims: Sequence[Int]) -> TensorType:
    """x: [*a], dims: r -> [..., r_i * a_i, ...]; the shorter of the two gets ones in front."""
    return repeat(x, (1,) * (len(x.shape) - len(dims)) + tuple(dims))


@rule(aten.repeat_interleave.self_int)
def repeat_interleave(
    x: TensorType, repeats: Int, dim: int | None = None, *, output_size: Int | None = None
) -> TensorType:
    """x: [*a, n, *b] -> [*a, repeats * n, *b]; x is flattened where `dim` is None."""
    reason = "a number of repeats is negative"
    require(ge(repeats, 0), "operator-refused-types", op="repeat_interleave", reason=reason)
    shape = (product(x.shape),) if dim is None else x.shape or (1,)
    at = wrap_dim(dim or 0, len(shape))
    size = shape[at] * repeats
    if output_size is not None and not surely_equal(output_size, size):
        require(eq(output_size, size), "sizes-disagree", left=output_size, right=size)
    return like(x, (*shape[:at], size, *shape[at + 1 :]))


# -------------------------------------------------------------------------- reversing and turning


@rule(aten.flip.default)
def flip(x: TensorType, dims: Sequence[int]) -> TensorType:
    """x: [*a] -> [*a] with the given dimensions reversed."""
    rank = x.rank
    if len({wrap_dim(dim, rank) for dim in dims}) < len(dims):
        raise refusal("flip", "a dimension appears multiple times")
    return like(x, strides=dense_like_strides(x))


@rule(aten.fliplr.default)
def fliplr(x: TensorType) -> TensorType:
    """x: [n, m, *a] -> [n, m, *a], m reversed."""
    need_dimensions(x, 2, "fliplr")
    return flip(x, (1,))


@rule(aten.flipud.default)
def flipud(x: TensorType) -> TensorType:
    """x: [n, *a] -> [n, *a], n reversed."""
    need_dimensions(x, 1, "flipud")
    return flip(x, (0,))


@rule(aten.roll.default)
def roll(x: TensorType, shifts: Int | Sequence[Int], dims: int | Sequence[int] = ()) -> TensorType:
    """x: [*a] -> [*a] with elements shifted around the given dimensions."""
    moves = [shifts] if isinstance(shifts, int | Expr) else list(shifts)
    axes = [dims] if isinstance(dims, int) else list(dims)
    if not axes and len(moves) == 1:
        return like(x)
    if len(axes) != len(moves) or not moves:
        raise refusal("roll", f"shifts and dimensions must align: {len(moves)} and {len(axes)}")
    places = [wrap_dim(axis, x.rank) for axis in axes]
    strides = strides_for(x.shape, suggest_memory_format(x))
    if strides is None:
        return like(x)
    # It joins what goes round with the rest; an empty part is contiguous, and so is the result.
    for shift, place in zip(moves, places, strict=True):
        n = x.shape[place]
        if _stays(shift, n):
            return like(x)
    return like(x, strides=strides)


def _stays(shift: Int, n: Int) -> bool:
    if isinstance(n, int) and n == 0:
        return True
    require(ge(n, 1), "size-must-be-positive", size=n, what="roll")
    return equal(shift % n, 0)


@rule(aten.rot90.default)
def rot90(x: TensorType, k: int = 1, dims: Sequence[int] = (0, 1)) -> TensorType:
    """x: [*a, n, *b, m, *c] -> the same, or with n and m exchanged where k is odd."""
    if len(dims) != 2 or x.rank < 2 or wrap_dim(dims[0], x.rank) == wrap_dim(dims[1], x.rank):
        raise refusal("rot90", "it takes two different dimensions")
    if k % 4 == 0:
        return like(x)
    flipped = like(x, strides=dense_like_strides(x))
    return transpose(flipped, dims[0], dims[1]) if k % 2 else flipped


# ------------------------------------------------------------------------------------- shuffling


def _in_format(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    return like(x, shape, strides=strides_for(shape, suggest_memory_format(x)))


def _check_divides(size: Int, by: Int, dim: int) -> None:
    remainder = size % by
    need_equal(remainder, 0, dim=dim)


def _check_image(x: TensorType, factor: Int, op: str) -> None:
    need_dimensions(x, 3, op)
    need_positive((factor,), op)


@rule(aten.pixel_shuffle.default)
def pixel_shuffle(x: TensorType, upscale_factor: Int) -> TensorType:
    """x: [*a, c*r*r, h, w], upscale_factor: r -> [*a, c, h*r, w*r]."""
    r = upscale_factor
    _check_image(x, r, "pixel_shuffle")
    *outer, channels, height, width = x.shape
    _check_divides(channels, r * r, x.rank - 3)
    return _in_format(x, (*outer, channels // (r * r), height * r, width * r))


@rule(aten.pixel_unshuffle.default)
def pixel_unshuffle(x: TensorType, downscale_factor: Int) -> TensorType:
    """x: [*a, c, h*r, w*r], downscale_factor: r -> [*a, c*r*r, h, w]."""
    r = downscale_factor
    _check_image(x, r, "pixel_unshuffle")
    *outer, channels, height, width = x.shape
    _check_divides(height, r, x.rank - 2)
    _check_divides(width, r, x.rank - 1)
    for i, size in enumerate(x.shape):
        if isinstance(size, int) and size == 0:
            return like(x)  # observed: an image without pixels stays as it is
        require(ge(size, 1), "size-must-be-positive", size=size, what="pixel_unshuffle", dim=i)
    return _in_format(x, (*outer, channels * r * r, height // r, width // r))


@rule(aten.channel_shuffle.default, aten.native_channel_shuffle.default)
def channel_shuffle(x: TensorType, groups: Int) -> TensorType:
    """x: [n, c, *a] -> [n, c, *a] with the channels of the groups interleaved."""
    need_dimensions(x, 3, "channel_shuffle")
    _check_divides(x.shape[1], groups, 1)
    return _in_format(x, x.shape)


# --------------------------------------------------------------------------- a copy with a part new


def _overwritten(x: TensorType, part: TensorType, src: TensorType, op: str) -> TensorType:
    """`x` with `src` in place of `part`: strides and offset are x's, gaps included.

    An expanded `x` is copied densely first.
    """
    check_rank(len(part.shape) == len(src.shape), op, part.rank, src.rank)
    for i, (a, b) in enumerate(zip(part.shape, src.shape, strict=True)):
        need_equal(a, b, dim=i)
    if x.strides is not None and any(map(_is_repeated, x.shape, x.strides)):
        return like(x, strides=dense_like_strides(x))
    return TensorType(x.shape, x.dtype, x.device, x.strides, x.offset)


def _is_repeated(size: Int, stride: Int) -> bool:
    return isinstance(stride, int) and stride == 0 and not is_size_one(size)


@rule(aten.slice_scatter.default)
def slice_scatter(
    x: TensorType,
    src: TensorType,
    dim: int = 0,
    start: Int | None = None,
    end: Int | None = None,
    step: Int = 1,
) -> TensorType:
    """x: [*a, n, *b], src: [*a, k, *b] -> [*a, n, *b]; k the elements of `start:end:step`."""
    return _overwritten(x, slice_tensor(x, dim, start, end, step), src, "slice_scatter")


@rule(aten.select_scatter.default)
def select_scatter(x: TensorType, src: TensorType, dim: int, index: Int) -> TensorType:
    """x: [*a, n, *b], src: [*a, *b] -> [*a, n, *b]."""
    return _overwritten(x, select(x, dim, index), src, "select_scatter")


@rule(aten.diagonal_scatter.default)
def diagonal_scatter(
    x: TensorType, src: TensorType, offset: Int = 0, dim1: int = 0, dim2: int = 1
) -> TensorType:
    """x: [*a], src: x's diagonal's shape -> [*a]."""
    return _overwritten(x, diagonal(x, offset, dim1, dim2), src, "diagonal_scatter")


@rule(aten.as_strided_scatter.default)
def as_strided_scatter(
    x: TensorType,
    src: TensorType,
    size: Sequence[Int],
    stride: Sequence[Int],
    storage_offset: Int | None = None,
) -> TensorType:
    """x: [*a], src: [*size] -> [*a]."""
    part = as_strided(x, size, stride, storage_offset)
    return _overwritten(x, part, src, "as_strided_scatter")
