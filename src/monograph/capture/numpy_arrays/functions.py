"""Functions of NumPy on arrays as operators of PyTorch: reductions, shapes, joins, choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from monograph.capture.numpy_arrays.abstract_array import (
    AbstractArray,
    apply_ufunc,
    operand,
    wrapped,
)
from monograph.capture.numpy_arrays.dispatch import NotRecorded, records
from monograph.capture.numpy_arrays.dtypes import TO_NUMPY, asked_dtype, dtype_given

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__: list[str] = []


def _tensor(array: Any) -> Any:
    """The tensor of an array or scalar."""
    found = operand(array)
    return found if isinstance(found, torch.Tensor) else torch.tensor(np.array(found))


def _by_rows(tensor: Any) -> Any:
    """A tensor that lies by rows: of others NumPy's result has an order that PyTorch's has not."""
    if tensor.dim() > 1 and not tensor.is_contiguous():
        raise NotRecorded
    return tensor


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """The dimensions that `axis=` names."""
    if axis is None:
        return tuple(range(rank))
    return tuple(axis) if type(axis) is tuple else (axis,)


def _result_dtype(function: Callable[..., Any], tensor: Any, dtype: Any = None) -> torch.dtype:
    return asked_dtype(dtype) or dtype_given(function, TO_NUMPY[tensor.dtype])


# --- reductions ----------------------------------------------------------------------------------


def _sum(function: Any) -> Callable[..., Any]:
    def reduced(array: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
        tensor = _tensor(array)
        dims, dtype = _axes(axis, tensor.dim()), _result_dtype(function, tensor, dtype)
        if function is np.mean:
            result = torch.mean(tensor.to(dtype), dims, keepdim=bool(keepdims))
        else:
            result = torch.sum(tensor, dims, keepdim=bool(keepdims), dtype=dtype)
        return wrapped(result if dims else tensor.to(dtype, copy=True))

    return reduced


records(np.sum)(_sum(np.sum))
records(np.mean)(_sum(np.mean))


@records(np.prod)
def prod(array: Any, axis: Any = None, dtype: Any = None, *, keepdims: Any = False) -> Any:
    """prod([*]) over one dimension or all."""
    tensor = _tensor(array)
    dtype = _result_dtype(np.prod, tensor, dtype)
    if axis is None:
        if keepdims:
            raise NotRecorded
        return wrapped(torch.prod(tensor, dtype=dtype))
    if type(axis) is not int:
        raise NotRecorded
    return wrapped(torch.prod(tensor, axis, keepdim=bool(keepdims), dtype=dtype))


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(array: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        tensor = _tensor(array)
        if tensor.is_complex() or not tensor.dim() or axis == ():
            raise NotRecorded
        return wrapped(function(tensor, _axes(axis, tensor.dim()), bool(keepdims)))

    return reduced


records(np.max, np.amax)(_extreme(torch.amax))
records(np.min, np.amin)(_extreme(torch.amin))


def _spread(function: Callable[..., Any], original: Any) -> Callable[..., Any]:
    def reduced(
        array: Any, axis: Any = None, dtype: Any = None, *, ddof: Any = 0, keepdims: Any = False
    ) -> Any:
        tensor = _tensor(array)
        if tensor.is_complex() or not tensor.dim() or axis == () or type(ddof) is not int:
            raise NotRecorded
        tensor = tensor.to(_result_dtype(original, tensor, dtype))
        dims = _axes(axis, tensor.dim())
        return wrapped(function(tensor, dims, correction=ddof, keepdim=bool(keepdims)))

    return reduced


records(np.var)(_spread(torch.var, np.var))
records(np.std)(_spread(torch.std, np.std))


def _place(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(array: Any, axis: int | None = None, *, keepdims: Any = False) -> Any:
        tensor = _tensor(array)
        if tensor.is_complex() or (keepdims and axis is None):
            raise NotRecorded
        tensor = tensor.to(torch.uint8) if tensor.dtype == torch.bool else tensor
        return wrapped(function(tensor, axis, bool(keepdims)))

    return reduced


records(np.argmax)(_place(torch.argmax))
records(np.argmin)(_place(torch.argmin))


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    def reduced(array: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
        tensor = _tensor(array).to(torch.bool)
        dims = _axes(axis, tensor.dim())
        return wrapped(function(tensor, dims, bool(keepdims)) if dims else tensor.clone())

    return reduced


records(np.any)(_truth(torch.any))
records(np.all)(_truth(torch.all))


def _running(function: Callable[..., Any], original: Any) -> Callable[..., Any]:
    def accumulated(array: Any, axis: int | None = None, dtype: Any = None) -> Any:
        tensor = _by_rows(_tensor(array))
        dtype = _result_dtype(original, tensor, dtype)
        flat = tensor.reshape(-1) if axis is None else tensor
        return wrapped(function(flat, 0 if axis is None else axis, dtype=dtype))

    return accumulated


records(np.cumsum)(_running(torch.cumsum, np.cumsum))
records(np.cumprod)(_running(torch.cumprod, np.cumprod))


@records(np.count_nonzero)
def count_nonzero(array: Any, axis: Any = None) -> Any:
    """How many are not zero: [*] -> []."""
    if axis is not None:
        raise NotRecorded
    return wrapped(torch.count_nonzero(_tensor(array)))


@records(np.linalg.norm)
def norm(x: Any, ord: None = None, axis: Any = None, *, keepdims: Any = False) -> Any:  # noqa: A002
    """The root of the sum of squares."""
    tensor = _tensor(x)
    if ord is not None or axis == () or not tensor.is_floating_point():
        raise NotRecorded
    dims = _axes(axis, tensor.dim())
    return wrapped(torch.linalg.vector_norm(tensor, 2, dims, bool(keepdims)))


# --- shapes --------------------------------------------------------------------------------------


@records(np.reshape)
def reshape(a: Any, /, shape: Any, order: str = "C") -> Any:
    """A view where there is one, else a copy, by rows."""
    if order != "C":
        raise NotRecorded
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return wrapped(_tensor(a).reshape(*sizes), is_scalar=False)


@records(np.ravel)
def ravel(a: Any, order: str = "C") -> Any:
    """[*] -> [n]: a view of what lies in rows, else a copy, also where there is a view."""
    if order != "C":
        raise NotRecorded
    return wrapped(_tensor(a).contiguous().reshape(-1), is_scalar=False)


@records(np.transpose)
def transpose(a: Any, axes: Any = None) -> Any:
    """The view with its dimensions in another order, in reverse by default."""
    tensor = _tensor(a)
    order = range(tensor.dim())[::-1] if axes is None else axes
    return wrapped(tensor.permute(*order), is_scalar=False)


@records(np.swapaxes)
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """The view with two dimensions swapped."""
    return wrapped(_tensor(a).transpose(axis1, axis2))


@records(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    """The view with dimensions moved."""
    return wrapped(torch.movedim(_tensor(a), source, destination))


@records(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    """The view with a dimension of size 1 more."""
    if type(axis) is not int:
        raise NotRecorded
    return wrapped(_tensor(a).unsqueeze(axis))


@records(np.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    """The view without dimensions of size 1."""
    tensor = _tensor(a)
    dims = [d for d, n in enumerate(tensor.shape) if n == 1] if axis is None else axis
    dims = tuple(dims) if isinstance(dims, tuple | list) else (dims,)
    if not dims:
        return a
    if any(tensor.shape[d] != 1 for d in dims):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return wrapped(tensor.squeeze(dims), is_scalar=False)


@records(np.broadcast_to)
def broadcast_to(array: Any, shape: Any) -> Any:
    """A view that repeats itself, which nothing writes to."""
    sizes = shape if isinstance(shape, tuple | list) else (shape,)
    return wrapped(_tensor(array).expand(*sizes), is_scalar=False)


@records(np.tile)
def tile(A: Any, reps: Any) -> Any:  # noqa: N803 - as NumPy calls it
    """Copies side by side, in rows; one alone lies as the array does."""
    times = tuple(reps) if isinstance(reps, tuple | list) else (reps,)
    if all(type(each) is int and each == 1 for each in times):
        tensor = _tensor(A).clone()
        return wrapped(tensor[(None,) * (len(times) - tensor.dim())], is_scalar=False)
    return wrapped(torch.tile(_tensor(A), times))


@records(np.repeat)
def repeat(a: Any, repeats: Any, axis: int | None = None) -> Any:
    """Each element so often."""
    if type(repeats) is not int:
        raise NotRecorded
    tensor = _tensor(a)
    flat = tensor.reshape(-1) if axis is None else tensor
    return wrapped(torch.repeat_interleave(flat, repeats, 0 if axis is None else axis))


@records(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Elements moved round."""
    return wrapped(torch.roll(_by_rows(_tensor(a)), shift, axis))


