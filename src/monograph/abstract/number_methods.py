"""Special methods of symbolic numbers: the whole data model of `int`, `float` and `bool`.

torch gives SymInt, SymFloat and SymBool a part of the methods that Python's numbers have. Here are
all of them, in one table per class: what stands for a plain number during a capture has each method
that the number has. Each is of one kind:

- *exact*: an expression of the same symbols (`n ^ 5`, `divmod(n, 3)`, `n.real`);
- *fixed*: what has no expression is asked of the plain number, which a guard fixes (`2**n`,
  `hash(n)`, `n.to_bytes(2)`), or which is refused by name where only data tells it;
- *torch's*: those of torch that ask the node already.

A method asks first whether the number is of a capture of ours; any other goes on as before. So they
are put in place once, when this file is imported. A number beside one of another kind (complex,
Fraction, Decimal, NumPy's) is fixed, too.
"""

from __future__ import annotations

import operator
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import torch

from monograph.abstract.arithmetic import (
    ARITHMETIC,
    BITWISE,
    COMPARISONS,
    UNARY,
    as_number,
    combined,
    compared,
    result_type,
)
from monograph.abstract.symbols import SymbolNode, is_shown, to_python, to_sym
from monograph.integers import in_force

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Kind = Literal["exact", "fixed", "torch's"]

_SYMBOLIC: Final = (torch.SymInt, torch.SymFloat, torch.SymBool)
STANDS_FOR: Final[Mapping[type, type]] = MappingProxyType(
    {torch.SymInt: int, torch.SymFloat: float, torch.SymBool: bool}
)
_PLAIN: Final = (int, float)
_USUAL: Final = frozenset({*_PLAIN, bool, *_SYMBOLIC})
_TURNED: Final = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le"}
"""Comparisons that change their name when the sides change places."""
_OTHER: Final = frozenset({"complex", "Decimal", "Fraction", "timedelta"})
"""Kinds of numbers that no expression is made of, by name: two of them are rarely imported."""


def plain(number: Any) -> Any:
    """The plain number that a guard fixes a symbolic one to; anything else as it is.

    Raises: specialized-value, data-dependent-size.
    """
    return number.node.evaluate() if isinstance(number, _SYMBOLIC) else number


# --- exact -------------------------------------------------------------------------------------


def _is_beside(other: Any) -> bool:
    """Whether another number takes part in exact arithmetic."""
    return isinstance(other, (*_PLAIN, *_SYMBOLIC))


def _is_of_another_kind(other: Any) -> bool:
    return type(other).__name__ in _OTHER


def _zero(value: Any) -> Any:
    return result_type(value)(1)


def _computed(name: str, left: Any, right: Any, node: SymbolNode) -> Any:
    a, b = to_python(left), to_python(right)
    if name in BITWISE and float in {result_type(a), result_type(b)}:
        getattr(operator, f"__{name}__")(_zero(a), _zero(b))  # raises what Python says of floats
    return to_sym(combined(name, a, b, node.fix), node.facts)


def _of_class(other: Any, reflected: str, number: Any) -> Any:
    """What a number of a user's class makes of a plain one at its left, whose class is its base.

    Python asks it first then. `NotImplemented` where it says nothing, as flags of `enum`, which
    give what the plain one does.
    """
    own = getattr(type(other), reflected, None) if isinstance(other, _PLAIN) else None
    if type(own) is not FunctionType or own.__module__ == "enum":
        return NotImplemented
    return own(other, number)


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if type(other) not in _USUAL:
            found = _of_class(other, f"__r{name}__", self)
            if found is not NotImplemented:
                return found
        if _is_beside(other):
            return _computed(name, self, other, self.node)
        if _is_of_another_kind(other):
            return getattr(operator, f"__{name}__")(plain(self), other)
        return NotImplemented

    return method


