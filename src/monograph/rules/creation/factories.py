"""Factories: tensors made of sizes and numbers rather than of other tensors' elements.

A factory without a device makes a CPU tensor: a default device arrives as an explicit argument.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.layout import contiguous_strides, strides_for
from monograph.abstract.promotion import Number, number_dtype
from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.integers import (
    ge,
    require,
)
from monograph.rules.elementwise.conversions import check_format, fresh_strides
from monograph.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int

aten = torch.ops.aten
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
        reason = f"layout {layout} is not captured"
        raise problem("operator-refused-types", op="this factory", reason=reason)


def made(
    shape: tuple[Int, ...],
    dtype: Dtype,
    device: Device,
    strides: tuple[Int, ...] | None = None,
) -> TensorType:
    """A fresh tensor of the default dtype and device where none is given."""
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
    if len(steps) != len(shape):
        raise problem("rank-disagrees", what="stride", expected=len(shape), got=len(steps))
    return None if steps == contiguous_strides(shape) else steps


# ------------------------------------------------------------------------------- sizes given


@rule(aten.zeros.default, aten.ones.default, aten.rand.default, aten.randn.default)
def zeros(
    size: Sequence[Int],
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """zeros([*a]) -> [*a]."""
    strided(layout)
    return made(sizes(size, "a new tensor"), dtype, device)


@rule(aten.empty.memory_format)
def empty(
    size: Sequence[Int],
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """empty([*a]) -> [*a]."""
    strided(layout)
    shape = sizes(size, "empty")
    if memory_format is None:
        return made(shape, dtype, device)
    check_format(len(shape), memory_format)
    return made(shape, dtype, device, strides_for(shape, memory_format))


@rule(aten.empty_strided.default)
def empty_strided(
    size: Sequence[Int],
    stride: Sequence[Int],
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """empty_strided([*a], strides) -> [*a] with these strides."""
    shape = sizes(size, "empty_strided")
    return made(shape, dtype, device, given_strides(shape, stride))


@rule(aten.empty_permuted.default)
def empty_permuted(
    size: Sequence[Int],
    physical_layout: Sequence[int],
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """empty_permuted([*a], order) -> [*a]; `order` lists dimensions from slowest to fastest."""
    shape = sizes(size, "empty_permuted")
    if sorted(physical_layout) != list(range(len(shape))):
        reason = f"{list(physical_layout)} is no order of {len(shape)} dimensions"
        raise problem("operator-refused-types", op="empty_permuted", reason=reason)
    inner = contiguous_strides([shape[dim] for dim in physical_layout])
    steps = dict(zip(physical_layout, inner, strict=True))
    return made(shape, dtype, device, given_strides(shape, [steps[d] for d in range(len(shape))]))


@rule(aten.full.default)
def full(
    size: Sequence[Int],
    fill_value: Number,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """full([*a], number) -> [*a] of the number's dtype."""
    strided(layout)
    return made(sizes(size, "full"), number_dtype(fill_value) if dtype is None else dtype, device)


@rule(aten.scalar_tensor.default)
def scalar_tensor(
    s: Number,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """scalar_tensor(number) -> [], of the default dtype unless one is given."""
    return made((), dtype, device)


# ----------------------------------------------------------------------------- like a tensor


def _new(
    x: TensorType, size: Sequence[Int], dtype: Dtype, layout: Layout, device: Device
) -> TensorType:
    strided(layout)
    return TensorType(
        sizes(size, "a new tensor"),
        x.dtype if dtype is None else dtype,
        x.device if device is None else torch.device(device),
    )


@rule(aten.new_zeros.default, aten.new_ones.default, aten.new_empty.default)
def new_zeros(
    x: TensorType,
    size: Sequence[Int],
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """new_zeros(x, [*a]) -> [*a] of x's dtype and device."""
    return _new(x, size, dtype, layout, device)


@rule(aten.new_full.default)
def new_full(
    x: TensorType,
    size: Sequence[Int],
    fill_value: Number,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """new_full(x, [*a], number) -> [*a] of x's dtype and device."""
    return _new(x, size, dtype, layout, device)


@rule(aten.new_empty_strided.default)
def new_empty_strided(
    x: TensorType,
    size: Sequence[Int],
    stride: Sequence[Int],
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
) -> TensorType:
    """new_empty_strided(x, [*a], strides) -> [*a] with these strides."""
    fresh_one = _new(x, size, dtype, layout, device)
    return like(fresh_one, strides=given_strides(fresh_one.shape, stride))


def shaped_like(
    x: TensorType, dtype: Dtype, layout: Layout, device: Device, memory_format: Format
) -> TensorType:
    """What every `*_like` makes: x's sizes, in its order of dimensions unless a format is given."""
    strided(layout)
    return TensorType(
        x.shape,
        x.dtype if dtype is None else dtype,
        x.device if device is None else torch.device(device),
        None if x.strides is None and memory_format is None else fresh_strides(x, memory_format),
    )


@rule(aten.zeros_like.default, aten.ones_like.default, aten.empty_like.default)
@rule(aten.rand_like.default, aten.randn_like.default)
def zeros_like(
    x: TensorType,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """zeros_like([*a]) -> [*a]."""
    return shaped_like(x, dtype, layout, device, memory_format)


@rule(aten.full_like.default)
def full_like(
    x: TensorType,
    fill_value: Number,
    *,
    dtype: Dtype = None,
    layout: Layout = None,
    device: Device = None,
    pin_memory: bool | None = None,
    memory_format: Format = None,
) -> TensorType:
    """full_like([*a], number) -> [*a] of x's dtype."""
    return shaped_like(x, dtype, layout, device, memory_format)


@rule(aten.fill.Scalar, aten.fill.Tensor)
def fill(x: TensorType, value: TensorType | Number) -> TensorType:
    """fill([*a], []) -> [*a]."""
    if isinstance(value, TensorType) and value.shape:
        raise problem("rank-disagrees", what="value", expected=0, got=value.rank)
    return shaped_like(x, None, None, None, None)


@rule(aten.zero.default)
def zero(x: TensorType) -> TensorType:
    """zero([*a]) -> [*a]."""
    return shaped_like(x, None, None, None, None)
