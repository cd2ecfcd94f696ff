"""Arithmetic on symbolic numbers: what `+`, `//`, `<`, `math.floor` of a SymInt make.

Operators are tables of functions on values (`ARITHMETIC`, `BITWISE`, `COMPARISONS`, `UNARY`), each
as Python defines it for int, float and bool: an exact expression, or a number fixed by a guard. The
methods of torch's SymNode are generated from them, and those of its numbers (`number_methods`).
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from monograph.integers import (
    EVERYTHING,
    INFINITY,
    Expr,
    Interval,
    Real,
    Relation,
    Truth,
    active,
    all_of,
    any_of,
    call,
    ceil,
    decide,
    declared_interval,
    eq,
    floor,
    ge,
    gt,
    has_facts,
    is_data_dependent,
    known,
    le,
    lt,
    maximum,
    minimum,
    ne,
    negate,
    opaque,
    relation_text,
    require,
    round_,
    sqrt,
    substitute,
    substitute_real,
    to_float,
    total,
    trunc,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

Value = int | float | bool | Expr | Real | Relation


def result_type(value: Any) -> type:
    """What kind of number a value is: int, float or bool."""
    if isinstance(value, bool | Relation):
        return bool
    return float if isinstance(value, float | Real) else int


def _is_real(*values: Any) -> bool:
    return any(isinstance(value, float | Real) for value in values)


def as_number(value: Any) -> Any:
    """Truths take part in arithmetic as 0 and 1: by deciding them, unless a symbol says it."""
    if isinstance(value, Relation):
        bit = _bit(value)
        return int(decide(value)) if bit is None else bit
    return int(value) if isinstance(value, bool) else value


def _bit(truth: Relation) -> Expr | None:
    """The symbol that is 1 where a truth read out of data holds, and 0 where not."""
    symbol = next(iter(truth.symbols)) if len(truth.symbols) == 1 else None
    if symbol is None or truth is not eq(symbol, 1):
        return None
    within = declared_interval(symbol)
    return symbol if (within.lower, within.upper) == (0, 1) else None


Fix = Callable[[Any], Any]
"""Makes a plain number of a symbolic one, by a guard, or refuses: `SymbolNode.evaluate`."""


def _nonzero(divisor: Any, plain: Callable[[], Any]) -> None:
    """A program divides by zero no more than eager code does; that raises what `plain` raises.

    Raises: ZeroDivisionError, check-fails.
    """
    _holds(_differs_from_zero(divisor), plain)


def _differs_from_zero(value: Any) -> Truth:
    return ne(value, 0.0 if _is_real(value) else 0)


def _holds(relation: Truth, plain: Callable[[], Any]) -> None:
    """Guarded, where only data tells asserted: elsewhere Python raises what `plain` raises."""
    if relation is True or not has_facts() or known(relation) is True:
        return
    if relation is not False and is_data_dependent(relation):
        require(relation, "check-fails", condition=relation_text(relation))
    elif not decide(relation):
        plain()


def _truediv(left: Any, right: Any, _: Fix) -> Any:
    _nonzero(right, lambda: 1.0 / 0.0 if _is_real(left, right) else 1 / 0)
    return call("truediv", left, right)


def _floordiv(left: Any, right: Any, _: Fix) -> Any:
    # 1.0 // 0.1 is 9.0, and floor(1.0 / 0.1) is 10.
    _nonzero(right, lambda: 1.0 // 0.0 if _is_real(left, right) else 1 // 0)
    return call("floordiv", left, right) if _is_real(left, right) else left // right


def _mod(left: Any, right: Any, _: Fix) -> Any:
    _nonzero(right, lambda: 1.0 % 0.0 if _is_real(left, right) else 1 % 0)
    return call("mod", left, right) if _is_real(left, right) else left % right


def _maximum(left: Any, right: Any, _: Fix) -> Any:
    return call("max", left, right) if _is_real(left, right) else maximum(left, right)


def _minimum(left: Any, right: Any, _: Fix) -> Any:
    return call("min", left, right) if _is_real(left, right) else minimum(left, right)


def _absolute(value: Any) -> Any:
    return abs(value) if _is_real(value) else maximum(value, -value)


_HIGHEST: Final = 8
"""The highest power that is multiplied out."""


def _pow(left: Any, right: Any, fix: Fix) -> Any:
    """A power: the exponent of a whole number is fixed, for `2**n` has no bound."""
    if not _is_real(left, right) and isinstance(right, Expr):
        right = fix(right)
    if isinstance(left, int | float) and isinstance(right, int | float):
        return left**right
    if not _is_real(left, right) and right >= 0:
        return left**right if right <= _HIGHEST else fix(left) ** right
    is_whole = isinstance(right, Expr) or (
        isinstance(right, int | float) and float(right).is_integer()
    )
    if not is_whole and not decide(ge(left, 0)):
        return fix(left) ** fix(right)  # a complex number
    _holds(any_of(_differs_from_zero(left), ge(right, 0)), lambda: 0.0**-1)
    return call("pow", left, right)


def _lshift(left: Any, right: Any, fix: Fix) -> Any:
    bits = fix(right)
    return fix(left) << bits if not 0 <= bits < _BITS else left * 2**bits


def _rshift(left: Any, right: Any, fix: Fix) -> Any:
    bits = fix(right)
    return fix(left) >> bits if not 0 <= bits < _BITS else left // 2**bits


_BITS: Final = 64


def _bitwise(name: str, plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any, Fix], Any]:
    def function(left: Any, right: Any, _: Fix) -> Any:
        if isinstance(left, int) and isinstance(right, int):
            return plain(left, right)
        number, mask = (right, left) if isinstance(left, int) else (left, right)
        if name == "bit_and" and isinstance(mask, int) and mask >= 0 and not mask & (mask + 1):
            return number % (mask + 1)
        pool = next(each.pool for each in (left, right) if isinstance(each, Expr))
        return opaque(pool, name, (number, mask), _bits_of(number, mask))

    return function


def _bits_of(*values: Any) -> Interval:
    """Where what is made of the bits of numbers lies, if none is negative."""
    found = [declared_interval(value) for value in values]
    if min(each.lower for each in found) < 0:
        return EVERYTHING
    most = max(each.upper for each in found)
    upper = most if most == INFINITY else (1 << int(most).bit_length()) - 1
    return Interval(0, upper)


def _exclusive(left: Any, right: Any) -> Any:
    return any_of(all_of(left, negate(right)), all_of(negate(left), right))


def _integral(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def rounded(value: Any) -> Any:
        if isinstance(value, int | Expr):
            return value
        made = function(value)
        told = active().rounded if has_facts() and isinstance(made, Expr) else None
        if told is not None:
            told(made)
        return made

    return rounded


def _is_integer(value: Any) -> Any:
    if isinstance(value, int | Expr):
        return True
    return eq(to_float(floor(value)), value)


def _as_real(value: Any) -> Any:
    return value if isinstance(value, Real) else to_float(value)


def _plainly(function: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any, Fix], Any]:
    """A sum, difference or product: floats as Python rounds them."""
    return lambda left, right, _: (
        call(name, left, right) if _is_real(left, right) else function(left, right)
    )


ARITHMETIC: Final[Mapping[str, Callable[[Any, Any, Fix], Any]]] = MappingProxyType(
    {
        "add": _plainly(operator.add, "add"),
        "sub": _plainly(operator.sub, "sub"),
        "mul": _plainly(operator.mul, "mul"),
        "truediv": _truediv,
        "floordiv": _floordiv,
        "mod": _mod,
        "pow": _pow,
        "lshift": _lshift,
        "rshift": _rshift,
    }
)
"""What an operator makes of two numbers that are no truths, either of which may be plain."""

BITWISE: Final[Mapping[str, tuple[Callable[[Any, Any, Fix], Any], Callable[[Any, Any], Any]]]] = (
    MappingProxyType(
        {
            "and": (_bitwise("bit_and", operator.and_), all_of),
            "or": (_bitwise("bit_or", operator.or_), any_of),
            "xor": (_bitwise("bit_xor", operator.xor), _exclusive),
        }
    )
)
"""What an operator makes of two whole numbers, and what of two truths."""

COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {"eq": eq, "ne": ne, "lt": lt, "le": le, "gt": gt, "ge": ge}
)


MOST_OPERATIONS: Final = 64
"""Of a size about which questions are still answered."""
_DEEPEST: Final = 128
"""Of those on floats that sizes make."""
_FEW_OPERATIONS: Final = 16
_FEW_SYMBOLS: Final = 32
"""Beyond these, a number out of data gets a name."""


def combined(name: str, left: Any, right: Any, fix: Fix) -> Any:
    """What the operator `name` makes of two values, as Python does for int, float and bool.

    Raises: what Python raises, and what `fix` refuses.
    """
    function = ARITHMETIC.get(name)
    if function is not None:
        return _simple(function(as_number(left), as_number(right), fix), fix)
    of_numbers, of_truths = BITWISE[name]
    if result_type(left) is bool and result_type(right) is bool:
        return of_truths(left, right)
    return of_numbers(as_number(left), as_number(right), fix)


def _simple(value: Any, fix: Fix) -> Any:
    """The value; where each question about it would take too long, a name, or the example's."""
    if isinstance(value, Expr):
        length, width, most = value.n_operations, len(value.symbols), MOST_OPERATIONS
    else:
        length, width, most = getattr(value, "depth", 0), 0, _DEEPEST
    if length <= _FEW_OPERATIONS and width <= _FEW_SYMBOLS:
        return value
    if is_data_dependent(eq(value, 0)):
        name = active().shortened if has_facts() else None
        return value if name is None else name(value)
    if length <= most:
        return value
    fixed = {symbol: fix(symbol) for symbol in value.symbols}
    return substitute(value, fixed) if isinstance(value, Expr) else substitute_real(value, fixed)