# --- joins and choices ---------------------------------------------------------------------------


def _together(arrays: Iterable[Any]) -> list[Any]:
    """What is joined: tensors of one dtype, which NumPy decides."""
    return _of_one_dtype([_by_rows(_tensor(each)) for each in arrays])


def _of_one_dtype(tensors: Iterable[Any]) -> list[Any]:
    dtype = dtype_given(
        lambda *ones: np.concatenate(ones), *(TO_NUMPY[each.dtype] for each in tensors)
    )
    return [each.to(dtype) for each in tensors]


@records(np.concatenate)
def concatenate(arrays: Any, /, axis: int | None = 0) -> Any:
    """Joined along a dimension."""
    tensors = _together(arrays)
    if axis is None:
        return wrapped(torch.cat([each.reshape(-1) for each in tensors]))
    return wrapped(torch.cat(tensors, axis))


@records(np.stack)
def stack(arrays: Any, axis: int | None = 0) -> Any:
    """Joined along a new dimension."""
    if axis is None:
        raise NotRecorded
    return wrapped(torch.stack(_together(arrays), axis))


@records(np.vstack)
def vstack(tup: Any) -> Any:
    """Joined by rows."""
    return wrapped(torch.vstack(_together(tup)))


@records(np.hstack)
def hstack(tup: Any) -> Any:
    """Joined by columns."""
    return wrapped(torch.hstack(_together(tup)))


