"""Constructors of arrays from tensors, and of tensors from arrays, on one memory or in copies."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.numpy_arrays.abstract_array import AbstractArray, apply, values_of, wrapped
from monograph.capture.numpy_arrays.dispatch import NotRecorded
from monograph.capture.numpy_arrays.dtypes import asked_dtype

__all__ = ["array_of", "is_abstract", "tensor_of", "ufunc_of_tensors"]


def is_abstract(data: Any) -> bool:
    """Whether abstract arrays are in it: one, or a list of them."""
    if type(data) in {list, tuple}:
        return any(map(is_abstract, data))
    return type(data) is AbstractArray


def array_of(constructor: Any, data: Any, dtype: Any = None, **options: Any) -> Any:
    """`numpy.array(data)` and its like, of a tensor, an abstract array or a list of such.

    `constructor` is NumPy's, not its override.

    Raises: value-read (options that have no operator).
    """
    is_copied = options.pop("copy", constructor.__name__ == "array")
    if isinstance(data, AbstractTensor):
        data = data.numpy()
    if not is_abstract(data) or any(value is not None for value in options.values()):
        return constructor(data, dtype, **options)
    if type(data) is not AbstractArray:
        joined = apply(np.stack, ([array_of(np.asarray, each) for each in data],), {})
        return joined if dtype is None else joined.astype(dtype, copy=False)
    by_rows = constructor.__name__ == "ascontiguousarray"
    if by_rows and not (data.tensor.dim() and data.tensor.is_contiguous()):
        rows: Any = data.tensor.contiguous() if data.tensor.dim() else data.tensor.reshape(1)
        data = AbstractArray(rows, is_scalar=data.is_scalar)
    try:
        wanted = asked_dtype(dtype) or data.tensor.dtype
    except NotRecorded:
        return constructor(data, dtype)
    if wanted == data.tensor.dtype and not (is_copied or data.is_scalar):
        return data
    return wrapped(data.tensor.to(wanted, copy=True), is_scalar=False)


def tensor_of(constructor: Any, data: Any, **options: Any) -> Any:
    """`torch.tensor(data)`, `as_tensor`, `asarray` and `from_numpy` of abstract arrays.

    Raises: value-read (a list with other numbers beside them).
    """
    follows = options.pop("requires_grad", False)
    if type(data) is not AbstractArray:
        if not all(map(is_abstract, data)):
            data = values_of(data, f"torch.{constructor.__name__}()")
            return constructor(data, requires_grad=follows, **options)
        joined = torch.stack([tensor_of(torch.tensor, each, **options) for each in data])
        return joined.requires_grad_() if follows else joined
    if constructor.__name__ == "from_numpy":
        if data.is_scalar:
            kind = data.__class__.__name__
            raise TypeError(f"expected np.ndarray (got numpy.{kind})")
        return data.tensor
    copied = constructor.__name__ == "tensor" or bool(options.pop("copy", False)) or data.is_scalar
    made = data.tensor.to(**options, copy=copied) if options or copied else data.tensor
    return made.requires_grad_() if follows else made


def ufunc_of_tensors(ufunc: Any, *args: Any, **kwargs: Any) -> Any:
    """`numpy.sin(tensor)`: NumPy asks a tensor for its array, and makes a tensor of the result.

    Raises: value-read, and RuntimeError for tensors that autograd follows.
    """
    if kwargs or not any(isinstance(each, AbstractTensor) for each in args):
        return ufunc(*args, **kwargs)
    arrays = [each.numpy() if isinstance(each, AbstractTensor) else each for each in args]
    result = ufunc(*arrays)
    if type(result) is not AbstractArray:
        return result
    return result.tensor.to(torch.uint8) if result.tensor.dtype == torch.bool else result.tensor
