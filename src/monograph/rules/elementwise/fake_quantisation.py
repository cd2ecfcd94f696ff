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
from monograph.rules.size_checks import need_equal

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


@rule(aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams.default)
def fake_quantize_by_tensors_with_mask(
    x: TensorType,
    scale: TensorType,
    zero_point: TensorType,
    fake_quant_enabled: TensorType,
    quant_min: int,
    quant_max: int,
) -> tuple[TensorType, TensorType]:
    """fake_quantize([*], scale: [1], zero_point: [1]) -> [*], b8[*]."""
    return _rounded(x), elementwise([x], torch.bool)


@rule(aten._fake_quantize_learnable_per_tensor_affine.default)
def fake_quantize_learning(
    x: TensorType,
    scale: TensorType,
    zero_point: TensorType,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> TensorType:
    """fake_quantize([*], scale: [1], zero_point: [1]) -> [*]; both learn."""
    return _rounded(x)


def _need_channels(x: TensorType, axis: int, *each: TensorType) -> None:
    """Scales and zero points are one for each channel."""
    at = wrap_dim(axis, len(x.shape))
    for operand in each:
        if len(operand.shape) != 1:
            raise problem("rank-disagrees", what="fake_quantize", expected=1, got=operand.rank)
        need_equal(operand.shape[0], x.shape[at], "fake_quantize", at)


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
    _need_channels(x, axis, scale, zero_point)
    return _rounded(x)


@rule(aten.fake_quantize_per_channel_affine_cachemask.default)
def fake_quantize_per_channel_with_mask(
    x: TensorType,
    scale: TensorType,
    zero_point: TensorType,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> tuple[TensorType, TensorType]:
    """fake_quantize([*a, C, *b], scale: [C], zero_point: [C]) -> [*a, C, *b], b8[*a, C, *b]."""
    _need_channels(x, axis, scale, zero_point)
    return _rounded(x), elementwise([x], torch.bool)


@rule(aten._fake_quantize_learnable_per_channel_affine.default)
def fake_quantize_learning_per_channel(
    x: TensorType,
    scale: TensorType,
    zero_point: TensorType,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> TensorType:
    """fake_quantize([*a, C, *b], scale: [C], zero_point: [C]) -> [*a, C, *b]; both learn."""
    _need_channels(x, axis, scale, zero_point)
    return _rounded(x)
