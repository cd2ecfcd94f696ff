"""An Expr is an exact integer expression in normal form; equal means the same object.

Law: the normal form is a polynomial with integer coefficients over *atoms*. An atom is a symbol,
`floordiv`, `max`, `min`, or an opaque function. A constant is never an Expr but a Python int.
Expressions are interned in a `Pool` (a `Ring` that can divide), so equal normal forms of one pool
are one object, and `==` and `hash` are those of identity. Division is Python's: `a // b` rounds
down, and `a % b` *is* `a - b*(a // b)`. Normal forms lean only on the ranges symbols were declared
with, never on what was learnt later, so they hold for as long as the pool lives.
"""

import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from types import MappingProxyType
from typing import Final, Literal, NoReturn, Protocol, TypeAlias

from monograph.integers.interval import Interval
from monograph.integers.polynomial import Monomial, Polynomial, Rank, add, multiply, scale

__all__ = ["INTEGER_FUNCTIONS", "Argument", "Expr", "Int", "Kind", "Ring", "declared_interval"]

Kind: TypeAlias = Literal["sum", "symbol", "floordiv", "max", "min", "opaque"]

INTEGER_FUNCTIONS: Final[Mapping[str, Callable[..., int]]] = MappingProxyType(
    {
        "bit_and": operator.and_,
        "bit_or": operator.or_,
        "bit_xor": operator.xor,
        "ceil": math.ceil,
        "floor": math.floor,
        "lshift": operator.lshift,
        "pow": operator.pow,
        "round": round,
        "rshift": operator.rshift,
        "trunc": math.trunc,
    }
)
"""What the name of an opaque atom computes from the values of its arguments."""

SPOKEN: Final[ContextVar[Mapping["Expr", str]]] = ContextVar(
    "monograph_names", default=MappingProxyType({})
)
"""How symbols are called while a capture speaks to users: `x.shape[0]`, not `s0`."""


class Argument(Protocol):
    """What an opaque atom may hold besides integers: a float-valued expression (see `Real`)."""

    @property
    def symbols(self) -> "frozenset[Expr]":
        """The symbols it reads."""
        ...

    def evaluate(self, env: "Mapping[Expr, int]") -> float:
        """Its value."""
        ...

    def substitute(self, env: "Mapping[Expr, Int]") -> "Argument | float":
        """Itself with other symbols."""
        ...

    def rounded(self, name: str) -> "Int":
        """The integer that the rounding function `name` makes of it."""
        ...


