"""Rounding to the values that quantised numbers have, in floating point.

Law: a pointwise function of the operand, so the result is laid out as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import elementwise
from monograph.diagnostics import problem
from monograph.rules.registry import rule
from monograph.rules.sides import need_equal

if TYPE_CHECKING:
    from monograph.abstract.tensor_type import TensorType

aten = torch.ops.aten


def _rounded(x: TensorType) -> TensorType:
    if not x.dtype.is_floating_point:
        raise problem("dtype-disagrees", what="fake_quantize", expected="floats", got=x.dtype)
    return elementwise([x], x.dtype)


@rule(aten.fake_quantize_per_tensor_affine.default)
def fake_quantize_per_tensor_affine(
    x: TensorType, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> TensorType:
    """fake_quantize([*]) -> [*]."""
    return _rounded(x)


@rule(aten.fake_quantize_per_tensor_affine.tensor_qparams)
def fake_quantize_by_tensors(
    x: TensorType, scale: TensorType, zero_point: TensorType, quant_min: int, quant_max: int
) -> TensorType:
    """fake_quantize([*], scale: [1], zero_point: [1]) -> [*]."""
    return _rounded(x)


@rule(aten.fake_quantize_per_tensor_affine_cachemask.default)
def fake_quantize_with_mask(
    x: TensorType, scale: float, zero_point: int, quant_min: int, quant_max: int
) -> tuple[TensorType, TensorType]:
    """fake_quantize([*]) -> [*], b8[*] where nothing was cut off."""
    return _rounded(x), elementwise([x], torch.bool)


@rule(aten.fake_quantize_per_channel_affine.default)
def fake_quantize_per_channel_affine(
    x: TensorType,
    scale: TensorType,
    zero_point: TensorType,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> TensorType:
    """fake_quantize([*a, C, *b], scale: [C], zero_point: [C]) -> [*a, C, *b]."""
    at = wrap_dim(axis, len(x.shape))
    for each in (scale, zero_point):
        if len(each.shape) != 1:
            raise problem("rank-disagrees", what="fake_quantize", expected=1, got=each.rank)
        need_equal(each.shape[0], x.shape[at], "fake_quantize", at)
    return _rounded(x)
