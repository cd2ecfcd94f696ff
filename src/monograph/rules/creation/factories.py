"""Factories: tensors made of sizes and numbers rather than of other tensors' elements.

A factory without a device makes a CPU tensor: a default device arrives as an explicit argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.layout import contiguous_strides, strides_for
from monograph.abstract.promotion import Number, number_dtype
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import (
    ge,
    require,
)
from monograph.rules.elementwise.conversions import check_format, fresh_strides
from monograph.rules.operand_checks import check_rank, refusal
from monograph.rules.registry import rule, shared_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int

CPU = torch.device("cpu")

Dtype = torch.dtype | None
Layout = torch.layout | None
Device = torch.device | str | None
Format = torch.memory_format | None


def sizes(size: Sequence[Int], what: str) -> tuple[Int, ...]:
    """A new tensor's sizes, none of them negative.

    Raises: size-must-be-positive.
    """
    shape = tuple(size)
    for dim, n in enumerate(shape):
        not_negative(n, what, dim)
    return shape


def not_negative(n: Int, what: str, dim: int | None = None) -> Int:
    """`n`, required to be at least 0.

    Raises: size-must-be-positive.
    """
    if isinstance(n, int):
        if n < 0:
            raise problem("size-must-be-positive", size=n, what=what, dim=dim)
        return n
    require(ge(n, 0), "size-must-be-positive", size=n, what=what, dim=dim)
    return n


def strided(layout: Layout) -> None:
    """Refuse layouts that have no strides.

    Raises: operator-refused-types.
    """
    if layout is not None and layout != torch.strided:
        raise refusal("this factory", f"layout {layout} is not captured")


def made(
    shape: tuple[Int, ...],
    dtype: Dtype = None,
    device: Device = None,
    strides: tuple[Int, ...] | None = None,
    layout: Layout = None,
    **_: Any,
) -> TensorType:
    """A fresh tensor of the default dtype and device where none is given.

    Raises: operator-refused-types.
    """
    strided(layout)
    return TensorType(
        shape,
        torch.get_default_dtype() if dtype is None else dtype,
        CPU if device is None else torch.device(device),
        strides,
    )


def given_strides(shape: tuple[Int, ...], strides: Sequence[Int]) -> tuple[Int, ...] | None:
    """Strides in words of a type: None where contiguous.

    Raises: rank-disagrees.
    """
    steps = tuple(strides)
    check_rank(len(steps) == len(shape), "stride", len(shape), len(steps))
    return None if steps == contiguous_strides(shape) else steps


# ------------------------------------------------------------------------------- sizes given


@shared_rule(aten.zeros.default, aten.ones.default, aten.rand.default, aten.randn.default)
@shared_rule(aten.rand.generator, aten.randn.generator)
@shared_rule(aten.normal.float_float)
def zeros(size: Sequence[Int], **options: Any) -> TensorType:
    """zeros([*a]) -> [*a]."""
    return made(sizes(size, "a new tensor"), **options)


@shared_rule(aten.empty.memory_format)
def empty(size: Sequence[Int], *, memory_format: Format = None, **options: Any) -> TensorType:
    """empty([*a]) -> [*a]."""
    shape = sizes(size, "empty")
    if memory_format is None:
        return made(shape, **options)
    check_format(len(shape), memory_format)
    return made(shape, strides=strides_for(shape, memory_format), **options)


@shared_rule(aten.empty_strided.default)
def empty_strided(size: Sequence[Int], stride: Sequence[Int], **options: Any) -> TensorType:
    """empty_strided([*a], strides) -> [*a] with these strides."""
    shape = sizes(size, "empty_strided")
    return made(shape, strides=given_strides(shape, stride), **options)


@shared_rule(aten.empty_permuted.default)
def empty_permuted(
    size: Sequence[Int], physical_layout: Sequence[int], **options: Any
) -> TensorType:
    """empty_permuted([*a], order) -> [*a]; `order` lists dimensions from slowest to fastest."""
    shape = sizes(size, "empty_permuted")
    if sorted(physical_layout) != list(range(len(shape))):
        raise refusal(
            "empty_permuted", f"{list(physical_layout)} is no order of {len(shape)} dimensions"
        )
    inner = contiguous_strides([shape[dim] for dim in physical_layout])
    steps = dict(zip(physical_layout, inner, strict=True))
    strides = given_strides(shape, [steps[d] for d in range(len(shape))])
    return made(shape, strides=strides, **options)


@shared_rule(aten.full.default)
def full(
    size: Sequence[Int], fill_value: Number, dtype: Dtype = None, **options: Any
) -> TensorType:
    """full([*a], number) -> [*a] of the number's dtype."""
    return made(sizes(size, "full"), dtype or number_dtype(fill_value), **options)


@shared_rule(aten.scalar_tensor.default)
def scalar_tensor(**options: Any) -> TensorType:
    """scalar_tensor(number) -> [], of the default dtype unless one is given."""
    return made((), **options)


# ----------------------------------------------------------------------------- like a tensor


@shared_rule(aten.new_zeros.default, aten.new_ones.default, aten.new_empty.default)
@shared_rule(aten.new_full.default, aten.new_empty_strided.default)
def new_zeros(
    x: TensorType,
    size: Sequence[Int],
    stride: Sequence[Int] | None = None,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
) -> TensorType:
    """new_zeros(x, [*a]) -> [*a] of x's dtype and device."""
    strided(layout)
    shape = sizes(size, "a new tensor")
    strides = None if stride is None else given_strides(shape, stride)
    return made(shape, dtype or x.dtype, x.device if device is None else device, strides)


@shared_rule(aten.zeros_like.default, aten.ones_like.default, aten.empty_like.default)
@shared_rule(aten.rand_like.default, aten.randn_like.default, aten.full_like.default)
@shared_rule(aten.rand_like.generator, aten.randn_like.generator)
@shared_rule(aten.randint_like.default, aten.randint_like.Tensor)
@shared_rule(aten.randint_like.generator, aten.randint_like.Tensor_generator)
@shared_rule(aten.randint_like.low_dtype, aten.randint_like.low_generator_dtype)
@shared_rule(aten.zero.default)
def shaped_like(
    x: TensorType,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    memory_format: Format = None,
) -> TensorType:
    """zeros_like([*a]) -> [*a], in x's order of dimensions unless a format is given."""
    strided(layout)
    return TensorType(
        x.shape,
        x.dtype if dtype is None else dtype,
        x.device if device is None else torch.device(device),
        None if x.strides is None and memory_format is None else fresh_strides(x, memory_format),
    )


@rule(aten.fill.Scalar, aten.fill.Tensor)
def fill(x: TensorType, value: TensorType | Number) -> TensorType:
    """fill([*a], []) -> [*a]."""
    if isinstance(value, TensorType) and value.shape:
        raise problem("rank-disagrees", what="value", expected=0, got=value.rank)
    return shaped_like(x)
