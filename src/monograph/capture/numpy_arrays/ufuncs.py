"""The ufuncs of NumPy as PyTorch's elementwise operators, on tensors of the loop's dtypes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import torch

from monograph.capture.numpy_arrays.dispatch import UFUNCS, NotRecorded

__all__: list[str] = []

Elementwise = Callable[..., Any]


def _real(function: Elementwise) -> Elementwise:
    """Of complex numbers NumPy has an order, signs and roundings that PyTorch has not."""

    def checked(*operands: Any) -> Any:
        if operands[0].is_complex():
            raise NotRecorded
        return function(*operands)

    return checked


def _but_of_truths(function: Elementwise) -> Elementwise:
    """Truths are as they are, of which PyTorch's operator has nothing."""
    return lambda t: t.clone() if t.dtype == torch.bool else function(t)


def _but_of_nan(function: Elementwise) -> Elementwise:
    """What is no number stays none, where PyTorch's operator has zeros."""
    return lambda t, *rest: torch.where(torch.isnan(t), t, function(t, *rest))


_OF_COMPLEX: Final[dict[Any, Elementwise]] = {
    np.add: torch.add,
    np.subtract: torch.sub,
    np.multiply: torch.mul,
    np.true_divide: torch.true_divide,
    np.negative: torch.neg,
    np.positive: torch.clone,
    np.conjugate: lambda t: torch.conj_physical(t) if t.is_complex() else t.clone(),
    np.absolute: _but_of_truths(torch.abs),
    np.equal: torch.eq,
    np.not_equal: torch.ne,
    np.exp: torch.exp,
    np.square: torch.square,
    np.matmul: torch.matmul,
}
_OF_REAL: Final[dict[Any, Elementwise]] = {
    np.power: torch.pow,
    np.float_power: torch.pow,
    np.floor_divide: torch.floor_divide,
    np.remainder: torch.remainder,
    np.fmod: torch.fmod,
    np.reciprocal: torch.reciprocal,
    np.sign: _but_of_nan(torch.sign),
    np.fabs: torch.abs,
    np.rint: torch.round,
    np.floor: _but_of_truths(torch.floor),
    np.ceil: _but_of_truths(torch.ceil),
    np.trunc: _but_of_truths(torch.trunc),
    np.exp2: torch.exp2,
    np.expm1: torch.expm1,
    np.log: torch.log,
    np.log2: torch.log2,
    np.log10: torch.log10,
    np.log1p: torch.log1p,
    np.logaddexp: torch.logaddexp,
    np.logaddexp2: torch.logaddexp2,
    np.sqrt: torch.sqrt,
    np.sin: torch.sin,
    np.cos: torch.cos,
    np.tan: torch.tan,
    np.arcsin: torch.asin,
    np.arccos: torch.acos,
    np.arctan: torch.atan,
    np.arctan2: torch.atan2,
    np.hypot: torch.hypot,
    np.sinh: torch.sinh,
    np.cosh: torch.cosh,
    np.tanh: torch.tanh,
    np.arcsinh: torch.asinh,
    np.arccosh: torch.acosh,
    np.arctanh: torch.atanh,
    np.degrees: torch.rad2deg,
    np.rad2deg: torch.rad2deg,
    np.radians: torch.deg2rad,
    np.deg2rad: torch.deg2rad,
    np.less: torch.lt,
    np.less_equal: torch.le,
    np.greater: torch.gt,
    np.greater_equal: torch.ge,
    np.maximum: torch.maximum,
    np.minimum: torch.minimum,
    np.fmax: torch.fmax,
    np.fmin: torch.fmin,
    np.copysign: torch.copysign,
    np.heaviside: _but_of_nan(torch.heaviside),
    np.isnan: torch.isnan,
    np.isinf: torch.isinf,
    np.isfinite: torch.isfinite,
    np.signbit: torch.signbit,
    np.logical_and: torch.logical_and,
    np.logical_or: torch.logical_or,
    np.logical_xor: torch.logical_xor,
    np.logical_not: torch.logical_not,
    np.bitwise_and: torch.bitwise_and,
    np.bitwise_or: torch.bitwise_or,
    np.bitwise_xor: torch.bitwise_xor,
    np.invert: torch.bitwise_not,
}
UFUNCS.update(_OF_COMPLEX)
UFUNCS.update({ufunc: _real(function) for ufunc, function in _OF_REAL.items()})
