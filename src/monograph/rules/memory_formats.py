"""Results that follow their operand's memory format, as convolutions, pools and norms give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.layout import strides_for, suggest_memory_format
from monograph.abstract.tensor_type import TensorType

if TYPE_CHECKING:
    import torch

    from monograph.integers import Int


def following(
    x: TensorType, shape: tuple[Int, ...], dtype: torch.dtype | None = None
) -> TensorType:
    """A fresh tensor: channels_last if `x` looks so, else contiguous."""
    strides = None if x.strides is None else strides_for(shape, suggest_memory_format(x))
    return TensorType(shape, dtype or x.dtype, x.device, strides)


def unsqueezed(x: TensorType, dim: int) -> TensorType:
    """`x.unsqueeze(dim)`, strides as PyTorch chooses them for the new dimension of size 1."""
    steps = x.stride()
    step = x.shape[dim] * steps[dim] if dim < len(steps) else 1
    return TensorType(
        (*x.shape[:dim], 1, *x.shape[dim:]),
        x.dtype,
        x.device,
        (*steps[:dim], step, *steps[dim:]),
    )


def squeezed(x: TensorType, dim: int) -> TensorType:
    """A fresh `x` without its dimension `dim` of size 1."""
    strides = x.strides
    return TensorType(
        x.shape[:dim] + x.shape[dim + 1 :],
        x.dtype,
        x.device,
        None if strides is None else strides[:dim] + strides[dim + 1 :],
    )
