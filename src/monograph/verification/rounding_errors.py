"""Rounding-error analysis: by how much two right ways to compute a result may differ.

The bound of Higham and Mary (2019): errors of operators are independent, so they grow as the square
root of their number and of the lengths of sums. Sums of half-precision numbers are taken in single.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monograph.verification.operator_traces import OperatorCall

LIKELY: Final = 8.0
"""Standard deviations: a bound that no honest result passes."""
_CONTRACTIONS: Final = (
    "mm",
    "linear",
    "matmul",
    "conv",
    "attention",
    "einsum",
    "bilinear",
    "addmv",
    "dot",
    "mv",
    "cdist",
)


def rounding_bound(calls: Iterable[OperatorCall]) -> float:
    """The relative error, of the greatest number of a result, that rounding may leave."""
    variance = 0.0
    for call in calls:
        dtype = call.dtype
        if dtype is None or not (dtype.is_floating_point or dtype.is_complex):
            continue
        unit = torch.finfo(dtype).eps / 2
        summed = min(unit, torch.finfo(torch.float32).eps / 2)
        variance += unit**2 + reduction_length(call) * summed**2
    return LIKELY * math.sqrt(variance)


def reduction_length(call: OperatorCall) -> float:
    """How many numbers are added up for one number of its result, about."""
    if not call.inputs or not call.results:
        return 1.0
    name = call.name.split(".")[1] if "." in call.name else call.name
    result = max(call.results[0].numel(), 1)
    if any(part in name for part in _CONTRACTIONS):
        others = [each for each in call.inputs if each.dim() > 1]
        sizes = [each.numel() / max(each.shape[0], 1) for each in others[1:2]]
        return max([float(each.shape[-1]) for each in others[:2]] + sizes + [1.0])
    return max([each.numel() / result for each in call.inputs] + [1.0])


__all__ = ["reduction_length", "rounding_bound"]
