# table
"""Elementwise operators: one line each, saying the dtype they compute and the kinds they take.

Shape, device and strides of all of them are what `abstract/elementwise.py` gives. An operator is in
one of three tables: of one tensor; of two operands, each a tensor or a number; of more.

Source: observed results for every pair of dtypes and categories, torch 2.13.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import Number, float_dtype, kind, number_dtype, result_dtype
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.rules.registry import RULES, Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.diagnostics import MonographError
    from monograph.rules.registry import OpOverload


Operand = TensorType | Number
Kinds = frozenset[int]

BOOL, INTEGER, FLOAT, COMPLEX = 0, 1, 2, 3
ANY: Kinds = frozenset((BOOL, INTEGER, FLOAT, COMPLEX))
NUMBERS: Kinds = frozenset((INTEGER, FLOAT, COMPLEX))
REALS: Kinds = frozenset((BOOL, INTEGER, FLOAT))
REAL_NUMBERS: Kinds = frozenset((INTEGER, FLOAT))
FLOATS: Kinds = frozenset((FLOAT,))
FLOATS_AND_COMPLEX: Kinds = frozenset((FLOAT, COMPLEX))
BITS: Kinds = frozenset((BOOL, INTEGER))
INTEGERS: Kinds = frozenset((INTEGER,))

_KIND_NAMES = ("bool", "integer", "float", "complex")


# What becomes of the promoted dtype.
def same(dtype: torch.dtype) -> torch.dtype:
    """The operands' common dtype."""
    return dtype


def boolean(_: torch.dtype) -> torch.dtype:
    """An answer per element."""
    return torch.bool


def real_part(dtype: torch.dtype) -> torch.dtype:
    """The dtype of a complex number's parts."""
    return dtype.to_real() if dtype.is_complex else dtype


def real_float(dtype: torch.dtype) -> torch.dtype:
    """A float for everything."""
    return real_part(float_dtype(dtype))


def counted(dtype: torch.dtype) -> torch.dtype:
    """Bools multiply as integers."""
    return torch.int64 if dtype == torch.bool else dtype


def double(dtype: torch.dtype) -> torch.dtype:
    """The widest precision."""
    return torch.complex128 if dtype.is_complex else torch.float64


def refused(overload: OpOverload, dtype: torch.dtype) -> MonographError:
    """The refusal of a dtype."""
    name = str(dtype).removeprefix("torch.")
    return problem(
        "operator-refused-types",
        op=str(overload.overloadpacket),
        reason=f"it is not defined for {_KIND_NAMES[kind(dtype)]} tensors ({name})",
    )


_NUMBER_ASIDE = frozenset(
    (
        *(aten.clamp_max.default, aten.clamp_min.default),
        *(aten.pow.Tensor_Scalar, aten.float_power.Tensor_Scalar),
    )
)
"""What is computed of a tensor alone, whose number is no tensor of another shape."""
_NUMBER_INSIDE = frozenset(
    (
        *(aten.deg2rad.default, aten.rad2deg.default, aten.isreal.default),
        *(aten.nan_to_num.default, aten.relu6.default, aten.hardtanh.default),
    )
)
"""What is computed with such a number, though it is given a tensor alone."""
_FILLED = frozenset((aten.isinf.default, aten.isfinite.default))
"""What is a constant of integers: filled, in the layout of its tensor."""


def _add(overload: OpOverload, function: Callable[..., Any], depth: int = 2) -> None:
    RULES.add(Rule(overload, function, __file__, sys._getframe(depth).f_lineno))


def unary(
    result: Callable[[torch.dtype], torch.dtype], kinds: Kinds, *overloads: OpOverload
) -> None:
    """f(x: [*a], ...) -> [*a]; further arguments are numbers that do not matter."""
    for overload in overloads:
        _add(overload, _unary(overload, result, kinds))


def _unary(
    overload: OpOverload, result: Callable[[torch.dtype], torch.dtype], kinds: Kinds
) -> Callable[..., TensorType]:
    with_number, is_filled = overload in _NUMBER_INSIDE, overload in _FILLED

    def rule(x: TensorType, *_: object, **__: object) -> TensorType:
        dtype = x.dtype
        if kind(dtype) not in kinds:
            raise refused(overload, dtype)
        like = with_number or (is_filled and not dtype.is_floating_point)
        return elementwise((x,), result(dtype), with_number=like)

    return rule


def binary(
    result: Callable[[torch.dtype], torch.dtype], kinds: Kinds, *overloads: OpOverload
) -> None:
    """f(x: [*a] | number, y: [*b] | number, ...) -> [*broadcast(a, b)]."""
    for overload in overloads:
        _add(overload, _binary(overload, result, kinds))


def _binary(
    overload: OpOverload, result: Callable[[torch.dtype], torch.dtype], kinds: Kinds
) -> Callable[..., TensorType]:
    def rule(x: Any, other: Any, *_: object, **__: object) -> TensorType:
        if other.__class__ is not TensorType:
            return _finish(overload, result, kinds, (x,), result_dtype((x, other)))
        if x.__class__ is not TensorType:
            return _finish(overload, result, kinds, (other,), result_dtype((x, other)))
        dtype = x.dtype
        if dtype is not other.dtype:
            dtype = result_dtype((x, other))
        return _finish(overload, result, kinds, (x, other), dtype)

    return rule


