"""Scalars as tensors of one element, which is how branches and loops hand numbers on.

These are the capture's own, on the device that numbers live on: user code that has none of them
does not depend on the default device because of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch

from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import AbstractTensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.recording.recorder import Recorder
    from monograph.integers import Int

_CPU = torch.device("cpu")


def number_tensor(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor of one number."""
    return own(torch.scalar_tensor(value, dtype=dtype, device=_CPU))


def own(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that no code of the user's makes."""
    if isinstance(tensor, AbstractTensor) and tensor.node is not None:
        cast("Recorder", tensor.recorder).own_tensors.add(tensor.node)
    return tensor


def filler(t: TensorType, size: Callable[[Int], Any] = to_sym) -> torch.Tensor:
    """A tensor of a type, for what nobody reads; `size` makes its sizes of those of the type."""
    shape = tuple(map(size, t.shape))
    if t.strides is None:
        return own(torch.zeros(shape, dtype=t.dtype, device=t.device))
    strides = tuple(map(size, t.strides))
    return own(torch.empty_strided(shape, strides, dtype=t.dtype, device=t.device)).zero_()


__all__ = ["filler", "number_tensor", "own"]
