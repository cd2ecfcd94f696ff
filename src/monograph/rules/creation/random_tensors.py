"""Random tensors and dropout: types say nothing of the generator, only sizes and dtypes.

Law: a dropout that drops nothing returns its argument itself, as eager does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import Number, kind, result_dtype
from monograph.abstract.tensor_type import TensorType, like
from monograph.host.overloads import aten
from monograph.integers import eq, ge, known, ne, require
from monograph.rules.creation.factories import Dtype, made, not_negative, shaped_like, sizes
from monograph.rules.elementwise.conversions import expands_to, fresh_strides
from monograph.rules.elementwise.pointwise import refused
from monograph.rules.operand_checks import check_dtype, check_rank, refusal
from monograph.rules.registry import rule, shared_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int

Generator = torch.Generator | None


@shared_rule(aten.randint.default, aten.randint.generator)
@shared_rule(aten.randint.low, aten.randint.low_generator)
def randint(size: Sequence[Int], dtype: Dtype = torch.int64, **options: Any) -> TensorType:
    """randint(low, high, [*a]) -> i64[*a]."""
    return made(sizes(size, "randint"), dtype, **options)


@shared_rule(aten.randperm.default, aten.randperm.generator)
def randperm(n: Int, dtype: Dtype = torch.int64, **options: Any) -> TensorType:
    """randperm(n) -> i64[n]."""
    return made((not_negative(n, "randperm"),), dtype, **options)


@shared_rule(aten.normal_functional.default, aten.uniform.default, aten.exponential.default)
@shared_rule(aten.geometric.default, aten.cauchy.default, aten.log_normal.default)
def filled(x: TensorType) -> TensorType:
    """uniform([*a]) -> [*a]: what the variant in place writes."""
    return TensorType(x.shape, x.dtype, x.device, fresh_strides(x, None))


# --------------------------------------------------------------------------- drawn from tensors


@shared_rule(aten.bernoulli.default, op="bernoulli")
@shared_rule(aten.poisson.default, op="poisson")
def bernoulli(x: TensorType, op: str) -> TensorType:
    """bernoulli(p: [*a]) -> [*a]; floats only."""
    check_dtype(kind(x.dtype) == 2, op, "a float tensor", x.dtype)
    return like(x)


@shared_rule(aten.bernoulli.p)
def bernoulli_p(x: TensorType) -> TensorType:
    """bernoulli([*a], p) -> [*a]."""
    return like(x)


@shared_rule(aten.bernoulli_.float)
def bernoulli_in_place(x: TensorType) -> TensorType:
    """x.bernoulli_(p): [*a] -> [*a]; only here may the probability be left out."""
    return x


@shared_rule(aten.bernoulli.Tensor)
def bernoulli_tensor(x: TensorType, p: TensorType) -> TensorType:
    """bernoulli([*a], [*p]) -> [*a]; p broadcasts to a."""
    expands_to(p.shape, x.shape, "bernoulli")
    return filled(x)


@shared_rule(aten.multinomial.default)
def multinomial(x: TensorType, num_samples: Int, replacement: bool) -> TensorType:
    """multinomial([*a, n], k) -> i64[*a, k]; k ≤ n unless values may repeat."""
    check_rank(x.rank in (1, 2), "multinomial", "1 or 2 dimensions", x.rank)
    bernoulli(x, "multinomial")
    require(ge(num_samples, 1), "size-must-be-positive", size=num_samples, what="num_samples")
    if not replacement:
        classes = x.shape[-1]
        reason = f"it cannot draw {num_samples} of {classes} without repeating"
        require(ge(classes, num_samples), "operator-refused-types", op="multinomial", reason=reason)
    return like(x, (*x.shape[:-1], num_samples), torch.int64)


@shared_rule(aten.normal.Tensor_float, aten.normal.float_Tensor, aten.normal.Tensor_Tensor)
def normal(mean: TensorType | float, std: TensorType | float) -> TensorType:
    """normal([*a], [*b]) -> [*broadcast(a, b)]; one of the two may be a number."""
    if not isinstance(mean, TensorType):
        return like(cast("TensorType", std))
    if not isinstance(std, TensorType):
        return like(mean)
    return like(mean, broadcast_shapes(mean.shape, std.shape))


# ----------------------------------------------------------------------------------- dropout


@rule(aten.dropout.default, aten.alpha_dropout.default)
@rule(aten.feature_dropout.default, aten.feature_alpha_dropout.default)
def dropout(input: TensorType, p: float, train: bool) -> TensorType:
    """dropout([*a], p, train) -> [*a]: the tensor itself where nothing is dropped."""
    if not train or p == 0:
        return input
    if not 0 <= p <= 1:
        raise refusal("dropout", f"{p} is no probability: 0 … 1")
    if kind(input.dtype) < 2:
        raise refused(aten.dropout.default, input.dtype)
    return elementwise((input,), input.dtype)


@shared_rule(aten.rrelu.default)
def rrelu(x: TensorType, lower: Number, upper: Number) -> TensorType:
    """rrelu([*a], lower, upper) -> [*a], row after row."""
    if kind(x.dtype) != 2:
        raise refused(aten.rrelu.default, x.dtype)
    if isinstance(lower, float | int) and isinstance(upper, float | int) and lower > upper:
        raise refusal("rrelu", f"its lower bound {lower} is above its upper bound {upper}")
    return shaped_like(x, memory_format=torch.contiguous_format)


@rule(aten.native_dropout.default)
def native_dropout(
    input: TensorType, p: float, train: bool | None
) -> tuple[TensorType, TensorType]:
    """native_dropout([*a], p, train) -> ([*a], mask: bool[*a]); nothing happens to no elements."""
    if known(eq(input.numel(), 0)) is True:
        return input, shaped_like(input)
    require(
        ne(input.numel(), 0), "size-must-be-positive", size=input.numel(), what="native_dropout"
    )
    mask = shaped_like(input, torch.bool)
    if train is False:
        return shaped_like(input), mask
    return elementwise((input, mask), input.dtype), mask


@rule(aten.native_dropout_backward.default)
def native_dropout_backward(grad_output: TensorType, mask: TensorType, scale: float) -> TensorType:
    """native_dropout_backward([*a], bool[*a], scale) -> [*a]."""
    return elementwise((grad_output, mask), result_dtype((grad_output, mask, scale)))