def _reflected(name: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if _is_beside(other):
            return _computed(name, other, self, self.node)
        if _is_of_another_kind(other):
            return getattr(operator, f"__{name}__")(other, plain(self))
        return NotImplemented

    return method


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    reflected = f"__{_TURNED.get(name, name)}__"

    def method(self: Any, other: Any) -> Any:
        if type(other) not in _USUAL:
            found = _of_class(other, reflected, self)
            if found is not NotImplemented:
                return found
        if _is_beside(other):
            relation = compared(name, to_python(self), to_python(other))
            return to_sym(relation, self.node.facts)
        if _is_of_another_kind(other):
            return getattr(operator, f"__{name}__")(plain(self), other)
        return NotImplemented

    return method


def _unary(name: str) -> Callable[[Any], Any]:
    function, _ = UNARY[name]
    return lambda self: to_sym(function(as_number(to_python(self))), self.node.facts)


def _divmod(self: Any, other: Any) -> Any:
    if type(other) not in _USUAL:
        found = _of_class(other, "__rdivmod__", self)
        if found is not NotImplemented:
            return found
    if not _is_beside(other):
        return divmod(plain(self), other) if _is_of_another_kind(other) else NotImplemented
    return self // other, self % other


def _rdivmod(self: Any, other: Any) -> Any:
    if not _is_beside(other):
        return divmod(other, plain(self)) if _is_of_another_kind(other) else NotImplemented
    return other // self, other % self


_power: Final = _binary("pow")


def _pow(self: Any, other: Any, modulus: Any = None) -> Any:
    """`n ** k`, and `pow(n, k, m)`, which is exact for small powers."""
    if modulus is None:
        return _power(self, other)
    if type(other) is int and other >= 0 and type(modulus) is int:
        return self**other % modulus
    return pow(plain(self), plain(other), plain(modulus))


def _rounded(self: Any, digits: Any = None) -> Any:
    """`round(x)`; with digits it is that of the plain number."""
    if digits is None:
        return to_sym(self.node.round().value, self.node.facts)
    return round(plain(self), digits)


def _itself(self: Any) -> Any:
    return to_sym(as_number(to_python(self)), self.node.facts)


def _imaginary(self: Any) -> Any:
    return 0.0 if self.node.is_float() else 0


def _one(self: Any) -> int:
    del self
    return 1


def _ratio(self: Any) -> Any:
    return (_itself(self), 1) if not self.node.is_float() else plain(self).as_integer_ratio()


# --- fixed -------------------------------------------------------------------------------------


def _fixed(name: str) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(plain(self), name)(*map(plain, args), **kwargs)

    return method


def _formatted(self: Any, spec: str) -> str:
    """The text of a plain number; where nobody can be asked, of the expression."""
    if is_shown():
        found = self.node.shown()
        return found if isinstance(found, str) else format(found, spec)
    return format(plain(self) if in_force(self.node.facts) else str(self), spec)


# --- the tables --------------------------------------------------------------------------------

_EXACT: Final[dict[str, Callable[..., Any]]] = {
    **{f"__{name}__": _binary(name) for name in (*ARITHMETIC, *BITWISE)},
    **{f"__r{name}__": _reflected(name) for name in (*ARITHMETIC, *BITWISE)},
    **{f"__{name}__": _comparison(name) for name in COMPARISONS},
    **{f"__{name}__": _unary(name) for name in ("neg", "pos", "abs", "floor", "ceil", "trunc")},
    "__invert__": _unary("invert"),
    "__pow__": _pow,
    "__divmod__": _divmod,
    "__rdivmod__": _rdivmod,
    "__round__": _rounded,
    "as_integer_ratio": _ratio,
    "conjugate": _itself,
    "is_integer": _unary("is_integer"),
}
SWAPPED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **{f"__{word}__": f"__r{word}__" for word in (*ARITHMETIC, *BITWISE, "divmod")},
        **{f"__r{word}__": f"__{word}__" for word in (*ARITHMETIC, *BITWISE, "divmod")},
        "__lt__": "__gt__",
        "__gt__": "__lt__",
        "__le__": "__ge__",
        "__ge__": "__le__",
        "__eq__": "__eq__",
        "__ne__": "__ne__",
    }
)
"""The method of the other number that says the same."""
_EXACT_ATTRIBUTES: Final[dict[str, Callable[[Any], Any]]] = {
    "denominator": _one,
    "imag": _imaginary,
    "numerator": lambda self: int(plain(self)),
    "real": _itself,
}
_FIXED: Final = frozenset(
    {
        *("__format__", "__index__", "__sizeof__"),
        *("bit_count", "bit_length", "hex", "to_bytes"),
    }
)
_TORCHS: Final = frozenset(
    {
        *("__bool__", "__float__", "__hash__", "__int__", "__repr__"),
        *("__str__", "__init__", "__new__", "__init_subclass__", "__subclasshook__"),
        *("__class__", "__delattr__", "__dir__", "__doc__", "__getattribute__", "__getstate__"),
        *("__reduce__", "__reduce_ex__", "__setattr__"),
        *("__getformat__", "__getnewargs__", "from_bytes", "from_number", "fromhex"),
    }
)
"""Those that ask the node, or nothing of the number: what any object has, and class methods."""


