"""Normalisation: the result has the operand's shape; statistics are small and contiguous.

Observed on CPU: layer_norm and instance_norm give contiguous results, batch_norm, group_norm and
rms_norm follow channels_last.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from monograph.abstract.layout import is_contiguous
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.host.versions import version
from monograph.integers import product
from monograph.rules.memory_formats import following
from monograph.rules.operand_checks import refusal
from monograph.rules.registry import shared_rule
from monograph.rules.size_checks import equal, need_equal, need_same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


_HALVES = (torch.float16, torch.bfloat16)


def _need_same_shape(
    t: TensorType | None, shape: Sequence[Int], op: str, what: str = "weight"
) -> None:
    if t is not None:
        need_same_shape(shape, t.shape, op, f"{what} of {op}")


# ------------------------------------------------------------------------------ over the last dims


def _check_last_dims(x: TensorType, normalized_shape: Sequence[Int], op: str) -> int:
    """The number of leading dimensions, after comparing the others with `normalized_shape`."""
    lead = len(x.shape) - len(normalized_shape)
    if lead < 0 or not normalized_shape:
        raise problem(
            "rank-disagrees",
            what=op,
            expected=f"1 … {len(x.shape)} sizes",
            got=len(normalized_shape),
        )
    for dim, size in enumerate(normalized_shape, lead):
        need_equal(x.shape[dim], size, op, dim)
    return lead


@shared_rule(aten.layer_norm.default)
def layer_norm(
    input: TensorType,
    normalized_shape: Sequence[Int],
    weight: TensorType | None,
    bias: TensorType | None,
) -> TensorType:
    """layer_norm([*a, *n], n) -> [*a, *n]."""
    return native_layer_norm(input, normalized_shape, weight, bias)[0]


@shared_rule(aten.native_layer_norm.default)
def native_layer_norm(
    input: TensorType,
    normalized_shape: Sequence[Int],
    weight: TensorType | None,
    bias: TensorType | None,
) -> tuple[TensorType, TensorType, TensorType]:
    """native_layer_norm([*a, *n], n) -> [*a, *n], mean [*a, *1], rstd [*a, *1]."""
    lead = _check_last_dims(input, normalized_shape, "layer_norm")
    _need_same_shape(weight, normalized_shape, "layer_norm")
    _need_same_shape(bias, normalized_shape, "layer_norm", "bias")
    shape = input.shape[:lead] + (1,) * len(normalized_shape)
    given = weight or bias
    dtype = input.dtype if given is None else given.dtype  # float for halves with float weights
    return (
        TensorType(input.shape, input.dtype, input.device),
        TensorType(shape, dtype, input.device),
        TensorType(shape, dtype, input.device),
    )


@shared_rule(aten.rms_norm.default)
def rms_norm(
    input: TensorType, normalized_shape: Sequence[Int], weight: TensorType | None
) -> TensorType:
    """rms_norm([*a, *n], n) -> [*a, *n]."""
    return fused_rms_norm(input, normalized_shape, weight)[0]


@shared_rule(aten._fused_rms_norm.default)
def fused_rms_norm(
    input: TensorType, normalized_shape: Sequence[Int], weight: TensorType | None
) -> tuple[TensorType, TensorType]:
    """_fused_rms_norm([*a, *n], n) -> [*a, *n], rstd [*a, *1]."""
    lead = _check_last_dims(input, normalized_shape, "rms_norm")
    _need_same_shape(weight, normalized_shape, "rms_norm")
    shape = input.shape[:lead] + (1,) * len(normalized_shape)
    return (
        following(input, input.shape),
        TensorType(shape, torch.float32 if input.dtype in _HALVES else input.dtype, input.device),
    )


# ------------------------------------------------------------------------------ over the batch


def _channels(x: TensorType, op: str) -> Int:
    if len(x.shape) < 2:
        if x.shape == (0,):
            return 0
        raise problem("rank-disagrees", what=op, expected="at least 2 dimensions", got=x.rank)
    return x.shape[1]


def _check_channels(channels: Int, op: str, *operands: TensorType | None) -> None:
    for t in operands:
        if t is not None:
            need_equal(t.shape[0], channels, op)


def _statistics(x: TensorType, size: Int, *operands: TensorType | None) -> TensorType:
    """Saved mean or inverse deviation: floats for halves with float parameters."""
    dtype = x.dtype
    for t in operands:
        if t is not None:
            dtype = t.dtype
            break
    return TensorType((size,), dtype, x.device)


@shared_rule(aten.batch_norm.default, op="batch_norm")
@shared_rule(aten.instance_norm.default, op="instance_norm")
def batch_norm(
    input: TensorType,
    weight: TensorType | None,
    bias: TensorType | None,
    running_mean: TensorType | None,
    running_var: TensorType | None,
    op: str,
) -> TensorType:
    """batch_norm([N, C, *]) -> [N, C, *]; instance_norm gives a contiguous one."""
    _check_channels(_channels(input, op), op, running_mean, running_var, weight, bias)
    if op == "instance_norm":
        return TensorType(input.shape, input.dtype, input.device)
    return following(input, input.shape)


# `_native_batch_norm_legit` also updates its running statistics, which its schema says.
@shared_rule(aten.native_batch_norm.default, aten._native_batch_norm_legit.default)
@shared_rule(aten._native_batch_norm_legit.no_stats)
@shared_rule(aten._native_batch_norm_legit_no_training.default, training=False)
def native_batch_norm(
    input: TensorType,
    weight: TensorType | None,
    bias: TensorType | None,
    running_mean: TensorType | None = None,
    running_var: TensorType | None = None,
    training: bool = True,
) -> tuple[TensorType, TensorType, TensorType]:
    """native_batch_norm([N, C, *]) -> [N, C, *], mean [C], invstd [C]; not training: [0], [0]."""
    channels = _channels(input, "batch_norm")
    operands = (weight, bias, running_mean, running_var)
    _check_channels(channels, "batch_norm", *operands)
    size = channels if training else 0
    return (
        following(input, input.shape),
        _statistics(input, size, *operands),
        _statistics(input, size, *operands),
    )


@shared_rule(aten._native_batch_norm_legit_functional.default)
def native_batch_norm_functional(
    input: TensorType,
    weight: TensorType | None,
    bias: TensorType | None,
    running_mean: TensorType,
    running_var: TensorType,
    training: bool,
) -> tuple[TensorType, ...]:
    """As native_batch_norm, and the new running mean and variance [C], [C]."""
    results = native_batch_norm(input, weight, bias, running_mean, running_var, training)
    updated = [TensorType(t.shape, t.dtype, t.device) for t in (running_mean, running_var)]
    return (*results, *updated)


@shared_rule(aten._batch_norm_with_update.default, training=True)
@shared_rule(aten._batch_norm_no_update.default, training=False)
def batch_norm_with_reserve(
    input: TensorType,
    weight: TensorType | None,
    bias: TensorType | None,
    running_mean: TensorType | None,
    running_var: TensorType | None,
    training: bool,
) -> tuple[TensorType, ...]:
    """As native_batch_norm, with a reserve u8[0]."""
    results = native_batch_norm(input, weight, bias, running_mean, running_var, training)
    return (*results, TensorType((0,), torch.uint8, input.device))


@shared_rule(aten._batch_norm_impl_index.default)
def batch_norm_impl_index(
    input: TensorType,
    weight: TensorType | None,
    bias: TensorType | None,
    running_mean: TensorType | None,
    running_var: TensorType | None,
    training: bool,
) -> tuple[TensorType | int, ...]:
    """As native_batch_norm, with a reserve u8[0] and the number of the CPU's own kernel, 0."""
    if any(equal(size, 0) for size in input.shape):
        # Nothing is computed; the statistics are made as the accumulator's type all the same.
        dtype = torch.float32 if input.dtype in _HALVES else torch.float64
        nothing = TensorType((_channels(input, "batch_norm"),), dtype, input.device)
        result = TensorType(input.shape, input.dtype, input.device)
        return result, nothing, nothing, TensorType((0,), torch.uint8, input.device), 0
    return (*batch_norm_with_reserve(input, weight, bias, running_mean, running_var, training), 0)


