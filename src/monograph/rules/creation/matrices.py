"""Matrices with a pattern: diagonals, triangles, and one-hot rows."""

from __future__ import annotations

from typing import Any

import torch

from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import Expr, Int, fresh, ge, maximum, minimum, require
from monograph.rules.creation.factories import Dtype, made, sizes
from monograph.rules.operand_checks import check_dtype, need_dimensions
from monograph.rules.registry import rule, shared_rule


@shared_rule(aten.eye.default, aten.eye.m)
def eye(n: Int, m: Int | None = None, **options: Any) -> TensorType:
    """eye(n, m) -> [n, m], or [n, n]."""
    return made(sizes((n, n if m is None else m), "eye"), **options)


@rule(aten.tril.default, aten.triu.default)
def tril(x: TensorType, diagonal: Int = 0) -> TensorType:
    """tril([*a, n, m]) -> [*a, n, m], contiguous."""
    need_dimensions(x, 2, "tril")
    return like(x)


def _below(row: Int, col: Int, offset: Int) -> Int:
    """Elements of a row*col matrix on or below a diagonal: Σ_{i<row} clamp(i + offset + 1, 0, col).

    That is S(row + offset) - S(offset) with S(m) = Σ_{k≤m} clamp(k, 0, col).
    """
    return _clamped_sum(row + offset, col) - _clamped_sum(offset, col)


def _clamped_sum(m: Int, col: Int) -> Int:
    inner = minimum(maximum(m, 0), col)
    return inner * (inner + 1) // 2 + maximum(m - col, 0) * col


@shared_rule(aten.tril_indices.default)
def tril_indices(
    row: Int, col: Int, offset: Int = 0, dtype: Dtype = None, **options: Any
) -> TensorType:
    """tril_indices(n, m, k) -> i64[2, elements on or below the diagonal]."""
    sizes((row, col), "tril_indices")
    return made((2, _below(row, col, offset)), dtype or torch.int64, **options)


@shared_rule(aten.triu_indices.default)
def triu_indices(
    row: Int, col: Int, offset: Int = 0, dtype: Dtype = None, **options: Any
) -> TensorType:
    """triu_indices(n, m, k) -> i64[2, elements on or above the diagonal]."""
    sizes((row, col), "triu_indices")
    count = row * col - _below(row, col, offset - 1)
    return made((2, count), dtype or torch.int64, **options)


@rule(aten.one_hot.default)
def one_hot(x: TensorType, num_classes: Int = -1) -> TensorType:
    """one_hot(i64[*a], n) -> i64[*a, n]; without n its size depends on the values."""
    check_dtype(x.dtype == torch.int64, "one_hot", "int64", x.dtype)
    if isinstance(num_classes, int) and num_classes < 1:
        if num_classes != -1:
            raise problem("size-must-be-positive", size=num_classes, what="num_classes")
        num_classes = fresh("num_classes", 1, None)
    elif isinstance(num_classes, Expr):
        require(ge(num_classes, 1), "size-must-be-positive", size=num_classes, what="num_classes")
    return like(x, (*x.shape, num_classes))
