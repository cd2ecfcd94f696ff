"""Arithmetic on symbolic numbers: what `+`, `//`, `<`, `math.floor` of a SymInt make.

Each method of torch's SymNode is the same few lines around another function, so they are generated
from tables: name of the method, and the function on expressions that it applies.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from monograph.integers import (
    Expr,
    Real,
    Relation,
    all_of,
    any_of,
    call,
    ceil,
    decide,
    eq,
    floor,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    ne,
    negate,
    round_,
    sqrt,
    to_float,
    total,
    trunc,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

Value = int | float | bool | Expr | Real | Relation


def result_type(value: Any) -> type:
    """What kind of number a value is: int, float or bool."""
    if isinstance(value, bool | Relation):
        return bool
    return float if isinstance(value, float | Real) else int


def _is_real(*values: Any) -> bool:
    return any(isinstance(value, float | Real) for value in values)


def _as_number(value: Any) -> Any:
    """Truths take part in arithmetic as 0 and 1, by deciding them."""
    if isinstance(value, Relation):
        return int(decide(value))
    return value


def _truediv(left: Any, right: Any) -> Any:
    return call("truediv", left, right)


def _floordiv(left: Any, right: Any) -> Any:
    # 1.0 // 0.1 is 9.0, and floor(1.0 / 0.1) is 10.
    return call("floordiv", left, right) if _is_real(left, right) else left // right


def _python_mod(left: Any, right: Any) -> Any:
    return call("mod", left, right) if _is_real(left, right) else left % right


def _maximum(left: Any, right: Any) -> Any:
    return call("max", left, right) if _is_real(left, right) else maximum(left, right)


def _minimum(left: Any, right: Any) -> Any:
    return call("min", left, right) if _is_real(left, right) else minimum(left, right)


def _absolute(value: Any) -> Any:
    return abs(value) if _is_real(value) else maximum(value, -value)


def _pow(left: Any, right: Any) -> Any:
    return left**right


def _integral(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: value if isinstance(value, int | Expr) else function(value)


def _is_integer(value: Any) -> Any:
    if isinstance(value, int | Expr):
        return True
    return eq(to_float(floor(value)), value)


def _as_real(value: Any) -> Any:
    return value if isinstance(value, Real) else to_float(value)


_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "truediv": _truediv,
    "float_truediv": _truediv,
    "int_truediv": _truediv,
    "floordiv": _floordiv,
    "int_floordiv": _floordiv,
    "mod": _python_mod,
    "pow": _pow,
    "float_pow": _pow,
    "pow_by_natural": _pow,
    "sym_max": _maximum,
    "sym_min": _minimum,
    "lshift": lambda left, right: left * 2**right,
    "rshift": lambda left, right: left // 2**right,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "eq": eq,
    "ne": ne,
    "lt": lt,
    "le": le,
    "gt": gt,
    "ge": ge,
}
_CONNECTIVES: dict[str, Callable[[Any, Any], Any]] = {
    "and_": all_of,
    "or_": any_of,
    "sym_and": all_of,
    "sym_or": any_of,
    "bitwise_and": all_of,
    "bitwise_or": any_of,
}
_UNARY: dict[str, tuple[Callable[[Any], Any], type | None]] = {
    "neg": (operator.neg, None),
    "pos": (lambda value: value, None),
    "abs": (_absolute, None),
    "floor": (_integral(floor), int),
    "ceil": (_integral(ceil), int),
    "trunc": (_integral(trunc), int),
    "sym_int": (_integral(trunc), int),
    "sym_float": (_as_real, float),
    "sym_sqrt": (lambda value: sqrt(_as_real(value)), float),
    "is_integer": (_is_integer, bool),
}


class SymbolicNumber(ABC):
    """The arithmetic half of a SymNode; `SymbolNode` adds the questions."""

    __slots__ = ("pytype", "value")

    value: Any
    pytype: type

    @abstractmethod
    def settled(self) -> Any:
        """The value with everything learnt since substituted."""

    @abstractmethod
    def beside(self, value: Any, pytype: type | None = None) -> Self:
        """A node for another value of the same capture."""

    @abstractmethod
    def guard_float(self, file: str, line: int) -> float:
        """Fix the value to the example's."""

    def sym_not(self) -> Self:
        """The opposite."""
        return self.beside(negate(self.value), bool)

    def round(self, digits: Any = None) -> Self:
        """`round(x)` stays symbolic; `round(x, digits)` has no exact form and fixes the value."""
        value = self.settled()
        if isinstance(value, int | Expr):
            return self
        if digits is None:
            return self.beside(round_(value), int)
        return self.beside(round(self.guard_float("", 0), int(digits)), float)

    def sym_sum(self, nodes: Sequence[SymbolicNumber]) -> Self:
        """The sum of several."""
        return self.beside(total(node.settled() for node in nodes))

    def sym_ite(self, then: SymbolicNumber, otherwise: SymbolicNumber) -> SymbolicNumber:
        """One of two, by deciding."""
        return then if decide(self.value) else otherwise


def _numeric(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicNumber, other: SymbolicNumber) -> SymbolicNumber:
        return self.beside(function(_as_number(self.settled()), _as_number(other.settled())))

    return method


def _logical(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicNumber, other: SymbolicNumber) -> SymbolicNumber:
        return self.beside(function(self.value, other.value), bool)

    return method


def _unary(function: Callable[[Any], Any], pytype: type | None) -> Callable[[Any], Any]:
    def method(self: SymbolicNumber) -> SymbolicNumber:
        return self.beside(function(_as_number(self.settled())), pytype)

    return method


for _name, _function in (_ARITHMETIC | _COMPARISONS).items():
    setattr(SymbolicNumber, _name, _numeric(_function))
for _name, _function in _CONNECTIVES.items():
    setattr(SymbolicNumber, _name, _logical(_function))
for _name, (_function, _pytype) in _UNARY.items():
    setattr(SymbolicNumber, _name, _unary(_function, _pytype))

__all__ = ["SymbolicNumber", "Value", "result_type"]