@records(np.where)
def where(condition: Any, /, *choices: Any) -> Any:
    """Chosen by a condition, or where it is true."""
    chosen = _tensor(condition).to(torch.bool)
    if not choices:
        places = torch.nonzero(chosen).contiguous()  # one array, of which NumPy gives the columns
        return tuple(wrapped(column) for column in places.unbind(1))
    ones = [
        np.ones((1,), TO_NUMPY[each.dtype]) if isinstance(each, torch.Tensor) else each
        for each in map(operand, choices)
    ]
    if any(isinstance(each, torch.SymInt | torch.SymFloat) for each in ones):
        raise NotRecorded
    dtype = asked_dtype(np.where(np.ones((1,), bool), *ones).dtype)
    return wrapped(torch.where(chosen, *(_tensor(each).to(dtype) for each in choices)))


@records(np.nonzero)
def nonzero(a: Any) -> Any:
    """Where an array is not zero."""
    return where(a)


@records(np.clip)
def clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:  # noqa: A002
    """Between bounds, as NumPy has it: the least of the bounded from below."""
    low, high = a_min if min is None else min, a_max if max is None else max
    result = a
    if low is not None:
        result = apply_ufunc(np.maximum, "__call__", (result, low), {})
    if high is not None:
        result = apply_ufunc(np.minimum, "__call__", (result, high), {})
    if result is a:
        raise NotRecorded
    return result


