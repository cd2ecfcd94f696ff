"""Random tensors and dropout: types say nothing of the generator, only sizes and dtypes.

Law: a dropout that drops nothing returns its argument itself, as eager does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import Number, kind, result_dtype
from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.integers import eq, ge, known, ne, require
from monograph.rules.creation.factories import (
    Device,
    Dtype,
    Format,
    Layout,
    made,
    not_negative,
    shaped_like,
    sizes,
    strided,
)
from monograph.rules.elementwise.conversions import expands_to, fresh_strides
from monograph.rules.elementwise.pointwise import refused
from monograph.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int

aten = torch.ops.aten
Generator = torch.Generator | None


# ------------------------------------------------------------------------------- sizes given


@rule(aten.rand.generator, aten.randn.generator)
def rand(
    size: Sequence[Int],
    *,
    generator: Generator,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """rand([*a]) -> [*a]."""
    strided(layout)
    return made(sizes(size, "rand"), dtype, device)


@rule(aten.randint.default)
def randint(
    high: Int,
    size: Sequence[Int],
    *,
    dtype: Dtype = torch.int64,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """randint(high, [*a]) -> i64[*a]."""
    strided(layout)
    return made(sizes(size, "randint"), dtype, device)


@rule(aten.randint.generator)
def randint_generator(
    high: Int,
    size: Sequence[Int],
    *,
    generator: Generator,
    dtype: Dtype = torch.int64,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """randint(high, [*a]) -> i64[*a]."""
    return randint(high, size, dtype=dtype, layout=layout, device=device)


@rule(aten.randint.low)
def randint_low(
    low: Int,
    high: Int,
    size: Sequence[Int],
    *,
    dtype: Dtype = torch.int64,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """randint(low, high, [*a]) -> i64[*a]."""
    return randint(high, size, dtype=dtype, layout=layout, device=device)


@rule(aten.randint.low_generator)
def randint_low_generator(
    low: Int,
    high: Int,
    size: Sequence[Int],
    *,
    generator: Generator,
    dtype: Dtype = torch.int64,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """randint(low, high, [*a]) -> i64[*a]."""
    return randint(high, size, dtype=dtype, layout=layout, device=device)


@rule(aten.randperm.default)
def randperm(
    n: Int,
    *,
    dtype: Dtype = torch.int64,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """randperm(n) -> i64[n]."""
    return made((not_negative(n, "randperm"),), dtype, device)


@rule(aten.randperm.generator)
def randperm_generator(
    n: Int,
    *,
    generator: Generator,
    dtype: Dtype = torch.int64,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """randperm(n) -> i64[n]."""
    return made((not_negative(n, "randperm"),), dtype, device)


@rule(aten.normal.float_float)
def normal(
    mean: float,
    std: float,
    size: Sequence[Int],
    *,
    generator: Generator = None,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """normal(mean, std, [*a]) -> [*a]."""
    return made(sizes(size, "normal"), dtype, device)


# ----------------------------------------------------------------------------- like a tensor


@rule(aten.rand_like.generator, aten.randn_like.generator)
def rand_like(
    x: TensorType,
    *,
    generator: Generator,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """rand_like([*a]) -> [*a]."""
    return shaped_like(x, dtype, layout, device, memory_format)


@rule(aten.randint_like.default, aten.randint_like.Tensor)
def randint_like(
    x: TensorType,
    high: TensorType | Int,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """randint_like([*a], high) -> [*a]."""
    return shaped_like(x, dtype, layout, device, memory_format)


@rule(aten.randint_like.generator, aten.randint_like.Tensor_generator)
def randint_like_generator(
    x: TensorType,
    high: TensorType | Int,
    *,
    generator: Generator,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """randint_like([*a], high) -> [*a]."""
    return shaped_like(x, dtype, layout, device, memory_format)


@rule(aten.randint_like.low_dtype)
def randint_like_low(
    x: TensorType,
    low: Int,
    high: Int,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """randint_like([*a], low, high) -> [*a]."""
    return shaped_like(x, dtype, layout, device, memory_format)


@rule(aten.randint_like.low_generator_dtype)
def randint_like_low_generator(
    x: TensorType,
    low: Int,
    high: Int,
    *,
    generator: Generator,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """randint_like([*a], low, high) -> [*a]."""
    return shaped_like(x, dtype, layout, device, memory_format)


@rule(aten.normal_functional.default)
def normal_functional(
    x: TensorType, mean: float = 0.0, std: float = 1.0, *, generator: Generator = None
) -> TensorType:
    """normal_functional([*a]) -> [*a]."""
    return _filled(x)


@rule(aten.uniform.default)
def uniform(
    x: TensorType, from_: float = 0.0, to: float = 1.0, *, generator: Generator = None
) -> TensorType:
    """uniform([*a]) -> [*a]."""
    return _filled(x)


@rule(aten.exponential.default)
def exponential(x: TensorType, lambd: float = 1.0, *, generator: Generator = None) -> TensorType:
    """exponential([*a]) -> [*a]."""
    return _filled(x)


@rule(aten.geometric.default)
def geometric(x: TensorType, p: float, *, generator: Generator = None) -> TensorType:
    """geometric([*a], p) -> [*a]."""
    return _filled(x)


@rule(aten.cauchy.default)
def cauchy(
    x: TensorType, median: float = 0.0, sigma: float = 1.0, *, generator: Generator = None
) -> TensorType:
    """cauchy([*a]) -> [*a]."""
    return _filled(x)


@rule(aten.log_normal.default)
def log_normal(
    x: TensorType, mean: float = 1.0, std: float = 2.0, *, generator: Generator = None
) -> TensorType:
    """log_normal([*a]) -> [*a]."""
    return _filled(x)


def _filled(x: TensorType) -> TensorType:
    return TensorType(x.shape, x.dtype, x.device, fresh_strides(x, None))


# --------------------------------------------------------------------------- drawn from tensors


@rule(aten.bernoulli.default)
def bernoulli(x: TensorType, *, generator: Generator = None) -> TensorType:
    """bernoulli(p: [*a]) -> [*a]."""
    return _floats_only(x, "bernoulli")


@rule(aten.bernoulli.p)
def bernoulli_p(x: TensorType, p: float, *, generator: Generator = None) -> TensorType:
    """bernoulli([*a], p) -> [*a]."""
    return like(x)


@rule(aten.bernoulli_.float)
def bernoulli_in_place(x: TensorType, p: float = 0.5, *, generator: Generator = None) -> TensorType:
    """x.bernoulli_(p): [*a] -> [*a]; only here may the probability be left out."""
    return x


@rule(aten.bernoulli.Tensor)
def bernoulli_tensor(x: TensorType, p: TensorType, *, generator: Generator = None) -> TensorType:
    """bernoulli([*a], [*p]) -> [*a]; p broadcasts to a."""
    expands_to(p.shape, x.shape, "bernoulli")
    return _filled(x)


def _floats_only(x: TensorType, name: str) -> TensorType:
    if kind(x.dtype) != 2:
        raise problem("dtype-disagrees", what=name, expected="a float tensor", got=x.dtype)
    return like(x)


@rule(aten.multinomial.default)
def multinomial(
    x: TensorType, num_samples: Int, replacement: bool = False, *, generator: Generator = None
) -> TensorType:
    """multinomial([*a, n], k) -> i64[*a, k]; k ≤ n unless values may repeat."""
    if x.rank not in (1, 2):
        raise problem(
            "rank-disagrees", what="multinomial", expected="1 or 2 dimensions", got=x.rank
        )
    _floats_only(x, "multinomial")
    require(ge(num_samples, 1), "size-must-be-positive", size=num_samples, what="num_samples")
    if not replacement:
        classes = x.shape[-1]
        reason = f"it cannot draw {num_samples} of {classes} without repeating"
        require(ge(classes, num_samples), "operator-refused-types", op="multinomial", reason=reason)
    return like(x, (*x.shape[:-1], num_samples), torch.int64)


@rule(aten.normal.Tensor_float)
def normal_tensor_float(
    mean: TensorType, std: float = 1.0, *, generator: Generator = None
) -> TensorType:
    """normal([*a], std) -> [*a]."""
    return like(mean)


@rule(aten.normal.float_Tensor)
def normal_float_tensor(mean: float, std: TensorType, *, generator: Generator = None) -> TensorType:
    """normal(mean, [*a]) -> [*a]."""
    return like(std)


@rule(aten.normal.Tensor_Tensor)
def normal_tensor_tensor(
    mean: TensorType, std: TensorType, *, generator: Generator = None
) -> TensorType:
    """normal([*a], [*b]) -> [*broadcast(a, b)]."""
    return like(mean, broadcast_shapes(mean.shape, std.shape))


@rule(aten.poisson.default)
def poisson(x: TensorType, generator: Generator = None) -> TensorType:
    """poisson([*a]) -> [*a]."""
    return _floats_only(x, "poisson")


# ----------------------------------------------------------------------------------- dropout


@rule(aten.dropout.default, aten.alpha_dropout.default)
@rule(aten.feature_dropout.default, aten.feature_alpha_dropout.default)
def dropout(input: TensorType, p: float, train: bool) -> TensorType:
    """dropout([*a], p, train) -> [*a]: the tensor itself where nothing is dropped."""
    if not train or p == 0:
        return input
    if not 0 <= p <= 1:
        raise problem(
            "operator-refused-types", op="dropout", reason=f"{p} is no probability: 0 … 1"
        )
    if kind(input.dtype) < 2:
        raise refused(aten.dropout.default, input.dtype)
    return elementwise((input,), input.dtype)


@rule(aten.rrelu.default)
def rrelu(
    x: TensorType,
    lower: Number = 0.125,
    upper: Number = 1 / 3,
    training: bool = False,
    generator: Generator = None,
) -> TensorType:
    """rrelu([*a], lower, upper) -> [*a]."""
    if kind(x.dtype) != 2:
        raise refused(aten.rrelu.default, x.dtype)
    if isinstance(lower, float | int) and isinstance(upper, float | int) and lower > upper:
        reason = f"its lower bound {lower} is above its upper bound {upper}"
        raise problem("operator-refused-types", op="rrelu", reason=reason)
    return elementwise((x,), x.dtype)


@rule(aten.native_dropout.default)
def native_dropout(
    input: TensorType, p: float, train: bool | None
) -> tuple[TensorType, TensorType]:
    """native_dropout([*a], p, train) -> ([*a], mask: bool[*a]); nothing happens to no elements."""
    if known(eq(input.numel(), 0)) is True:
        return input, shaped_like(input, None, None, None, None)
    require(
        ne(input.numel(), 0), "size-must-be-positive", size=input.numel(), what="native_dropout"
    )
    mask = shaped_like(input, torch.bool, None, None, None)
    if train is False:
        return shaped_like(input, None, None, None, None), mask
    return elementwise((input, mask), input.dtype), mask


@rule(aten.native_dropout_backward.default)
def native_dropout_backward(grad_output: TensorType, mask: TensorType, scale: float) -> TensorType:
    """native_dropout_backward([*a], bool[*a], scale) -> [*a]."""
    return elementwise((grad_output, mask), result_dtype((grad_output, mask, scale)))