def compared(name: str, left: Any, right: Any) -> Any:
    """The relation that a comparison of two values asks for."""
    if name in {"eq", "ne"} and isinstance(left, Relation) and isinstance(right, bool):
        return left if right is (name == "eq") else negate(left)
    return COMPARISONS[name](as_number(left), as_number(right))


UNARY: Final[Mapping[str, tuple[Callable[[Any], Any], type | None]]] = MappingProxyType(
    {
        "neg": (operator.neg, None),
        "pos": (lambda value: value, None),
        "abs": (_absolute, None),
        "invert": (lambda value: -value - 1, int),
        "floor": (_integral(floor), int),
        "ceil": (_integral(ceil), int),
        "trunc": (_integral(trunc), int),
        "sym_int": (_integral(trunc), int),
        "sym_float": (_as_real, float),
        "sym_sqrt": (lambda value: sqrt(_as_real(value)), float),
        "is_integer": (_is_integer, bool),
    }
)

# Other names by which torch's C++ and its Python call the operators of two numbers.
_NODE_NAMES: Final = MappingProxyType(
    {
        **{name: name for name in ARITHMETIC},
        **dict.fromkeys(("float_truediv", "int_truediv"), "truediv"),
        **dict.fromkeys(("float_pow", "pow_by_natural"), "pow"),
        **dict.fromkeys(("and_", "sym_and", "bitwise_and"), "and"),
        **dict.fromkeys(("or_", "sym_or", "bitwise_or"), "or"),
        "bitwise_xor": "xor",
        "int_floordiv": "floordiv",
    }
)


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
    def fix(self, value: Any) -> Any:
        """A plain number in place of a value of the same capture, by guarding."""

    @abstractmethod
    def guard_float(self, file: str, line: int) -> float:
        """Fix the value to the example's."""

    def sym_not(self) -> Self:
        """The opposite."""
        return self.beside(negate(self.value), bool)

    def round(self, digits: Any = None) -> Self:
        """`round(x)` stays symbolic; `round(x, digits)` has no exact form and fixes the value."""
        value = as_number(self.settled())
        if digits is None or isinstance(value, int | Expr):
            return self.beside(_integral(round_)(value), int)
        return self.beside(round(self.guard_float("", 0), int(digits)), float)

    def sym_sum(self, nodes: Sequence[SymbolicNumber]) -> Self:
        """The sum of several."""
        return self.beside(total(node.settled() for node in nodes))

    def sym_ite(self, then: SymbolicNumber, otherwise: SymbolicNumber) -> SymbolicNumber:
        """One of two, by deciding."""
        return then if decide(self.value) else otherwise


