"""Upsampling, and sampling from a grid: new spatial sizes, in the operand's memory format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.tensor_type import TensorType
from monograph.host.overloads import aten
from monograph.integers import to_float, trunc
from monograph.rules.memory_formats import following
from monograph.rules.operand_checks import check_rank, refusal
from monograph.rules.registry import shared_rule
from monograph.rules.size_checks import need_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int, Real


Scale = "float | Real | None"


def _resized(x: TensorType, output_size: Sequence[Int]) -> TensorType:
    """[N, C, *spatial] -> [N, C, *output_size]."""
    check_rank(
        len(x.shape) == len(output_size) + 2, "upsampling", len(output_size) + 2, len(x.shape)
    )
    return following(x, (*x.shape[:2], *output_size))


def scaled_size(size: Int, scale: float | Real) -> Int:
    """`int(size * scale)` as floats give it, exact for every size.

    >>> scaled_size(5, 2.5)
    12
    """
    if isinstance(scale, float):
        if isinstance(size, int):
            return int(size * scale)
        if scale.is_integer():
            return size * int(scale)
    return trunc(to_float(size) * scale)


@shared_rule(aten.upsample_nearest1d.default, aten._upsample_nearest_exact1d.default)
@shared_rule(aten.upsample_nearest2d.default, aten._upsample_nearest_exact2d.default)
@shared_rule(aten.upsample_nearest3d.default, aten._upsample_nearest_exact3d.default)
@shared_rule(aten.upsample_linear1d.default, aten.upsample_bilinear2d.default)
@shared_rule(aten.upsample_bicubic2d.default, aten.upsample_trilinear3d.default)
@shared_rule(aten._upsample_bilinear2d_aa.default, aten._upsample_bicubic2d_aa.default)
@shared_rule(aten._upsample_lanczos2d_aa.default)
@shared_rule(aten.upsample_nearest1d.vec, aten._upsample_nearest_exact1d.vec)
@shared_rule(aten.upsample_nearest2d.vec, aten._upsample_nearest_exact2d.vec)
@shared_rule(aten.upsample_nearest3d.vec, aten._upsample_nearest_exact3d.vec)
@shared_rule(aten.upsample_linear1d.vec, aten.upsample_bilinear2d.vec)
@shared_rule(aten.upsample_bicubic2d.vec, aten.upsample_trilinear3d.vec)
@shared_rule(aten._upsample_bilinear2d_aa.vec, aten._upsample_bicubic2d_aa.vec)
@shared_rule(aten._upsample_lanczos2d_aa.vec)
def upsample(
    x: TensorType,
    output_size: Sequence[Int] | None,
    scale_factors: Sequence[float | Real] | None = None,
) -> TensorType:
    """upsample_nearest2d([N, C, H, W], [h, w]) -> [N, C, h, w]; scales give [*int(n*scale)].

    Exactly one of the two is given.
    """
    if output_size is not None:
        return _resized(x, output_size)
    if scale_factors is None or len(scale_factors) != len(x.shape) - 2:
        raise refusal(
            "upsampling",
            "it needs `output_size` or `scale_factors`, one for each spatial dimension",
        )
    sizes = zip(x.shape[2:], scale_factors, strict=True)
    return _resized(x, [scaled_size(size, scale) for size, scale in sizes])


# ------------------------------------------------------------------------------ grids


@shared_rule(aten.grid_sampler.default, aten.grid_sampler_2d.default, aten.grid_sampler_3d.default)
def grid_sampler(input: TensorType, grid: TensorType) -> TensorType:
    """grid_sampler([N, C, *n], grid: [N, *m, len(n)]) -> [N, C, *m], contiguous."""
    check_rank(len(input.shape) == len(grid.shape), "grid of grid_sampler", input.rank, grid.rank)
    need_equal(input.shape[0], grid.shape[0], "grid_sampler", 0)
    need_equal(len(input.shape) - 2, grid.shape[-1], "grid_sampler", grid.rank - 1)
    return TensorType((*input.shape[:2], *grid.shape[1:-1]), input.dtype, input.device)


@shared_rule(aten.affine_grid_generator.default)
def affine_grid_generator(theta: TensorType, size: Sequence[Int]) -> TensorType:
    """affine_grid_generator([N, 2, 3], [N, C, H, W]) -> [N, H, W, 2]; also [N, D, H, W, 3]."""
    n = len(size) - 2
    need_equal(theta.shape[0], size[0], "affine_grid_generator", 0)
    return TensorType((size[0], *size[2:], n), theta.dtype, theta.device)
