"""Sorting: values together with where they were.

Law: `sort` keeps the order of x's dimensions in memory; `topk` is contiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.layout import dense_like_strides
from monograph.abstract.tensor_type import TensorType, like
from monograph.host.overloads import aten
from monograph.integers import ge, le, require
from monograph.rules.operand_checks import refusal
from monograph.rules.registry import rule, shared_rule

if TYPE_CHECKING:
    from monograph.integers import Int


def _check_ordered(x: TensorType, op: str) -> None:
    if x.dtype.is_complex:
        raise refusal(op, "complex numbers have no order")


def _with_positions(values: TensorType) -> tuple[TensorType, TensorType]:
    return values, like(values, dtype=torch.int64, strides=values.strides)


def _sorted(x: TensorType, dim: int, op: str) -> tuple[TensorType, TensorType]:
    _check_ordered(x, op)
    wrap_dim(dim, len(x.shape))
    return _with_positions(like(x, strides=dense_like_strides(x)))


@shared_rule(aten.sort.default, aten.sort.stable)
def sort(x: TensorType, dim: int) -> tuple[TensorType, TensorType]:
    """x: [*a] -> [*a]; i64[*a] where each element was."""
    return _sorted(x, dim, "sort")


@shared_rule(aten.argsort.default, aten.argsort.stable)
def argsort(x: TensorType, dim: int) -> TensorType:
    """x: [*a] -> i64[*a]."""
    return _sorted(x, dim, "argsort")[1]


@rule(aten.msort.default)
def msort(x: TensorType) -> TensorType:
    """x: [n, *a] -> [n, *a]."""
    return _sorted(x, 0, "msort")[0]


@shared_rule(aten.topk.default)
def topk(x: TensorType, k: Int, dim: int) -> tuple[TensorType, TensorType]:
    """x: [*a, n, *b] -> [*a, k, *b]; i64[*a, k, *b] where each element was."""
    _check_ordered(x, "topk")
    at = wrap_dim(dim, len(x.shape))
    n = x.shape[at] if x.shape else 1
    for inside in (ge(k, 0), le(k, n)):
        require(inside, "operator-refused-types", op="topk", reason="selected index k out of range")
    return _with_positions(like(x, (*x.shape[:at], k, *x.shape[at + 1 :]) if x.shape else ()))