@records(np.round, np.around)
def round_(a: Any, decimals: int = 0) -> Any:
    """To whole numbers, halves to even ones."""
    tensor = _tensor(a)
    if decimals or not tensor.is_floating_point():
        raise NotRecorded
    return wrapped(torch.round(tensor))


@records(np.sort)
def sort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
    """Sorted along a dimension."""
    del kind, stable  # equal elements look the same
    tensor = _tensor(a)
    if tensor.is_complex():
        raise NotRecorded
    flat = tensor.reshape(-1) if axis is None else tensor
    return wrapped(torch.sort(flat, -1 if axis is None else axis)[0])


@records(np.argsort)
def argsort(a: Any, axis: int | None = -1, kind: Any = None, *, stable: Any = None) -> Any:
    """The order that sorts, where equal elements keep theirs."""
    tensor = _tensor(a)
    if tensor.is_complex() or not (stable or kind in {"stable", "mergesort"}):
        raise NotRecorded
    flat = tensor.reshape(-1) if axis is None else tensor
    return wrapped(torch.argsort(flat, dim=-1 if axis is None else axis, stable=True))


@records(np.nan_to_num)
def nan_to_num(x: Any, copy: bool = True, nan: float = 0.0) -> Any:  # noqa: FBT001, FBT002
    """Finite numbers in place of those that are not."""
    tensor = _tensor(x)
    if not copy or not tensor.is_floating_point():
        raise NotRecorded
    return wrapped(torch.nan_to_num(tensor, nan))


# --- products ------------------------------------------------------------------------------------


@records(np.dot)
def dot(a: Any, b: Any) -> Any:
    """The product of vectors and matrices."""
    if _tensor(a).dim() > 2 or _tensor(b).dim() > 2:
        raise NotRecorded
    is_scaling = not (_tensor(a).dim() and _tensor(b).dim())
    return apply_ufunc(np.multiply if is_scaling else np.matmul, "__call__", (a, b), {})


@records(np.outer)
def outer(a: Any, b: Any) -> Any:
    """[n], [m] -> [n, m]."""
    column = _tensor(a).reshape(-1, 1)
    row = _tensor(b).reshape(1, -1)
    return apply_ufunc(np.multiply, "__call__", (AbstractArray(column), AbstractArray(row)), {})


@records(np.einsum)
def einsum(subscripts: Any, /, *operands: Any, optimize: Any = False) -> Any:
    """Sums of products by the names of dimensions."""
    if not isinstance(subscripts, str) or optimize:
        raise NotRecorded
    tensors = _of_one_dtype([_tensor(each) for each in operands])
    if tensors[0].dtype == torch.bool:
        raise NotRecorded
    return wrapped(torch.einsum(subscripts, *tensors))


@records(np.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A diagonal, which nothing writes to."""
    return wrapped(torch.diagonal(_tensor(a), offset, axis1, axis2))


@records(np.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """The sum of a diagonal."""
    found = diagonal(a, offset, axis1, axis2)
    return found.sum(axis=-1)


# --- new arrays ----------------------------------------------------------------------------------


def _like(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(a: Any, dtype: Any = None) -> Any:
        tensor = _tensor(a)
        return wrapped(function(tensor, dtype=asked_dtype(dtype) or tensor.dtype), is_scalar=False)

    return made


records(np.zeros_like)(_like(torch.zeros_like))
records(np.ones_like)(_like(torch.ones_like))
records(np.empty_like)(_like(torch.zeros_like))


@records(np.full_like)
def full_like(a: Any, fill_value: Any, dtype: Any = None) -> Any:
    """An array of the same sizes, filled with a number."""
    made = np.zeros_like(a, dtype)
    made[...] = fill_value
    return made


@records(np.copy)
def copy(a: Any, order: str = "K") -> Any:
    """A copy by rows, or in the order of the array."""
    if order != "K":
        raise NotRecorded
    return wrapped(_tensor(a).clone(), is_scalar=False)
