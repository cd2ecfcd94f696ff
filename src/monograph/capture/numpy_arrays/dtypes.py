"""NumPy's dtypes and PyTorch's, and the casts between arrays of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from monograph.capture.numpy_arrays.dispatch import NotRecorded

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["TO_NUMPY", "asked_dtype", "dtype_given", "torch_dtype"]

TO_NUMPY: Final[dict[torch.dtype, np.dtype[Any]]] = {
    each: np.dtype(str(each).removeprefix("torch."))
    for each in (
        *(torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64),
        *(torch.float16, torch.float32, torch.float64, torch.complex64, torch.complex128),
    )
}
_TO_TORCH: Final = {theirs: ours for ours, theirs in TO_NUMPY.items()}


def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    """PyTorch's name of a dtype."""
    found = _TO_TORCH.get(dtype)
    if found is None:
        raise NotRecorded
    return found


def asked_dtype(dtype: Any) -> torch.dtype | None:
    """PyTorch's name of what a `dtype=` asks for, None where it is left open."""
    return None if dtype is None else torch_dtype(np.dtype(dtype))


def dtype_given(function: Callable[..., Any], *dtypes: np.dtype[Any], rank: int = 1) -> torch.dtype:
    """The dtype that a function of NumPy gives for arrays of these: it is asked, on ones."""
    ones = [np.ones((1,) * rank, dtype) for dtype in dtypes]
    return torch_dtype(function(*ones).dtype)
