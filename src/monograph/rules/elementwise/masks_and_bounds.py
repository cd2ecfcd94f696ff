"""Elementwise operators whose operands differ in role: bounds, conditions, masks, weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import float_dtype, kind, number_dtype, result_dtype
from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import eq, require
from monograph.rules.elementwise.pointwise import REAL_NUMBERS, REALS, Number, double, refused
from monograph.rules.operand_checks import (
    check_dtype,
    check_rank,
    need_dimensions,
    need_same_dtype,
    refusal,
)
from monograph.rules.registry import rule, shared_rule

if TYPE_CHECKING:
    from monograph.integers import Int


@rule(aten.clamp.default, aten.clip.default)
def clamp(x: TensorType, min: Number | None = None, max: Number | None = None) -> TensorType:
    """clamp([*a], low, high) -> [*a]."""
    if min is None and max is None:
        raise refusal("clamp", "it needs `min` or `max`")
    dtype = result_dtype((x, min, max))
    if kind(dtype) not in REAL_NUMBERS:
        raise refused(aten.clamp.default, dtype)
    return elementwise((x,), dtype)


@rule(aten.clamp.Tensor, aten.clip.Tensor)
def clamp_tensor(
    x: TensorType, min: TensorType | None = None, max: TensorType | None = None
) -> TensorType:
    """clamp([*a], [*b], [*c]) -> [*broadcast(a, b, c)]."""
    if min is None and max is None:
        raise refusal("clamp", "it needs `min` or `max`")
    operands = [t for t in (x, min, max) if t is not None]
    dtype = result_dtype(operands)
    if kind(dtype) not in REALS:
        raise refused(aten.clamp.Tensor, dtype)
    return elementwise(operands, dtype)


@rule(aten.where.self, aten.where.ScalarOther, aten.where.ScalarSelf, aten.where.Scalar)
def where(condition: TensorType, x: TensorType | Number, other: TensorType | Number) -> TensorType:
    """where([*c], [*a] | number, [*b] | number) -> [*broadcast(c, a, b)]."""
    check_dtype(
        condition.dtype in (torch.bool, torch.uint8), "where", "a bool condition", condition.dtype
    )
    dtype = result_dtype((x, other))
    operands = [t for t in (condition, x, other) if isinstance(t, TensorType)]
    return elementwise(operands, dtype, with_number=len(operands) < 3)


@rule(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(x: TensorType, mask: TensorType, value: TensorType | Number) -> TensorType:
    """masked_fill([*a], bool[*m], []) -> [*broadcast(a, m)], contiguous."""
    check_dtype(mask.dtype == torch.bool, "masked_fill", "a bool mask", mask.dtype)
    if isinstance(value, TensorType) and value.shape:
        raise problem("rank-disagrees", what="value", expected=0, got=value.rank)
    return like(x, broadcast_shapes(x.shape, mask.shape))


@rule(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(x: TensorType, end: TensorType, weight: TensorType | Number) -> TensorType:
    """lerp([*a], [*b], [*w] | number) -> [*broadcast(a, b, w)]."""
    need_same_dtype("lerp", x, end)
    if kind(x.dtype) < 2:
        raise refused(aten.lerp.Scalar, x.dtype)
    if not isinstance(weight, TensorType):
        return elementwise((x, end), x.dtype)
    if weight.shape:
        need_same_dtype("lerp", x, weight)
    return elementwise((x, end, weight), x.dtype)


@shared_rule(aten.addcmul.default)
def addcmul(x: TensorType, tensor1: TensorType, tensor2: TensorType) -> TensorType:
    """addcmul([*a], [*b], [*c]) -> [*broadcast(a, b, c)]."""
    operands = (x, tensor1, tensor2)
    return elementwise(operands, result_dtype(operands))


@shared_rule(aten.addcdiv.default)
def addcdiv(x: TensorType, tensor1: TensorType, tensor2: TensorType) -> TensorType:
    """addcdiv([*a], [*b], [*c]) -> [*broadcast(a, b, c)]; the quotient is no integer."""
    if kind(tensor1.dtype) < 2 and kind(tensor2.dtype) < 2:
        raise refused(aten.addcdiv.default, tensor1.dtype)
    operands = (x, tensor1, tensor2)
    return elementwise(operands, result_dtype(operands))


@rule(aten.div.Tensor_mode, aten.div.Scalar_mode)
@rule(aten.divide.Tensor_mode, aten.divide.Scalar_mode)
def div_mode(x: TensorType, other: TensorType | Number, *, rounding_mode: str | None) -> TensorType:
    """div([*a], [*b] | number) -> [*broadcast(a, b)]; a rounded quotient keeps the dtype."""
    dtype = result_dtype((x, other))
    if rounding_mode is None:
        dtype = float_dtype(dtype)
    elif kind(dtype) not in REAL_NUMBERS:
        raise refused(aten.div.Tensor_mode, dtype)
    operands = [t for t in (x, other) if isinstance(t, TensorType)]
    return elementwise(operands, dtype, with_number=len(operands) < 2)


@shared_rule(aten.isclose.default)
def isclose(x: TensorType, other: TensorType, rtol: float, atol: float) -> TensorType:
    """isclose([*a], [*b]) -> bool[*broadcast(a, b)]; both of one dtype."""
    if rtol < 0 or atol < 0:
        raise refusal("isclose", "a tolerance is at least 0")
    need_same_dtype("isclose", x, other)
    return elementwise((x, other), torch.bool)


@rule(aten.heaviside.default)
def heaviside(x: TensorType, values: TensorType) -> TensorType:
    """heaviside([*a], [*b]) -> [*broadcast(a, b)]; both of one dtype."""
    need_same_dtype("heaviside", x, values)
    if kind(x.dtype) not in REALS:
        raise refused(aten.heaviside.default, x.dtype)
    return elementwise((x, values), x.dtype)


@shared_rule(aten.isin.Tensor_Tensor, aten.isin.Tensor_Scalar)
def isin(
    elements: TensorType, test_elements: TensorType | None = None, test_element: Number = 0
) -> TensorType:
    """isin([*a], [*t] | number) -> bool[*a], contiguous."""
    tested = number_dtype(test_element) if test_elements is None else test_elements.dtype
    for dtype in (elements.dtype, tested):
        if kind(dtype) not in REAL_NUMBERS:
            raise refused(aten.isin.Tensor_Tensor, dtype)
    return like(elements, dtype=torch.bool)


@rule(aten.prelu.default)
def prelu(x: TensorType, weight: TensorType) -> TensorType:
    """prelu([n, c, *a], [c] | [1] | []) -> [n, c, *a]."""
    need_same_dtype("prelu", x, weight)
    check_rank(weight.rank <= 1, "weight", "0 or 1 dimensions", weight.rank)
    count = weight.shape[0] if weight.shape else 1
    if not (isinstance(count, int) and count == 1):
        channels: Int = x.shape[1] if x.rank > 1 else 1
        require(eq(count, channels), "sizes-disagree", left=channels, right=count, operator="prelu")
    return elementwise((x,), x.dtype)


@rule(aten._prelu_kernel.default)
def _prelu_kernel(x: TensorType, weight: TensorType) -> TensorType:
    """_prelu_kernel([*a], [*b]) -> [*broadcast(a, b)]."""
    need_same_dtype("_prelu_kernel", x, weight)
    return elementwise((x, weight), x.dtype)


@rule(aten.glu.default)
def glu(x: TensorType, dim: int = -1) -> TensorType:
    """glu([*a, 2*n, *b]) -> [*a, n, *b]."""
    need_dimensions(x, 1, "glu")
    dim = wrap_dim(dim, x.rank)
    size = x.shape[dim]
    half = size // 2
    require(
        eq(half * 2, size), "sizes-disagree", left=size, right=half * 2, operator="glu", dim=dim
    )
    shape = (*x.shape[:dim], half, *x.shape[dim + 1 :])
    halves = TensorType(shape, x.dtype, x.device, None if x.strides is None else x.stride())
    return elementwise((halves,), x.dtype)


@rule(aten.frexp.Tensor)
def frexp(x: TensorType) -> tuple[TensorType, TensorType]:
    """frexp([*a]) -> (mantissa: [*a], exponent: i32[*a])."""
    if kind(x.dtype) != 2:
        raise refused(aten.frexp.Tensor, x.dtype)
    return elementwise((x,), x.dtype), elementwise((x,), torch.int32)


@rule(aten.gelu.default)
def gelu(x: TensorType, *, approximate: str = "none") -> TensorType:
    """gelu([*a]) -> [*a]."""
    if kind(x.dtype) != 2:
        raise refused(aten.gelu.default, x.dtype)
    if approximate not in {"none", "tanh"}:
        raise refusal("gelu", f"{approximate!r} is no approximation: 'none' or 'tanh'")
    return elementwise((x,), x.dtype)


@rule(aten.softshrink.default)
def softshrink(x: TensorType, lambd: Number = 0.5) -> TensorType:
    """softshrink([*a], lambd) -> [*a]; lambd is at least 0."""
    if kind(x.dtype) != 2:
        raise refused(aten.softshrink.default, x.dtype)
    if isinstance(lambd, float | int) and lambd < 0:
        raise refusal("softshrink", f"lambd is {lambd}, and it is at least 0")
    return elementwise((x,), x.dtype)


@rule(aten.polygamma.default, aten.special_polygamma.default)
def polygamma(n: int, x: TensorType) -> TensorType:
    """polygamma(n, [*a]) -> [*a]."""
    return elementwise((x,), float_dtype(x.dtype))


@rule(aten.mvlgamma.default)
def mvlgamma(x: TensorType, p: int) -> TensorType:
    """mvlgamma([*a], p) -> [*a], contiguous."""
    if x.dtype == torch.bool:
        raise refused(aten.mvlgamma.default, x.dtype)
    return like(x, dtype=float_dtype(x.dtype))


@rule(aten.log_sigmoid.default)
def log_sigmoid(x: TensorType) -> TensorType:
    """log_sigmoid([*a]) -> [*a], contiguous."""
    if kind(x.dtype) != 2:
        raise refused(aten.log_sigmoid.default, x.dtype)
    return like(x)


@rule(aten.log_sigmoid_forward.default)
def log_sigmoid_forward(x: TensorType) -> tuple[TensorType, TensorType]:
    """log_sigmoid_forward([*a]) -> ([*a], buffer: [*a]), contiguous."""
    return log_sigmoid(x), like(x)


@rule(aten.pow.Scalar)
def pow(x: Number, exponent: TensorType) -> TensorType:
    """pow(number, [*a]) -> [*a], contiguous."""
    return like(exponent, dtype=result_dtype((x, exponent)))


@rule(aten.ldexp.Tensor)
def ldexp(x: TensorType, other: TensorType) -> TensorType:
    """ldexp([*a], [*b]) -> [*broadcast(a, b)], which lies as `x * 2.0 ** other`."""
    return elementwise((x, pow(2.0, other)), float_dtype(result_dtype((x, other))))


@rule(aten.float_power.Scalar)
def float_power(x: Number, exponent: TensorType) -> TensorType:
    """float_power(number, [*a]) -> f64[*a], contiguous."""
    return like(exponent, dtype=double(result_dtype((x, exponent))))
