"""Conversions and copies: dtype, device and memory format change, sizes do not.

Law: where nothing changes, `to` and `contiguous` return their argument itself, as eager does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.layout import (
    dense_like_strides,
    is_contiguous,
    strides_for,
    suggest_memory_format,
)
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import eq, known, require
from monograph.rules.operand_checks import check_rank, refusal
from monograph.rules.registry import rule, shared_rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def fresh_strides(
    x: TensorType, memory_format: torch.memory_format | None
) -> tuple[Int, ...] | None:
    """Strides of a copy of `x`: its own order unless a format is asked for."""
    if memory_format is None or memory_format == torch.preserve_format:
        return None if x.strides is None else dense_like_strides(x)
    check_format(x.rank, memory_format)
    return strides_for(x.shape, memory_format)


def check_format(rank: int, memory_format: torch.memory_format | None) -> None:
    """Channels-last formats exist for one rank each.

    Raises: rank-disagrees.
    """
    if memory_format == torch.channels_last and rank != 4:
        raise problem("rank-disagrees", what="channels_last", expected=4, got=rank)
    if memory_format == torch.channels_last_3d and rank != 5:
        raise problem("rank-disagrees", what="channels_last_3d", expected=5, got=rank)


def _same_device(have: torch.device, wanted: torch.device | str | None) -> bool:
    if wanted is None or wanted == have:
        return True
    device = torch.device(wanted)
    same_kind = device.type == have.type
    return same_kind and device.index in {None, have.index}


def _convert(
    x: TensorType,
    dtype: torch.dtype | None,
    device: torch.device | str | None,
    copy: bool,
    memory_format: torch.memory_format | None,
) -> TensorType:
    if (
        not copy
        and (dtype is None or dtype is x.dtype)
        and (device is None or _same_device(x.device, device))
        and (
            memory_format is None
            or memory_format == torch.preserve_format
            or suggest_memory_format(x) == memory_format
        )
    ):
        return x
    return TensorType(
        x.shape,
        x.dtype if dtype is None else dtype,
        x.device if _same_device(x.device, device) else torch.device(device or "cpu"),
        None if x.strides is None and memory_format is None else fresh_strides(x, memory_format),
    )


@shared_rule(aten.to.dtype, aten.to.dtype_layout, aten.to.device)
@shared_rule(aten._to_copy.default, copy=True)
def to_dtype(
    x: TensorType,
    dtype: torch.dtype | None = None,
    device: torch.device | str | None = None,
    copy: bool = False,
    memory_format: torch.memory_format | None = None,
    layout: torch.layout | None = None,
) -> TensorType:
    """to([*a], dtype=, device=) -> [*a]; `_to_copy` is always fresh."""
    if layout is not None and layout != torch.strided:
        raise refusal("to", f"layout {layout} is not captured")
    return _convert(x, dtype, device, copy, memory_format)


@shared_rule(aten.to.other, aten.type_as.default)
def to_other(
    x: TensorType,
    other: TensorType,
    copy: bool = False,
    memory_format: torch.memory_format | None = None,
) -> TensorType:
    """to([*a], other) -> [*a] of other's dtype and device."""
    return _convert(x, other.dtype, other.device, copy, memory_format)


@rule(aten.contiguous.default)
def contiguous(
    x: TensorType, *, memory_format: torch.memory_format = torch.contiguous_format
) -> TensorType:
    """contiguous([*a]) -> [*a]: the tensor itself where it lies so already."""
    if memory_format == torch.contiguous_format and x.strides is None:
        return x
    if memory_format == torch.preserve_format:
        raise refusal("contiguous", "preserve_format says no layout")
    if is_contiguous(x, memory_format):
        return x
    return TensorType(x.shape, x.dtype, x.device, fresh_strides(x, memory_format))


@rule(aten.clone.default)
def clone(x: TensorType, *, memory_format: torch.memory_format | None = None) -> TensorType:
    """clone([*a]) -> [*a], fresh; its order of dimensions is kept unless a format is given."""
    return TensorType(x.shape, x.dtype, x.device, fresh_strides(x, memory_format))


@rule(aten.lift_fresh_copy.default, aten.alias_copy.default, aten.detach_copy.default)
def lift_fresh_copy(x: TensorType) -> TensorType:
    """lift_fresh_copy([*a]) -> [*a], fresh and contiguous."""
    return TensorType(x.shape, x.dtype, x.device)


@rule(aten.alias.default, aten.detach.default, aten.data.default)
def alias(x: TensorType) -> TensorType:
    """alias([*a]) -> [*a], a view of all of it."""
    return view_of(x, x.shape, x.strides)


@rule(aten.lift.default, aten.lift_fresh.default)
def lift(x: TensorType) -> TensorType:
    """lift([*a]) -> the tensor itself."""
    return x


def expands_to(source: Sequence[Int], target: Sequence[Int], operator: str) -> None:
    """Require that `source` broadcasts to `target`, which keeps its sizes.

    Raises: sizes-disagree, rank-disagrees.
    """
    check_rank(len(source) <= len(target), operator, len(target), len(source))
    for dim, (have, want) in enumerate(zip(reversed(source), reversed(target), strict=False)):
        if have is want or have == want or (isinstance(have, int) and have == 1):
            continue
        if known(eq(have, 1)) is True:
            continue
        require(
            eq(have, want), "sizes-disagree", left=want, right=have, dim=-1 - dim, operator=operator
        )


@rule(aten.copy.default)
def copy(x: TensorType, src: TensorType, non_blocking: bool = False) -> TensorType:
    """copy([*a], [*b]) -> [*a]: the place of x in a copy of its storage."""
    expands_to(src.shape, x.shape, "copy")
    if x.strides is not None and any(
        isinstance(step, int) and step == 0 and not (isinstance(size, int) and size == 1)
        for step, size in zip(x.strides, x.shape, strict=True)
    ):
        return clone(x)
    return TensorType(x.shape, x.dtype, x.device, x.strides, x.offset)


@rule(aten.copy_.default)
def copy_(x: TensorType, src: TensorType, non_blocking: bool = False) -> TensorType:
    """copy_([*a], [*b]) -> [*a]; b broadcasts to a."""
    if src.shape != x.shape:
        expands_to(src.shape, x.shape, "copy_")
    return x


@rule(aten._assert_tensor_metadata.default)
def _assert_tensor_metadata(
    a: TensorType,
    size: Sequence[Int] | None = None,
    stride: Sequence[Int] | None = None,
    dtype: torch.dtype | None = None,
    *,
    device: torch.device | None = None,
    layout: torch.layout | None = None,
) -> None:
    """_assert_tensor_metadata([*a], ...) -> nothing; refuses where the facts differ."""
    if dtype is not None and dtype != a.dtype:
        raise problem("dtype-disagrees", what="the tensor", expected=dtype, got=a.dtype)
    if device is not None and not _same_device(a.device, device):
        raise refusal("to", f"the tensor is on {a.device}, not {device}")
    if layout is not None and layout != torch.strided:
        raise refusal("to", f"the tensor is not {layout}")
    for have, want in ((a.shape, size), (a.stride(), stride)):
        for left, right in zip(have, have if want is None else want, strict=True):
            require(eq(left, right), "sizes-disagree", left=left, right=right)