def kind_of(name: str) -> Kind | None:
    """How a method of Python's numbers is answered; None for one that is in no table."""
    if name in _EXACT or name in _EXACT_ATTRIBUTES:
        return "exact"
    if name in _FIXED:
        return "fixed"
    return "torch's" if name in _TORCHS else None


def _for_ours(owner: type, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """The method where the number is of a capture of ours; else what was there before."""
    before = vars(owner).get(name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.node, SymbolNode):
            return function(self, *args, **kwargs)
        if before is not None:
            return before(self, *args, **kwargs)
        after = getattr(super(owner, self), name, None)
        return NotImplemented if after is None else after(*args, **kwargs)

    method.__name__ = name
    return method


def _attribute(owner: type, name: str, function: Callable[[Any], Any]) -> property:
    def attribute(self: Any) -> Any:
        if isinstance(self.node, SymbolNode):
            return function(self)
        return getattr(super(owner, self), name)

    return property(attribute)


def _to_numpy(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: Any) -> Any:
    """What NumPy makes of numbers: exact where both are whole, else of plain numbers.

    `np.float32(0.1) * n` is rounded to single precision, which no expression does.
    """
    name = _UFUNCS.get(ufunc)
    are_whole = all(isinstance(each, np.integer) or type(each) in _WHOLE for each in inputs)
    if name is not None and method == "__call__" and not kwargs and are_whole:
        return getattr(operator, name)(*[_item(each) for each in inputs])
    return getattr(ufunc, method)(*map(plain, inputs), **kwargs)


def _item(value: Any) -> Any:
    return value.item() if isinstance(value, np.integer) else value


_WHOLE: Final = frozenset({int, torch.SymInt})
_UFUNCS: Final[dict[Any, str]] = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.less: "lt",
    np.less_equal: "le",
    np.greater: "gt",
    np.greater_equal: "ge",
    np.equal: "eq",
    np.not_equal: "ne",
}


def _to_numpy_of(owner: type) -> Callable[..., Any]:
    def method(self: Any, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if isinstance(self.node, SymbolNode):
            return _to_numpy(ufunc, method, inputs, kwargs)
        objects = [np.asarray(x, dtype=object) if isinstance(x, owner) else x for x in inputs]
        return getattr(ufunc, method)(*objects, **kwargs)

    return method


def _made_of(owner: type, number: type) -> Callable[..., Any]:
    """`type(n)(value)`, as `statistics.mean` makes its result: the number that n stands for."""

    def new(cls: Any, *args: Any) -> Any:
        is_node = not args or type(args[0]) is SymbolNode or hasattr(args[0], "is_symbolic")
        if is_node or cls is not owner:
            return object.__new__(cls)
        if not isinstance(args[0], (*_PLAIN, *_SYMBOLIC, str)):
            message = f"{owner.__name__} is made of no {type(args[0]).__name__}"
            raise TypeError(message)
        return number(*args)

    return new


def _install() -> None:
    """Give each class the methods that what it stands for has."""
    for owner, number in STANDS_FOR.items():
        owner.__array_ufunc__ = _to_numpy_of(owner)
        owner.__new__ = _made_of(owner, number)
        owner.__dir__ = _for_ours(owner, "__dir__", lambda _, number=number: dir(number))
        for name in dir(number):
            if name in _EXACT or name in _FIXED:
                function = _EXACT.get(name) or (
                    _formatted if name == "__format__" else _fixed(name)
                )
                setattr(owner, name, _for_ours(owner, name, function))
            elif name in _EXACT_ATTRIBUTES:
                setattr(owner, name, _attribute(owner, name, _EXACT_ATTRIBUTES[name]))


_install()

__all__ = ["STANDS_FOR", "SWAPPED", "Kind", "kind_of", "plain"]
