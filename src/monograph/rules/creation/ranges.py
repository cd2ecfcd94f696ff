"""Sequences of numbers: how many steps lead from one end to the other."""

from __future__ import annotations

import math
from typing import Any, Final

import torch

from monograph.abstract.promotion import Number, kind, result_dtype
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import (
    Int,
    Real,
    ceil,
    ceildiv,
    eq,
    ge,
    gt,
    known,
    lt,
    require,
    to_float,
    trunc,
)
from monograph.rules.creation.factories import Device, Dtype, made, not_negative
from monograph.rules.operand_checks import refusal
from monograph.rules.registry import shared_rule


def _is_float(value: Number) -> bool:
    return isinstance(value, float | Real)


_DROPS_FRACTIONS: Final = torch.arange(0, 5, 1.7, dtype=torch.int64).numel() == 5


def arange_length(start: Any, end: Any, step: Any, dtype: torch.dtype) -> Int:
    """How many steps lead from start to before end.

    Until torch 2.13 an int64 range first drops what comes after the points of its ends.

    Raises: size-must-be-positive, operator-refused-types.
    """
    if any(isinstance(v, float) and not math.isfinite(v) for v in (start, end, step)):
        raise refusal("arange", "its ends must be finite")
    if _DROPS_FRACTIONS and dtype == torch.int64:
        start, end, step = [trunc(v) if _is_float(v) else v for v in (start, end, step)]
    floats = any(_is_float(v) for v in (start, end, step))
    if floats:
        start, end, step = [v if _is_float(v) else to_float(v) for v in (start, end, step)]
    if known(eq(step, 0)) is True:
        raise refusal("arange", "step must be nonzero")
    if known(lt(step, 0)) is True:
        distance = start - end
    else:
        require(gt(step, 0), "size-must-be-positive", size=step, what="the step of arange")
        distance = end - start
    require(ge(distance, 0), "size-must-be-positive", size=distance, what="arange")
    return ceil((end - start) / step) if floats else ceildiv(end - start, step)


@shared_rule(aten.arange.default, aten.arange.start, aten.arange.start_step)
def arange(
    end: Number, start: Number = 0, step: Number = 1, dtype: Dtype = None, **options: Any
) -> TensorType:
    """arange(start, end, step) -> [ceil((end - start) / step)]."""
    if dtype is None:
        floats = any(_is_float(v) for v in (start, end, step))
        dtype = torch.get_default_dtype() if floats else torch.int64
    if type(end) is int and type(start) is int and type(step) is int and end >= start and step > 0:
        return made((-(-(end - start) // step),), dtype, **options)
    return made((arange_length(start, end, step, dtype),), dtype, **options)


@shared_rule(aten.linspace.default, aten.linspace.Tensor_Tensor)
@shared_rule(aten.linspace.Tensor_Scalar, aten.linspace.Scalar_Tensor)
@shared_rule(aten.logspace.default, aten.logspace.Tensor_Tensor)
@shared_rule(aten.logspace.Tensor_Scalar, aten.logspace.Scalar_Tensor)
def linspace(
    start: TensorType | Number,
    end: TensorType | Number,
    steps: Int,
    dtype: Dtype = None,
    device: Device = None,
) -> TensorType:
    """linspace(start, end, n) -> [n]."""
    ends = (start, end)
    for each in ends:
        if isinstance(each, TensorType) and each.shape:
            raise problem("rank-disagrees", what="an end of linspace", expected=0, got=each.rank)
    if dtype is None and kind(result_dtype(ends)) == 3:
        dtype = torch.get_default_dtype().to_complex()
    if device is None:
        device = next((each.device for each in ends if isinstance(each, TensorType)), None)
    return made((not_negative(steps, "linspace"),), dtype, device)
