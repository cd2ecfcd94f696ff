"""Which dtype an operation computes in: PyTorch's promotion over three categories of operands.

Tensors with dimensions outrank 0-dim tensors, which outrank Python numbers; a lower category only
changes the result if its kind (bool < integer < float < complex) is higher.

Source: PyTorch's documentation of `torch.result_type` and `ATen/native/TypeProperties.cpp`
(observed, not copied).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.tensor_type import TensorType
from monograph.integers import Expr, Real, Relation

if TYPE_CHECKING:
    from collections.abc import Iterable

Number = int | float | complex | bool | Expr | Real | Relation


def kind(dtype: torch.dtype) -> int:
    """0 for bool, 1 for integers, 2 for floats, 3 for complex numbers."""
    if dtype.is_complex:
        return 3
    if dtype.is_floating_point:
        return 2
    return 0 if dtype == torch.bool else 1


def number_dtype(value: Number) -> torch.dtype:
    """The dtype a Python number stands for."""
    if isinstance(value, bool | Relation):
        return torch.bool
    if isinstance(value, int | Expr):
        return torch.int64
    if isinstance(value, float | Real):
        return torch.get_default_dtype()
    return _complex_of(torch.get_default_dtype())


def _complex_of(dtype: torch.dtype) -> torch.dtype:
    return dtype.to_complex()


def _higher(current: torch.dtype | None, dtype: torch.dtype) -> torch.dtype:
    if current is None or current is dtype:
        return dtype
    return torch.promote_types(current, dtype)


def result_dtype(operands: Iterable[TensorType | Number | None]) -> torch.dtype:
    """What `torch.result_type` gives for several operands.

    >>> cpu = torch.device("cpu")
    >>> result_dtype([TensorType((2,), torch.int32, cpu), 2.5])
    torch.float32
    """
    with_dims: torch.dtype | None = None
    without_dims: torch.dtype | None = None
    numbers: torch.dtype | None = None
    for operand in operands:
        if isinstance(operand, TensorType):
            if operand.shape:
                with_dims = _higher(with_dims, operand.dtype)
            else:
                without_dims = _higher(without_dims, operand.dtype)
        elif operand is not None:
            numbers = _higher(numbers, number_dtype(operand))
    return _combine(_combine(with_dims, without_dims), numbers) or torch.get_default_dtype()


def _combine(strong: torch.dtype | None, weak: torch.dtype | None) -> torch.dtype | None:
    """The stronger category's dtype, unless the weaker one is of a higher kind."""
    if strong is None:
        return weak
    if weak is None or kind(strong) >= kind(weak):
        return strong
    if weak.is_complex and strong.is_floating_point:
        return _complex_of(strong)
    return weak


def float_dtype(dtype: torch.dtype) -> torch.dtype:
    """Integers and bools become the default float; floats stay."""
    return dtype if kind(dtype) >= 2 else torch.get_default_dtype()