class Expr:
    """An exact integer expression that is not a constant. Made by arithmetic, never directly.

    `kind` is "sum" or says which atom it is; `args` are the operands of an atom: `(a, b)` for
    `floordiv`, two or more for `max` and `min` (a constant last), those of the function `name`
    for "opaque". `parts` is the polynomial.
    """

    __slots__ = ("_n_operations", "_symbols", "args", "index", "kind", "name", "parts", "pool")

    def __init__(
        self,
        pool: "Ring",
        kind: Kind,
        name: str,
        args: "tuple[Int | Argument | float, ...]",
        parts: "Polynomial[Expr] | None",
    ) -> None:
        self.pool = pool
        self.kind: Kind = kind
        self.name = name
        self.args = args
        self.index = pool.count
        self.parts: Polynomial[Expr] = (((self,), 1),) if parts is None else parts
        self._symbols: frozenset[Expr] | None = None
        self._n_operations: int | None = None
        pool.count += 1

    @property
    def symbols(self) -> "frozenset[Expr]":
        """The symbols the value depends on."""
        found = self._symbols
        if found is None:
            found = self._symbols = _symbols_of(self)
        return found

    @property
    def n_operations(self) -> int:
        """How many quotients, extremes and functions it consists of, written out."""
        found = self._n_operations
        if found is None:
            if self.kind == "sum":
                atoms = [atom for monomial, _ in self.parts for atom in monomial]
                found = sum(atom.n_operations for atom in atoms)
            else:
                found = int(self.kind != "symbol")
                found += sum(arg.n_operations for arg in self.args if isinstance(arg, Expr))
            self._n_operations = found
        return found

    @property
    def int_args(self) -> "tuple[Int, ...]":
        """The operands of `floordiv`, `max` and `min`, which are integers."""
        return self.args  # pyright: ignore[reportReturnType]  # only opaque atoms hold others

    def __add__(self, other: "Int") -> "Int":
        """Sum."""
        if type(other) is not Expr and type(other) is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        key = (self, other)
        found = self.pool.sums.get(key)
        if found is None:
            found = self.pool.sums[key] = self.pool.plus(self, other, 1)
        return found

    __radd__ = __add__

    def __sub__(self, other: "Int") -> "Int":
        """Difference."""
        if type(other) is not Expr and type(other) is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        key = (self, other)
        found = self.pool.differences.get(key)
        if found is None:
            found = self.pool.differences[key] = self.pool.plus(self, other, -1)
        return found

    def __rsub__(self, other: int) -> "Int":
        """Difference, from a constant."""
        if not isinstance(other, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
            return NotImplemented
        return self.__neg__().__add__(int(other))

    def __neg__(self) -> "Expr":
        """Negation."""
        key = (self, -1)
        found = self.pool.products.get(key)
        if found is None:
            found = self.pool.products[key] = self.pool.times(self, -1)
        return found  # pyright: ignore[reportReturnType]  # -1 times an Expr is no constant

    def __pos__(self) -> "Expr":
        """Itself."""
        return self

    def __mul__(self, other: "Int") -> "Int":
        """Product."""
        if type(other) is not Expr and type(other) is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        key = (self, other)
        found = self.pool.products.get(key)
        if found is None:
            found = self.pool.products[key] = self.pool.times(self, other)
        return found

    __rmul__ = __mul__

    def __floordiv__(self, other: "Int") -> "Int":
        """Quotient rounded down."""
        if type(other) is not Expr and type(other) is not int:
            if not isinstance(other, int):
                return NotImplemented
            other = int(other)
        key = (self, other)
        found = self.pool.quotients.get(key)
        if found is None:
            found = self.pool.quotients[key] = self.pool.floordiv(self, other)
        return found

    def __rfloordiv__(self, other: int) -> "Int":
        """Quotient of a constant, rounded down."""
        if not isinstance(other, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
            return NotImplemented
        return self.pool.floordiv(int(other), self)

    def __mod__(self, other: "Int") -> "Int":
        """Remainder, with the sign of the divisor."""
        if not isinstance(other, int | Expr):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
            return NotImplemented
        return self - other * (self // other)

    def __rmod__(self, other: int) -> "Int":
        """Remainder of a constant."""
        return other - self * (other // self)

    def __pow__(self, exponent: int) -> "Int":
        """Power with a small constant exponent."""
        if not isinstance(exponent, int):  # pyright: ignore[reportUnnecessaryIsInstance]  # untyped callers
            return NotImplemented
        if exponent < 0:
            raise ValueError("a negative power of an integer expression is not an integer")
        result: Int = 1
        for _ in range(exponent):
            result = self * result
        return result

    def __bool__(self) -> NoReturn:
        """Refuse: whether it is zero depends on values nobody has yet."""
        raise TypeError("an Expr has no truth value; ask `known(ne(e, 0))` or `decide(ne(e, 0))`")

    def __copy__(self) -> "Expr":
        """Itself: an interned value is its own copy."""
        return self

    def __deepcopy__(self, memo: object) -> "Expr":
        """Itself: an interned value is its own copy."""
        return self

    def __repr__(self) -> str:
        """Write the sum of terms, as `2*n - n//4 + 1`; `text` also recognises remainders."""
        if self.kind == "symbol":
            return SPOKEN.get().get(self, self.name)
        if self.kind == "floordiv":
            return "//".join(_factor(arg) for arg in self.int_args)
        if self.kind != "sum":
            return f"{self.name or self.kind}({', '.join(map(repr, self.args))})"
        signed = "".join(_signed_term(monomial, c) for monomial, c in self.parts)
        return signed.removeprefix(" + ") if signed[1] == "+" else f"-{signed[3:]}"


def _factor(x: "Int | Argument | float") -> str:
    return f"({x!r})" if isinstance(x, Expr) and x.kind == "sum" else repr(x)


def _signed_term(monomial: "Monomial[Expr]", coefficient: int) -> str:
    factors = [_factor(atom) for atom in monomial]
    if abs(coefficient) != 1 or not factors:
        factors.insert(0, str(abs(coefficient)))
    return f" {'-' if coefficient < 0 else '+'} {'*'.join(factors)}"


Int: TypeAlias = int | Expr


def _symbols_of(e: Expr) -> frozenset[Expr]:
    if e.kind == "symbol":
        return frozenset((e,))
    if e.kind == "sum":
        atoms = {atom for monomial, _ in e.parts for atom in monomial}
        return frozenset[Expr]().union(*[atom.symbols for atom in atoms])
    held = [arg.symbols for arg in e.args if not isinstance(arg, int | float)]
    return frozenset[Expr]().union(*held)


class Ring(ABC):
    """Owns and interns expressions, and adds and multiplies them.

    What atoms a quotient or an extreme makes is said by `Pool`, which is the only kind of Ring.
    """

    __slots__ = (
        "atoms",
        "count",
        "declared",
        "differences",
        "intervals",
        "leaned_on",
        "memo",
        "products",
        "quotients",
        "rank",
        "sums",
        "table",
        "unbacked",
    )

    def __init__(self) -> None:
        self.count = 0
        self.rank: Rank[Expr] = Rank()
        self.table: dict[Polynomial[Expr], Expr] = {}
        self.atoms: dict[tuple[object, ...], Expr] = {}
        self.sums: dict[tuple[Expr, Int], Int] = {}
        self.differences: dict[tuple[Expr, Int], Int] = {}
        self.products: dict[tuple[Expr, Int], Int] = {}
        self.quotients: dict[tuple[Expr, Int], Int] = {}
        self.declared: dict[Expr, Interval] = {}
        self.intervals: dict[Expr, Interval] = {}
        # Symbols whose missing upper bound `Real` read as `SIZE_LIMIT`; callers are checked for it.
        self.leaned_on: dict[Expr, None] = {}
        # Symbols that callers cannot be checked for: what they stand for comes from data.
        self.unbacked: set[Expr] = set()
        # Interned things of other files of this folder: relations, reals.
        self.memo: dict[object, object] = {}

    def make(self, parts: Polynomial[Expr]) -> Int:
        """Intern a polynomial; a constant comes back as an int."""
        found = self.table.get(parts)
        if found is not None:
            return found
        if not parts:
            return 0
        if not parts[0][0]:
            return parts[0][1]
        if len(parts) == 1 and parts[0][1] == 1 and len(parts[0][0]) == 1:
            return parts[0][0][0]
        made = self.table[parts] = Expr(self, "sum", "", (), parts)
        return made

    def atom(
        self,
        kind: Kind,
        args: tuple[Int | Argument | float, ...],
        name: str = "",
        key: object = None,
    ) -> Expr:
        """Intern an atom by its kind, name and arguments (or by `key` in place of those)."""
        whole = (kind, name, args if key is None else key)
        found = self.atoms.get(whole)
        if found is None:
            found = self.atoms[whole] = Expr(self, kind, name, args, None)
        return found

    def has_symbol(self, name: str) -> bool:
        """Whether a symbol was made under that name, whoever knows it."""
        return ("symbol", name, ()) in self.atoms

    def symbol(self, name: str, declared: Interval) -> Expr:
        """Make a new symbol that is in `declared` for ever."""
        if self.has_symbol(name):
            raise ValueError(f"there is a symbol {name!r} already")
        made = self.atom("symbol", (), name)
        self.declared[made] = declared
        return made

    def plus(self, a: Expr, b: Int, sign: Literal[1, -1]) -> Int:
        """a + sign*b."""
        if isinstance(b, Expr):
            self.check(b)
            return self.make(add(a.parts, b.parts, sign, self.rank))
        if b == 0:
            return a
        return self.make(add(a.parts, (((), b),), sign, self.rank))

    def times(self, a: Expr, b: Int) -> Int:
        """a * b."""
        if isinstance(b, Expr):
            self.check(b)
            return self.make(multiply(a.parts, b.parts, self.rank))
        if b == 0:
            return 0
        return self.make(scale(a.parts, b))

    def check(self, e: Expr) -> None:
        """Refuse expressions of another pool."""
        if e.pool is not self:
            raise ValueError("expressions of two different Facts do not mix")

    @abstractmethod
    def floordiv(self, a: Int, b: Int) -> Int:
        """Divide and round down."""

    @abstractmethod
    def extreme(self, kind: Literal["max", "min"], a: Int, b: Int) -> Int:
        """Choose the greater ("max") or the smaller ("min") of two."""

    @abstractmethod
    def interval(self, e: Expr) -> Interval:
        """Bounds from the ranges that symbols were declared with."""


def declared_interval(e: Int) -> Interval:
    """Bounds from the ranges that symbols were declared with.

    >>> from monograph.integers.pool import Pool
    >>> a = Pool().symbol("a", Interval(2, 5))
    >>> declared_interval(3 * a - 1), declared_interval(a % 4)
    (Interval(lower=5, upper=14), Interval(lower=0, upper=3))
    """
    if not isinstance(e, Expr):
        return Interval(e, e)
    return e.pool.interval(e)
