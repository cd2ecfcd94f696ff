"""Rounding to the values that quantised numbers have, in floating point.

Law: a pointwise function of the operand, so the result is laid out as one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import elementwise
from monograph.host.overloads import aten
from monograph.rules.operand_checks import check_dtype, need_rank
from monograph.rules.registry import shared_rule
from monograph.rules.size_checks import need_equal

if TYPE_CHECKING:
    from monograph.abstract.tensor_type import TensorType


@shared_rule(aten.fake_quantize_per_tensor_affine.default)
@shared_rule(aten.fake_quantize_per_tensor_affine.tensor_qparams)
@shared_rule(aten._fake_quantize_learnable_per_tensor_affine.default)
def fake_quantize(x: TensorType) -> TensorType:
    """fake_quantize([*], scale: [1] or number, zero_point: [1] or number) -> [*]."""
    check_dtype(x.dtype.is_floating_point, "fake_quantize", "floats", x.dtype)
    return elementwise([x], x.dtype)


@shared_rule(aten.fake_quantize_per_tensor_affine_cachemask.default)
@shared_rule(aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default)
def fake_quantize_with_mask(x: TensorType) -> tuple[TensorType, TensorType]:
    """fake_quantize([*]) -> [*], b8[*] where nothing was cut off."""
    return fake_quantize(x), elementwise([x], torch.bool)


@shared_rule(aten.fake_quantize_per_channel_affine.default)
@shared_rule(aten._fake_quantize_learnable_per_channel_affine.default)
def fake_quantize_per_channel(
    x: TensorType, scale: TensorType, zero_point: TensorType, axis: int
) -> TensorType:
    """fake_quantize([*a, C, *b], scale: [C], zero_point: [C]) -> [*a, C, *b]."""
    at = wrap_dim(axis, len(x.shape))
    for operand in (scale, zero_point):
        need_rank(operand, 1, "fake_quantize")
        need_equal(operand.shape[0], x.shape[at], "fake_quantize", at)
    return fake_quantize(x)


@shared_rule(aten.fake_quantize_per_channel_affine_cachemask.default)
def fake_quantize_per_channel_with_mask(
    x: TensorType, scale: TensorType, zero_point: TensorType, axis: int
) -> tuple[TensorType, TensorType]:
    """fake_quantize([*a, C, *b], scale: [C], zero_point: [C]) -> [*a, C, *b], b8[*a, C, *b]."""
    return fake_quantize_per_channel(x, scale, zero_point, axis), elementwise([x], torch.bool)