def _binary(name: str) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicNumber, other: SymbolicNumber) -> SymbolicNumber:
        return self.beside(combined(name, self.settled(), other.settled(), self.fix))

    return method


def _extreme(function: Callable[[Any, Any, Fix], Any]) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicNumber, other: SymbolicNumber) -> SymbolicNumber:
        left, right = as_number(self.settled()), as_number(other.settled())
        return self.beside(function(left, right, self.fix))

    return method


def _comparison(name: str) -> Callable[[Any, Any], Any]:
    def method(self: SymbolicNumber, other: SymbolicNumber) -> SymbolicNumber:
        return self.beside(compared(name, self.settled(), other.settled()), bool)

    return method


def _unary(function: Callable[[Any], Any], pytype: type | None) -> Callable[[Any], Any]:
    def method(self: SymbolicNumber) -> SymbolicNumber:
        return self.beside(function(as_number(self.settled())), pytype)

    return method


for _name, _operator in _NODE_NAMES.items():
    setattr(SymbolicNumber, _name, _binary(_operator))
for _name in COMPARISONS:
    setattr(SymbolicNumber, _name, _comparison(_name))
for _name, _function in (("sym_max", _maximum), ("sym_min", _minimum)):
    setattr(SymbolicNumber, _name, _extreme(_function))
for _name, (_function, _pytype) in UNARY.items():
    setattr(SymbolicNumber, _name, _unary(_function, _pytype))

__all__ = [
    "ARITHMETIC",
    "BITWISE",
    "COMPARISONS",
    "MOST_OPERATIONS",
    "UNARY",
    "SymbolicNumber",
    "Value",
    "as_number",
    "combined",
    "compared",
    "result_type",
]
