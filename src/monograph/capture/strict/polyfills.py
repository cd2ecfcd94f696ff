"""Polyfills of Python functions that would fix a size, used where the interpreter sees the call.

C functions such as `len` and `int` must answer with a plain number, so they would turn a size into
a constant. Where the argument is symbolic, each function here answers with a symbol instead, and
makes symbolic numbers and abstract tensors look like the numbers and tensors that they stand for;
with any other argument it is the function it replaces.

Adding one: decorate it with what it replaces. It is called as the original would be.
"""

from __future__ import annotations

import builtins
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeVar

import torch

from monograph.abstract.number_methods import SWAPPED, plain
from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.installation import REPLACEMENTS
from monograph.capture.numpy_arrays import UFUNCS, AbstractArray, ufunc_of_tensors
from monograph.capture.recording.symbolic_ranges import SymbolicRange
from monograph.capture.torch_overrides.number_classes import is_instance, type_of
from monograph.integers import call

if TYPE_CHECKING:
    from collections.abc import Iterable

Replacement = TypeVar("Replacement", bound=Callable[..., Any])

_SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)


def replaces(*originals: Any) -> Callable[[Replacement], Replacement]:
    """Let the function below stand for these."""

    def enter(replacement: Replacement) -> Replacement:
        for original in originals:
            if id(original) in REPLACEMENTS:
                raise ValueError(f"{original} has a replacement already")
            REPLACEMENTS[id(original)] = replacement
        return replacement

    return enter


for _ufunc in UFUNCS:
    replaces(_ufunc)(functools.partial(ufunc_of_tensors, _ufunc))


# --- numbers -----------------------------------------------------------------------------------


@replaces(builtins.len)
def length(of: Any, /) -> Any:
    """`len(t)` is the first size of a tensor."""
    if (issubclass(type(of), AbstractTensor) or type(of) is AbstractArray) and len(of.shape):
        return of.shape[0]
    if type(of) is SymbolicRange:
        return of.length()
    return len(of)


@replaces(builtins.int)
def integer(*args: Any, **kwargs: Any) -> Any:
    """`int(n)` of a symbolic number or of a tensor's only element, towards zero."""
    if len(args) == 1 and not kwargs:
        value = _element(args[0])
        if issubclass(type(value), torch.SymInt):
            return value
        if issubclass(type(value), torch.SymFloat):
            return torch.sym_int(value)
        return int(value)
    return int(*args, **kwargs)


@replaces(builtins.float)
def floating(*args: Any) -> Any:
    """`float(n)` of a symbolic number or of a tensor's only element."""
    if len(args) == 1:
        value = _element(args[0])
        if issubclass(type(value), torch.SymInt | torch.SymFloat):
            return torch.sym_float(value)
        return float(value)
    return float(*args)


def _element(value: Any) -> Any:
    """The number in a tensor or array of one element; anything else as it is."""
    value = value.tensor if type(value) is AbstractArray else value
    if issubclass(type(value), AbstractTensor) and not value.is_complex():
        return (value.to(torch.uint8) if value.dtype == torch.bool else value).item()
    return value


@replaces(builtins.pow)
def power(base: Any, exponent: Any, modulus: Any = None) -> Any:
    """`pow(2, n, 7)`, of which Python asks the first number alone."""
    numbers: list[Any] = [base, exponent, modulus]
    if modulus is not None and not issubclass(type(base), _SYMBOLIC):
        numbers[1:] = map(plain, numbers[1:])
    return pow(*numbers)


def of_plain_number(method: Any, args: list[Any]) -> Callable[..., Any] | None:
    """`(3).__lt__(n)`, `int.__lt__(3, n)`: what it does with the number that n stands for."""
    bound = [method.__self__, *args] if hasattr(method, "__self__") else [*args]
    name = method.__name__
    is_plain = len(bound) == 2 and issubclass(type(bound[0]), int | float)
    if not is_plain or name not in SWAPPED or not issubclass(type(bound[1]), _SYMBOLIC):
        return None
    if issubclass(type(bound[0]), int) and issubclass(type(bound[1]), torch.SymFloat):
        return None  # NotImplemented, as ints say of floats
    return lambda *_: getattr(bound[1], SWAPPED[name])(bound[0])


