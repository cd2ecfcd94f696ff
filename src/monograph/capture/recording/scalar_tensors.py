"""Numbers of Python's as tensors of one element, which is how branches and loops hand them on.

These are the capture's own, on the device that numbers live on: user code that has none of them
does not depend on the default device because of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch

from monograph.abstract.tensor import AbstractTensor

if TYPE_CHECKING:
    from monograph.capture.recording.recorder import Recorder

_CPU = torch.device("cpu")


def number_tensor(value: Any, dtype: torch.dtype) -> torch.Tensor:
    """A tensor of one number."""
    return own(torch.scalar_tensor(value, dtype=dtype, device=_CPU))


def own(tensor: torch.Tensor) -> torch.Tensor:
    """A tensor that no code of the user's makes."""
    if isinstance(tensor, AbstractTensor) and tensor.node is not None:
        cast("Recorder", tensor.recorder).consulted.own.add(tensor.node)
    return tensor


__all__ = ["number_tensor", "own"]