def _finish(
    overload: OpOverload,
    result: Callable[[torch.dtype], torch.dtype],
    kinds: Kinds,
    tensors: tuple[TensorType, ...],
    dtype: torch.dtype,
) -> TensorType:
    if kinds is not ANY and kind(dtype) not in kinds:
        raise refused(overload, dtype)
    with_number = len(tensors) == 1 and overload not in _NUMBER_ASIDE
    return elementwise(tensors, result(dtype), with_number=with_number)


def without_bools(*overloads: OpOverload) -> None:
    """f(x: [*a] | number, y: [*b] | number) -> [*broadcast(a, b)]; neither may be bool."""
    for overload in overloads:
        _add(overload, _without_bools(overload))


def _without_bools(overload: OpOverload) -> Callable[..., TensorType]:
    combine = _binary(overload, same, ANY)

    def rule(x: Any, other: Any, *_: object, **__: object) -> TensorType:
        if torch.bool in (dtype_of(x), dtype_of(other)):
            raise refused(overload, torch.bool)
        return combine(x, other)

    return rule


def dtype_of(operand: Operand) -> torch.dtype:
    """A tensor's dtype, or the one a number stands for."""
    return operand.dtype if isinstance(operand, TensorType) else number_dtype(operand)


# ------------------------------------------------------------------------------ of one tensor
unary(same, NUMBERS, aten.neg.default, aten.negative.default)
unary(real_part, NUMBERS, aten.abs.default, aten.absolute.default)
unary(counted, ANY, aten.square.default)
unary(same, ANY, aten.sgn.default, aten.nan_to_num.default)
unary(same, REALS, aten.sign.default)
unary(same, BITS, aten.bitwise_not.default)
unary(
    float_dtype,
    ANY,
    *(aten.exp.default, aten.exp2.default, aten.expm1.default),
    *(aten.log.default, aten.log2.default, aten.log10.default, aten.log1p.default),
    *(aten.sqrt.default, aten.rsqrt.default, aten.reciprocal.default),
    *(aten.sin.default, aten.cos.default, aten.tan.default),
    *(aten.sinh.default, aten.cosh.default, aten.tanh.default),
    *(aten.asin.default, aten.acos.default, aten.atan.default),
    *(aten.asinh.default, aten.acosh.default, aten.atanh.default),
    *(aten.arcsin.default, aten.arccos.default, aten.arctan.default),
    *(aten.arcsinh.default, aten.arccosh.default, aten.arctanh.default),
    *(aten.sigmoid.default, aten.special_expit.default),
    *(aten.sinc.default, aten.special_sinc.default),
    *(aten.special_expm1.default, aten.special_exp2.default, aten.special_log1p.default),
)
unary(
    float_dtype,
    REALS,
    *(aten.erf.default, aten.erfc.default, aten.erfinv.default),
    *(aten.special_erf.default, aten.special_erfc.default, aten.special_erfinv.default),
    *(aten.special_erfcx.default, aten.special_entr.default),
    *(aten.lgamma.default, aten.digamma.default, aten.special_gammaln.default),
    *(aten.special_digamma.default, aten.special_psi.default),
    *(aten.logit.default, aten.special_logit.default),
    *(aten.deg2rad.default, aten.rad2deg.default),
    *(aten.i0.default, aten.special_i0.default, aten.special_i0e.default),
    *(aten.special_i1.default, aten.special_i1e.default),
    *(aten.special_ndtr.default, aten.special_ndtri.default, aten.special_log_ndtr.default),
    *(aten.special_bessel_j0.default, aten.special_bessel_j1.default),
    *(aten.special_bessel_y0.default, aten.special_bessel_y1.default),
)
unary(real_float, ANY, aten.angle.default)
unary(
    same,
    REAL_NUMBERS,
    *(aten.relu.default, aten.relu6.default, aten.threshold.default, aten.hardtanh.default),
    *(aten.floor.default, aten.ceil.default, aten.round.default),
    *(aten.trunc.default, aten.fix.default),
)
unary(same, FLOATS_AND_COMPLEX, aten.silu.default)
unary(
    same,
    FLOATS,
    *(aten.leaky_relu.default, aten.elu.default, aten.celu.default),
    *(aten.selu.default, aten.softplus.default, aten.hardswish.default),
    *(aten.hardsigmoid.default, aten.mish.default),
    *(aten.hardshrink.default,),
    *(aten.frac.default, aten.round.decimals, aten.special_round.default),
)
unary(boolean, ANY, aten.logical_not.default)
unary(boolean, ANY, aten.isnan.default, aten.isinf.default, aten.isfinite.default)
unary(boolean, ANY, aten.isreal.default)
unary(boolean, REALS, aten.signbit.default, aten.isposinf.default, aten.isneginf.default)