@replaces(builtins.max)
def greatest(*args: Any, **kwargs: Any) -> Any:
    """`max(m, n)` of integers, as an expression: no side is chosen."""
    args = _listed(args)
    numbers = _integers(args, kwargs)
    return max(*args, **kwargs) if numbers is None else _fold(torch.sym_max, numbers)


@replaces(builtins.min)
def least(*args: Any, **kwargs: Any) -> Any:
    """`min(m, n)` of integers, as an expression: no side is chosen."""
    args = _listed(args)
    numbers = _integers(args, kwargs)
    return min(*args, **kwargs) if numbers is None else _fold(torch.sym_min, numbers)


def compares_tensors(callee: Any, args: list[Any]) -> bool:
    """Whether this is `max` or `min` of tensors, which are compared one by one."""
    if callee is not builtins.max and callee is not builtins.min:
        return False
    given = args[0] if len(args) == 1 and issubclass(type(args[0]), list | tuple) else args
    return any(issubclass(type(each), torch.Tensor) for each in given)


def _listed(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """What `max(t.shape[0] for t in ts)` chooses from, in a list."""
    return (list(args[0]),) if len(args) == 1 and hasattr(args[0], "__next__") else args


def _integers(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any] | None:
    """The numbers to choose from, if all are integers and one at least is symbolic."""
    if kwargs:
        return None
    given = args[0] if len(args) == 1 and issubclass(type(args[0]), list | tuple) else args
    numbers: list[Any] = list(given)
    if not any(issubclass(type(number), torch.SymInt) for number in numbers):
        return None
    plain = all(type(number) is int or issubclass(type(number), torch.SymInt) for number in numbers)
    return numbers if plain else None


def _fold(function: Callable[[Any, Any], Any], numbers: Iterable[Any]) -> Any:
    first, *rest = numbers
    for number in rest:
        first = function(first, number)
    return first


@replaces(math.sqrt)
def square_root(number: Any, /) -> Any:
    """`math.sqrt(n)`, which would fix `n`."""
    return torch.sym_sqrt(number) if issubclass(type(number), _SYMBOLIC) else math.sqrt(number)


def _of_floats(name: str, function: Callable[..., float], is_defined: Any) -> None:
    @replaces(function)
    def computed(number: Any, /, *more: Any) -> Any:
        """A function of `math`, of a size: the program computes it, where it is defined."""
        if more or not issubclass(type(number), _SYMBOLIC):
            return function(number, *more)
        if not is_defined(number):
            return function(0)  # raises what it does
        return to_sym(call(name, to_python(number)), number.node.facts)

    del computed


_of_floats("log2", math.log2, lambda number: number > 0)
for _name in ("cos", "sin", "tanh", "atan"):
    _of_floats(_name, getattr(math, _name), lambda _: True)


def equal(one: Any, other: Any, /) -> Any:
    """`torch.equal(a, b)`, which C++ would answer with a plain truth."""
    if not issubclass(type(one), AbstractTensor) or not issubclass(type(other), AbstractTensor):
        return torch.equal(one, other)
    if one.dtype != other.dtype or one.shape != other.shape:
        return torch.equal(one, other)
    return (one == other).all().item() != 0


def allclose(one: Any, other: Any, /, *more: Any, **options: Any) -> Any:
    """`torch.allclose(a, b)`, likewise."""
    if not issubclass(type(one), AbstractTensor) or not issubclass(type(other), AbstractTensor):
        return torch.allclose(one, other, *more, **options)
    return torch.isclose(one, other, *more, **options).all().item() != 0


TRUTHS: Final = {id(torch.equal): equal, id(torch.allclose): allclose}
"""What decides branches, by identity, where both ways are recorded."""


@replaces(torch.Size.numel)
def product(shape: torch.Size, /) -> Any:
    """`x.shape.numel()`."""
    return math.prod(shape)


# --- what kind of thing it is --------------------------------------------------------------------


replaces(builtins.isinstance)(is_instance)
replaces(builtins.type)(type_of)
