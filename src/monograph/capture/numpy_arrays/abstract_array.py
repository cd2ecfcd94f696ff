"""The abstract array: the `numpy.ndarray` or scalar of NumPy that user code sees in a capture.

It wraps an abstract tensor, whose memory it shares, as `tensor.numpy()` does: writes to the one
show in the other, and views of it are views of the tensor. Arithmetic on arrays without dimensions
gives scalars, which nothing writes to.
"""

from __future__ import annotations

import functools
import inspect
import operator
from sys import _getframe
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np
import torch

from monograph.capture.numpy_arrays.dispatch import FUNCTIONS, UFUNCS, NotRecorded
from monograph.capture.numpy_arrays.dtypes import TO_NUMPY, torch_dtype
from monograph.capture.numpy_arrays.writing import check_setter, is_elements, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from monograph.abstract.tensor import AbstractTensor

__all__ = ["AbstractArray", "apply", "apply_ufunc", "values_of", "wrapped"]


class AbstractArray:
    """What stands for an array, or a scalar of NumPy, over a tensor [*]."""

    __slots__ = ("__weakref__", "is_scalar", "tensor")
    __array_priority__: Final = 0.0

    def __init__(self, tensor: AbstractTensor, *, is_scalar: bool = False) -> None:
        self.tensor = tensor
        self.is_scalar = is_scalar

    @property
    def __class__(self) -> type:  # pyright: ignore[reportIncompatibleMethodOverride] - C asks this
        """What it stands for."""
        return self.dtype.type if self.is_scalar else np.ndarray

    # --- facts ---------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy's dtype."""
        return TO_NUMPY[self.tensor.dtype]

    @property
    def shape(self) -> tuple[Any, ...]:
        """Its sizes, plain or symbolic."""
        return tuple(self.tensor.shape)

    @property
    def ndim(self) -> int:
        """How many dimensions it has."""
        return self.tensor.dim()

    @property
    def size(self) -> Any:
        """How many elements it has."""
        return self.tensor.numel()

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.dtype.itemsize

    @property
    def nbytes(self) -> Any:
        """Bytes of its elements."""
        return self.size * self.itemsize

    @property
    def T(self) -> Any:  # noqa: N802 - as NumPy calls it
        """The view with its dimensions in reverse."""
        return self.transpose()

    @property
    def real(self) -> Any:
        """The real parts: a view of complex numbers, else itself."""
        return self._view(self.tensor.real) if self.tensor.is_complex() else self

    @property
    def imag(self) -> Any:
        """The imaginary parts of complex numbers."""
        if not self.tensor.is_complex():
            return self._read("imag")
        return self._view(self.tensor.imag)

    def _view(self, tensor: Any) -> AbstractArray:
        return AbstractArray(tensor, is_scalar=self.is_scalar)

    def _read(self, reader: str) -> Any:
        """What only its values tell.

        Raises: value-read.
        """
        recorder: Any = self.tensor.recorder
        return recorder.read_data(self.tensor, reader)

    def __getattr__(self, name: str) -> Any:
        if not hasattr(np.ndarray, name):
            raise AttributeError(f"'{self.__class__.__name__}' object has no attribute '{name}'")
        by_c = name in {"__array_struct__", "__array_interface__"}
        return getattr(self._read("numpy.asarray()" if by_c else f"numpy.ndarray.{name}"), name)

    # --- items ---------------------------------------------------------------------------------

    def __len__(self) -> int:
        if not self.tensor.dim():
            raise TypeError("len() of unsized object")
        return len(self.tensor)

    def __iter__(self) -> Iterator[Any]:
        if not self.tensor.dim():
            raise TypeError("iteration over a 0-d array")
        return map(_item, self.tensor)  # which can be copied where ways part, as no generator can

    def __getitem__(self, key: Any) -> Any:
        try:
            found = _at(self.tensor, key)
        except NotRecorded:
            return self._read("numpy.ndarray.__getitem__")[key]
        keys = key if type(key) is tuple else (key,)
        return AbstractArray(found) if Ellipsis in map(_plain, keys) else _item(found)

    def __setitem__(self, key: Any, value: Any) -> None:
        if self.is_scalar:
            name = self.__class__.__name__
            raise TypeError(f"'numpy.{name}' object does not support item assignment")
        try:
            if type(value) is AbstractArray and not value.is_scalar:
                check_setter(_getframe(1))
            given = operand(value, self)
            is_tensor = isinstance(given, torch.Tensor)
            write(self.tensor, _key(key), given.to(self.tensor.dtype) if is_tensor else given)
        except NotRecorded:
            self._read("numpy.ndarray.__setitem__")[key] = value

    def __contains__(self, value: object) -> bool:
        found: Any = self == value
        return bool(found.any())

    # --- numbers -------------------------------------------------------------------------------

    def item(self, *args: Any) -> Any:
        """Its only element, as a number that the run tells."""
        at = args[0] if len(args) == 1 else args
        if len(args) == 1 and type(at) is not tuple:
            return self.tensor.reshape(-1)[_key(at)].item()
        return (self[at] if args else self).tensor.item()

    def tolist(self) -> Any:
        """Nested lists of numbers that the run tells."""
        return self.tensor.tolist()

    def __bool__(self) -> bool:
        return bool(self.tensor)

    def __int__(self) -> int:
        return int(self.tensor)

    def __float__(self) -> float:
        return float(self.tensor)

    def __complex__(self) -> complex:
        return complex(self.tensor)

    def __index__(self) -> int:
        return operator.index(self.tensor)

    def __hash__(self) -> int:
        if not self.is_scalar:
            raise TypeError("unhashable type: 'numpy.ndarray'")
        return hash(self._read("hash()"))

    def __repr__(self) -> str:
        return repr(self.tensor)

    def __format__(self, spec: str) -> str:
        return format(self.tensor, spec)

    # --- methods -------------------------------------------------------------------------------

    def reshape(self, *shape: Any, order: str = "C") -> Any:
        """A view of other sizes where there is one, else a copy."""
        sizes = shape[0] if len(shape) == 1 else shape
        return apply(np.reshape, (self, sizes), {"order": order})

    def transpose(self, *axes: Any) -> Any:
        """The view with its dimensions in another order."""
        order = axes[0] if len(axes) == 1 else axes or None
        return apply(np.transpose, (self, order), {})

    def ravel(self, order: str = "C") -> Any:
        """[*] -> [n]: a view of what lies in rows, else a copy."""
        return apply(np.ravel, (self,), {"order": order})

    def flatten(self, order: str = "C") -> Any:
        """[*] -> [n], in a copy."""
        return self.reshape(-1, order=order).copy()

    def astype(self, dtype: Any, order: str = "K", *, copy: bool = True) -> Any:
        """The values cast to another dtype; a copy, unless told otherwise, that lies as it does."""
        try:
            wanted = torch_dtype(np.dtype(dtype)) if order == "K" else None
        except NotRecorded:
            wanted = None
        if wanted is None:
            return self._read("numpy.ndarray.astype").astype(dtype, order, copy=copy)
        if wanted == self.tensor.dtype and not copy:
            return self
        return self._view(self.tensor.to(wanted, copy=True))

    def copy(self, order: str = "C") -> Any:
        """A copy, by rows."""
        if order != "C":
            return self._read("numpy.ndarray.copy").copy(order)
        return self._view(self.tensor.clone(memory_format=torch.contiguous_format))

    def fill(self, value: Any) -> None:
        """Write a number to each element."""
        self[...] = value

    def conj(self) -> Any:
        """The complex conjugate; an array of real numbers itself."""
        if not (self.is_scalar or self.tensor.is_complex()):
            return self
        return apply_ufunc(np.conjugate, "__call__", (self,), {})

    conjugate = conj

    # --- protocols -----------------------------------------------------------------------------

    def __divmod__(self, other: Any) -> Any:
        return apply_ufunc(np.divmod, "__call__", (self, other), {})

    def __rdivmod__(self, other: Any) -> Any:
        return apply_ufunc(np.divmod, "__call__", (other, self), {})

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        """What C code that knows no dispatch reads.

        Raises: value-read.
        """
        return np.array(self._read("numpy.asarray()"), dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        """Record a ufunc (NEP 13)."""
        return apply_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(
        self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Record a function (NEP 18)."""
        del types
        return apply(function, args, kwargs)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Any:
        return self.copy()

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._read("pickle")
        raise TypeError("cannot pickle an array of a capture")


def wrapped(tensor: Any, *, is_scalar: bool | None = None) -> AbstractArray:
    """What a function of NumPy gives: a scalar where there are no dimensions."""
    return AbstractArray(tensor, is_scalar=not tensor.dim() if is_scalar is None else is_scalar)


def _item(found: Any) -> AbstractArray:
    """A view, or the copy of an element."""
    return AbstractArray(found) if found.dim() else AbstractArray(found.clone(), is_scalar=True)


def _plain(key: Any) -> Any:
    """A part of a key, where comparing it decides nothing."""
    return key if key is Ellipsis else None


def _at(tensor: Any, key: Any) -> Any:
    """`tensor[key]`; of what lists of places choose, NumPy has these dimensions outermost."""
    keys = _key(key)
    if type(keys) is not tuple or not any(isinstance(each, torch.Tensor) for each in keys):
        return tensor[keys]
    view = tensor[tuple(slice(None) if isinstance(k, torch.Tensor) else k for k in keys)]
    (at,) = (at for at, each in enumerate(keys) if isinstance(each, torch.Tensor))
    behind = keys[at + 1 :]
    dim = view.dim() - 1 - len(behind) if Ellipsis in map(_plain, keys[:at]) else at
    if view.dim() + (Ellipsis in map(_plain, behind)) < at + 1 + len(behind):
        raise IndexError("too many indices for array")
    chosen = view.movedim(dim, 0)[keys[at]]
    n_chosen = chosen.dim() - view.dim() + 1
    return chosen.movedim(tuple(range(n_chosen)), tuple(range(dim, dim + n_chosen)))


def _key(key: Any) -> Any:
    """A key of a tensor for one of an array.

    Raises: NotRecorded (what PyTorch has no view for, or places elsewhere).
    """
    if type(key) is tuple:
        keys = tuple(map(_key, key))
        n_tensors = sum(isinstance(each, torch.Tensor) for each in keys)
        # Beside a list of places a number is one, too, and their dimension may come first.
        if n_tensors > 1 or (n_tensors and any(isinstance(k, int | torch.SymInt) for k in keys)):
            raise NotRecorded
        return keys
    if type(key) is AbstractArray:
        return key.item() if key.is_scalar else _places(key.tensor)
    if type(key) is list and all(type(each) is int for each in key):
        return torch.tensor(key)
    if isinstance(key, slice):
        parts = [_key(each) for each in (key.start, key.stop, key.step)]
        if type(parts[2]) is int and parts[2] < 0:
            raise NotRecorded
        return slice(*parts)
    if isinstance(key, np.generic):
        return key.item()
    if isinstance(key, np.ndarray):
        return _places(torch.tensor(key))
    if key is None or key is Ellipsis or isinstance(key, int | torch.SymInt):
        return key
    raise NotRecorded


def _places(indices: Any) -> Any:
    """Indices of an array as a tensor has them: PyTorch takes bytes for a mask."""
    return indices.long() if indices.dtype == torch.uint8 else indices


# --- calls ---------------------------------------------------------------------------------------


def operand(value: Any, beside: AbstractArray | None = None) -> Any:
    """A tensor for an array; numbers of Python as they are.

    Raises: NotRecorded (a tensor, a list, an object).
    """
    if type(value) is AbstractArray:
        return value.tensor
    if isinstance(value, np.ndarray | np.generic):
        torch_dtype(value.dtype)
        return torch.tensor(value)
    if isinstance(value, bool | int | float | complex | torch.SymInt | torch.SymFloat):
        return value
    if type(value) in {list, tuple} and beside is not None and is_elements(value):
        return torch.tensor(value, dtype=beside.tensor.dtype)
    raise NotRecorded


def apply(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """Call what records a function of NumPy, or that function on values.

    Raises: value-read.
    """
    try:
        return _bound(function, args, kwargs)()
    except NotRecorded:
        pass
    name = f"numpy.{getattr(function, '__name__', function)}()"
    return function(*values_of(args, name), **values_of(dict(kwargs), name))


def _bound(function: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[], Any]:
    """What records a function, with its arguments; None for what it does not take is not given."""
    found = FUNCTIONS.get(function)
    if found is None:
        raise NotRecorded
    signature = inspect.signature(found)
    taken = signature.parameters
    given = {name: each for name, each in kwargs.items() if each is not None or name in taken}
    try:
        signature.bind(*args, **given)
    except TypeError:
        raise NotRecorded from None
    return functools.partial(found, *args, **given)


def apply_ufunc(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Record a ufunc: operands are cast to the dtypes of NumPy's loop, and so is the result.

    Raises: value-read, and what NumPy raises for these dtypes.
    """
    try:
        if method == "reduce":
            return _reduced(ufunc, *inputs, **kwargs)
        return _elementwise(ufunc, method, inputs, **kwargs)
    except NotRecorded:
        name = f"numpy.{ufunc.__name__}()"
        return getattr(ufunc, method)(*values_of(inputs, name), **values_of(kwargs, name))


def _by_rows_where_whole(result: Any) -> Any:
    """NumPy gives dimensions of one element the strides of what lies by rows, if the rest does."""
    if not any(type(size) is int and size == 1 for size in result.shape):
        return result
    return result.reshape(-1).view(result.shape) if result.is_contiguous() else result


def _elementwise(
    ufunc: np.ufunc, method: str, inputs: tuple[Any, ...], out: Any = (None,), **options: Any
) -> Any:
    if method != "__call__" or options or ufunc.nout != 1 or ufunc not in UFUNCS:
        raise NotRecorded
    (out,) = out
    operands = [operand(each) for each in inputs]
    *loop, given = ufunc.resolve_dtypes((*map(_kind, operands), None))
    if (ufunc in {np.power, np.matmul} and loop[0].kind == "b") or (
        ufunc is np.power and _kind(operands[0]) == np.dtype(bool)
    ):
        raise NotRecorded
    if loop[-1].kind in "iu" and ufunc in _OF_INTEGERS:
        last = operands[-1]
        if type(last) is not int or last < 0 or (last == 0 and ufunc is not np.power):
            raise NotRecorded  # NumPy gives zeros or raises, by the values
    cast = [_cast(each, dtype) for each, dtype in zip(operands, loop, strict=True)]
    result = UFUNCS[ufunc](*cast).to(torch_dtype(given))
    if out is None:
        return wrapped(_by_rows_where_whole(result))
    if type(out) is not AbstractArray:
        raise NotRecorded
    if not np.can_cast(given, out.dtype, "same_kind"):
        raise TypeError(
            f"Cannot cast ufunc '{ufunc.__name__}' output from {given!r} to {out.dtype!r} with"
            " casting rule 'same_kind'"
        )
    write(out.tensor, Ellipsis, result)
    return out


def _kind(value: Any) -> Any:
    """What decides the loop: a dtype, or the class of a number of Python, which is weak."""
    if isinstance(value, torch.Tensor):
        return TO_NUMPY[value.dtype]
    if isinstance(value, bool):
        return np.dtype(bool)
    return next(each for each, kinds in _WEAK.items() if isinstance(value, kinds))


_OF_INTEGERS: Final = frozenset({np.power, np.floor_divide, np.remainder, np.fmod, np.reciprocal})
_WEAK: Final[Mapping[type, Any]] = {
    int: int | torch.SymInt,
    float: float | torch.SymFloat,
    complex: complex,
}


def _cast(value: Any, dtype: np.dtype[Any]) -> Any:
    """An operand as the loop takes it.

    Raises: NotRecorded (a number that does not fit, where some functions go by their own ways).
    """
    if isinstance(value, torch.Tensor):
        return value.to(torch_dtype(dtype))
    if isinstance(value, bool | int | float | complex):
        try:
            return torch.tensor(np.array(value, dtype))
        except OverflowError:
            raise NotRecorded from None
    return torch.scalar_tensor(value, dtype=torch_dtype(dtype))


_REDUCING: Final[Mapping[np.ufunc, Any]] = {
    np.add: np.sum,
    np.multiply: np.prod,
    np.maximum: np.max,
    np.minimum: np.min,
    np.logical_and: np.all,
    np.logical_or: np.any,
}


def _reduced(ufunc: np.ufunc, array: Any, axis: Any = 0, **options: Any) -> Any:
    function = _REDUCING.get(ufunc)
    if function is None:
        raise NotRecorded
    whole = axis is None
    return _bound(function, (array,), options if whole else {"axis": axis, **options})()


def values_of(values: Any, reader: str) -> Any:
    """The same with values in place of abstract arrays."""
    if type(values) is AbstractArray:
        recorder: Any = values.tensor.recorder
        return recorder.read_data(values.tensor, reader)
    if type(values) in {list, tuple}:
        return type(values)([values_of(each, reader) for each in values])
    if type(values) is dict:
        return {key: values_of(each, reader) for key, each in values.items()}
    return values


# --- operators and methods -----------------------------------------------------------------------

_BINARY: Final[Mapping[str, np.ufunc]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "matmul": np.matmul,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
_COMPARING: Final[Mapping[str, np.ufunc]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_UNARY: Final[Mapping[str, np.ufunc]] = {
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "invert": np.invert,
}
_METHODS: Final = (
    *("sum", "mean", "prod", "min", "max", "std", "var", "argmin", "argmax", "cumsum", "cumprod"),
    *("any", "all", "round", "squeeze", "swapaxes", "clip", "dot", "repeat", "trace", "nonzero"),
    *("diagonal",),
)


def _binary(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def forward(self: AbstractArray, other: Any) -> Any:
        if isinstance(other, torch.Tensor) and self.is_scalar:
            return _operator(name)(self.item(), other)  # as tensors have it of numbers
        if isinstance(other, torch.Tensor):
            return NotImplemented  # as arrays leave it to what has a higher priority
        return apply_ufunc(ufunc, "__call__", (self, other), {})

    return forward


def _operator(name: str) -> Callable[..., Any]:
    return getattr(operator, f"{name}_" if name in {"and", "or"} else name)


def _reflected(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def backward(self: AbstractArray, other: Any) -> Any:
        if not isinstance(other, torch.Tensor):
            return apply_ufunc(ufunc, "__call__", (other, self), {})
        if self.is_scalar:
            return _operator(name)(other, self.item())
        array: Any = other.numpy()
        return apply_ufunc(ufunc, "__call__", (array, self), {}).tensor

    return backward


def _in_place(ufunc: np.ufunc) -> Callable[..., Any]:
    def augmented(self: AbstractArray, other: Any) -> Any:
        if isinstance(other, torch.Tensor):
            return NotImplemented
        out = {} if self.is_scalar else {"out": (self,)}
        return apply_ufunc(ufunc, "__call__", (self, other), out)

    return augmented


def _unary(ufunc: np.ufunc) -> Callable[..., Any]:
    return lambda self: apply_ufunc(ufunc, "__call__", (self,), {})


def _method(function: Any) -> Callable[..., Any]:
    return lambda self, *args, **kwargs: apply(function, (self, *args), kwargs)


for _name, _ufunc in _BINARY.items():
    setattr(AbstractArray, f"__{_name}__", _binary(_name, _ufunc))
    setattr(AbstractArray, f"__r{_name}__", _reflected(_name, _ufunc))
    setattr(AbstractArray, f"__i{_name}__", _in_place(_ufunc))
for _name, _ufunc in _COMPARING.items():
    setattr(AbstractArray, f"__{_name}__", _binary(_name, _ufunc))
for _name, _ufunc in _UNARY.items():
    setattr(AbstractArray, f"__{_name}__", _unary(_ufunc))
for _name in _METHODS:
    setattr(AbstractArray, _name, _method(getattr(np, _name)))