# ---------------------------------------------------------------------------- of two operands
binary(same, ANY, aten.add.Tensor, aten.add.Scalar)
binary(same, ANY, aten.mul.Tensor, aten.mul.Scalar, aten.multiply.Tensor, aten.multiply.Scalar)
without_bools(aten.sub.Tensor, aten.sub.Scalar, aten.subtract.Tensor, aten.subtract.Scalar)
without_bools(aten.rsub.Tensor, aten.rsub.Scalar)
binary(float_dtype, ANY, aten.div.Tensor, aten.div.Scalar)
binary(float_dtype, ANY, aten.divide.Tensor, aten.divide.Scalar)
binary(float_dtype, ANY, aten.true_divide.Tensor, aten.true_divide.Scalar)
binary(same, NUMBERS, aten.pow.Tensor_Tensor)
binary(same, ANY, aten.pow.Tensor_Scalar)
binary(double, ANY, aten.float_power.Tensor_Tensor, aten.float_power.Tensor_Scalar)
binary(
    same,
    REAL_NUMBERS,
    *(aten.fmod.Tensor, aten.fmod.Scalar),
    *(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor),
    *(aten.floor_divide.default, aten.floor_divide.Scalar),
    *(aten.clamp_min.default, aten.clamp_max.default),
)
binary(
    same,
    REALS,
    *(aten.maximum.default, aten.minimum.default, aten.max.other, aten.min.other),
    *(aten.fmax.default, aten.fmin.default, aten.clamp_min.Tensor, aten.clamp_max.Tensor),
)
binary(
    float_dtype,
    REALS,
    *(aten.atan2.default, aten.arctan2.default, aten.copysign.Tensor, aten.copysign.Scalar),
    *(aten.xlogy.Tensor, aten.xlogy.Scalar_Other, aten.xlogy.Scalar_Self),
    *(aten.special_xlogy.default, aten.special_xlogy.other_scalar),
    *(aten.special_xlogy.self_scalar, aten.special_xlog1py.default),
    *(aten.special_xlog1py.other_scalar, aten.special_xlog1py.self_scalar),
    *(aten.special_zeta.default, aten.special_zeta.other_scalar, aten.special_zeta.self_scalar),
)
binary(
    same,
    FLOATS,
    *(aten.hypot.default, aten.logaddexp2.default, aten.nextafter.default),
    *(aten.igamma.default, aten.igammac.default),
    *(aten.special_gammainc.default, aten.special_gammaincc.default),
)
binary(same, FLOATS_AND_COMPLEX, aten.logaddexp.default)
binary(same, FLOATS_AND_COMPLEX, aten.sigmoid_backward.default, aten.tanh_backward.default)
binary(same, FLOATS_AND_COMPLEX, aten.silu_backward.default)
binary(same, FLOATS, aten.gelu_backward.default)
binary(same, REAL_NUMBERS, aten.threshold_backward.default)
binary(
    boolean,
    ANY,
    *(aten.eq.Tensor, aten.eq.Scalar, aten.ne.Tensor, aten.ne.Scalar),
    *(aten.not_equal.Tensor, aten.not_equal.Scalar),
    *(aten.logical_and.default, aten.logical_or.default, aten.logical_xor.default),
)
binary(
    boolean,
    REALS,
    *(aten.lt.Tensor, aten.lt.Scalar, aten.le.Tensor, aten.le.Scalar),
    *(aten.gt.Tensor, aten.gt.Scalar, aten.ge.Tensor, aten.ge.Scalar),
    *(aten.less.Tensor, aten.less.Scalar, aten.less_equal.Tensor, aten.less_equal.Scalar),
    *(aten.greater.Tensor, aten.greater.Scalar),
    *(aten.greater_equal.Tensor, aten.greater_equal.Scalar),
)
binary(
    same,
    BITS,
    *(aten.bitwise_and.Tensor, aten.bitwise_and.Scalar, aten.bitwise_and.Scalar_Tensor),
    *(aten.bitwise_or.Tensor, aten.bitwise_or.Scalar, aten.bitwise_or.Scalar_Tensor),
    *(aten.bitwise_xor.Tensor, aten.bitwise_xor.Scalar, aten.bitwise_xor.Scalar_Tensor),
    *(aten.__and__.Tensor, aten.__and__.Scalar, aten.__or__.Tensor, aten.__or__.Scalar),
    *(aten.__xor__.Tensor, aten.__xor__.Scalar),
)
binary(
    same,
    INTEGERS,
    *(aten.bitwise_left_shift.Tensor, aten.bitwise_left_shift.Tensor_Scalar),
    *(aten.bitwise_left_shift.Scalar_Tensor, aten.bitwise_right_shift.Tensor),
    *(aten.bitwise_right_shift.Tensor_Scalar, aten.bitwise_right_shift.Scalar_Tensor),
    *(aten.__lshift__.Tensor, aten.__lshift__.Scalar),
    *(aten.__rshift__.Tensor, aten.__rshift__.Scalar),
    *(aten.gcd.default, aten.lcm.default),
)