# ------------------------------------------------------------------------------ over groups


@shared_rule(aten.group_norm.default)
def group_norm(
    input: TensorType, num_groups: int, weight: TensorType | None, bias: TensorType | None
) -> TensorType:
    """group_norm([N, C, *]) -> [N, C, *]; the groups divide C."""
    channels = _channels(input, "group_norm")
    _check_channels(channels, "group_norm", weight, bias)
    need_equal(channels % num_groups, 0, "group_norm")
    return following(input, input.shape)


_NEEDS_DENSE: Final = version() == "2.13"
"""Whether `native_group_norm` takes dense tensors only; since 2.14 it makes them so."""


@shared_rule(aten.native_group_norm.default)
def native_group_norm(
    input: TensorType,
    weight: TensorType | None,
    bias: TensorType | None,
    N: Int,
    C: Int,
    HxW: Int,
    group: int,
) -> tuple[TensorType, TensorType, TensorType]:
    """native_group_norm([N, C, *]) -> [N, C, *], mean [N, group], rstd [N, group]."""
    _check_channels(C, "group_norm", weight, bias)
    need_equal(product(input.shape), N * C * HxW, "group_norm")
    result = following(input, input.shape)
    if _NEEDS_DENSE and result.strides is None and not is_contiguous(input):
        raise refusal("native_group_norm", "it takes dense tensors only")
    given = weight or bias
    dtype = input.dtype if given is None else given.dtype
    statistics = [TensorType((N, group), dtype, input.device) for _ in range(2)]
    return result, statistics[0], statistics[1]
