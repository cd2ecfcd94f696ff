"""An Expr is an exact integer expression in normal form; equal means the same object.

Law: the normal form is a polynomial with integer coefficients over *atoms*. An atom is a symbol,
`floordiv`, `max`, `min`, or an opaque function. A constant is never an Expr but a Python int.
Expressions are interned in a `Pool`; two normal forms of one pool are equal iff identical, so
`==` and `hash` are those of identity. Division is Python's: `a // b` rounds down, and
`a % b` *is* `a - b*(a // b)`. Normal forms lean only on the ranges symbols were declared with,
never on what was learnt later, so they hold for as long as the pool lives.
"""

import math
import operator
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, Literal, NoReturn, Protocol, TypeAlias

from monograph.integers import interval
from monograph.integers.interval import EVERYTHING, Interval
from monograph.integers.polynomial import (
    Monomial,
    Polynomial,
    Rank,
    add,
    common_monomial,
    content,
    divide_exactly,
    monomial_quotient,
    multiply,
    scale,
    split_by_constant,
    split_by_monomial,
)

__all__ = [
    "INTEGER_FUNCTIONS",
    "Argument",
    "Expr",
    "Int",
    "Kind",
    "Pool",
    "bound",
    "declared_interval",
    "never",
    "opaque",
]

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

    __slots__ = ("_symbols", "args", "index", "kind", "name", "parts", "pool")

    def __init__(
        self,
        pool: "Pool",
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
        pool.count += 1

    @property
    def symbols(self) -> "frozenset[Expr]":
        """The symbols the value depends on."""
        found = self._symbols
        if found is None:
            found = self._symbols = _symbols_of(self)
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
        """Write the sum of terms; `text` prints it for people."""
        if self.kind == "symbol":
            return self.name
        if self.kind != "sum":
            return f"{self.name or self.kind}({', '.join(map(repr, self.args))})"
        return " + ".join("*".join([str(c), *map(repr, m)]) for m, c in self.parts)


Int: TypeAlias = int | Expr


def _symbols_of(e: Expr) -> frozenset[Expr]:
    if e.kind == "symbol":
        return frozenset((e,))
    if e.kind == "sum":
        atoms = {atom for monomial, _ in e.parts for atom in monomial}
        return frozenset[Expr]().union(*[atom.symbols for atom in atoms])
    held = [arg.symbols for arg in e.args if not isinstance(arg, int | float)]
    return frozenset[Expr]().union(*held)


def _parts(x: Int) -> Polynomial[Expr]:
    if isinstance(x, Expr):
        return x.parts
    return (((), x),) if x else ()


def never(_: Int) -> bool:
    """Say no: the answer to "is it known to be positive?" of someone who knows nothing."""
    return False


class Pool:
    """Owns the expressions of one `Facts`; they are freed together with it."""

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

    def symbol(self, name: str, declared: Interval) -> Expr:
        """Make a new symbol that is in `declared` for ever."""
        if ("symbol", name, ()) in self.atoms:
            raise ValueError(f"there is a symbol {name!r} already")
        made = self.atom("symbol", (), name)
        self.declared[made] = declared
        return made

    def plus(self, a: Expr, b: Int, sign: Literal[1, -1]) -> Int:
        """a + sign*b."""
        if isinstance(b, Expr):
            self._check(b)
            return self.make(add(a.parts, b.parts, sign, self.rank))
        if b == 0:
            return a
        return self.make(add(a.parts, (((), b),), sign, self.rank))

    def times(self, a: Expr, b: Int) -> Int:
        """a * b."""
        if isinstance(b, Expr):
            self._check(b)
            return self.make(multiply(a.parts, b.parts, self.rank))
        if b == 0:
            return 0
        return self.make(scale(a.parts, b))

    def _check(self, e: Expr) -> None:
        if e.pool is not self:
            raise ValueError("expressions of two different Facts do not mix")

    def floordiv(self, a: Int, b: Int, positive: Callable[[Int], bool] = never) -> Int:
        """Divide and round down; `positive` may know more divisors to be positive."""
        for x in (a, b):
            if isinstance(x, Expr):
                self._check(x)
        if isinstance(b, Expr):
            return self._divide_by_expr(a, b, positive)
        if b == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        if not isinstance(a, Expr):
            return a // b
        # floor(a / b) = floor(-a / -b)
        return self._divide_by_constant(a, b) if b > 0 else self._divide_by_constant(-a, -b)

    def _divide_by_constant(self, a: Expr, b: int) -> Int:
        # floor((b*q + r) / b) = q + floor(r / b)
        quotient, rest = split_by_constant(a.parts, b)
        common = math.gcd(b, content(rest))
        whole = self.make(quotient)
        if common == b:
            # No atom is left, and the constant c of r has 0 <= c < b.
            return whole
        # floor((g*r + c) / (g*b)) = floor((r + floor(c / g)) / b)
        rest = tuple([(m, c // common) for m, c in rest if m or c >= common])
        b //= common
        inner = self.make(rest)
        atom, factor = rest[0]
        offset = rest[1][1] if len(rest) == 2 and not rest[1][0] else 0
        if (
            len(atom) == 1
            and atom[0].kind == "floordiv"
            and factor == 1
            and len(rest) <= 1 + bool(offset)
        ):
            # floor((floor(x / k) + c) / b) = floor((x + c*k) / (k*b)) for b > 0
            x, k = atom[0].int_args
            return whole + self.floordiv(x + offset * k, k * b)
        return whole + self.atom("floordiv", (inner, b))

    def _divide_by_expr(self, a: Int, b: Expr, positive: Callable[[Int], bool]) -> Int:
        if not self._is_positive(b, positive) and self._is_positive(-b, positive):
            a, b = -a, -b
        if self._is_positive(b, positive):
            return self._divide_by_positive(a, b, positive)
        # No cancellation of b itself: 0 // b is no number where b is 0.
        g = math.gcd(content(_parts(a)), content(b.parts), _constant(a), _constant(b))
        if g > 1:
            a, b = _over(self, a, g), self._over(b, g)
        return self.atom("floordiv", (a, b))

    def _divide_by_positive(self, a: Int, b: Expr, positive: Callable[[Int], bool]) -> Int:
        # b > 0 throughout, by the ranges the symbols were declared with.
        p = _parts(a)
        exact = divide_exactly(p, b.parts, self.rank) if p else ()
        if exact is not None:
            return self.make(exact)
        whole: Int = 0
        if len(b.parts) == 1:
            # floor((b*q + r) / b) = q + floor(r / b)
            quotient, p = split_by_monomial(p, *b.parts[0], self.rank)
            whole = self.make(quotient)
        common = common_monomial(((common_monomial(p), 1), (common_monomial(b.parts), 1)))
        common = tuple([atom for atom in common if self._is_positive(atom, positive)])
        g = math.gcd(content(p), content(b.parts), _constant_of(p), _constant(b))
        # floor(g*m*a / (g*m*b)) = floor(a / b) for m > 0 and g > 0
        a, divisor = self.make(_cancel(p, common, g)), self.make(_cancel(b.parts, common, g))
        if not isinstance(divisor, Expr):
            return whole + self.floordiv(a, divisor)
        if isinstance(a, Expr) and a.kind == "floordiv":
            # floor(floor(x / k) / b) = floor(x / (k*b)) for b > 0
            x, k = a.int_args
            return whole + self.floordiv(x, k * divisor, positive)
        return whole + self.atom("floordiv", (a, divisor))

    def _over(self, b: Expr, g: int) -> Expr:
        return _over(self, b, g)  # pyright: ignore[reportReturnType]  # a fraction of an Expr is one

    def _is_positive(self, e: Int, positive: Callable[[Int], bool]) -> bool:
        if not isinstance(e, Expr):
            return e > 0
        return declared_interval(e).lower > 0 or positive(e)

    def extreme(self, kind: Literal["max", "min"], a: Int, b: Int) -> Int:
        """The greater ("max") or the smaller ("min") of two."""
        if a is b:
            return a
        kept: list[Int] = []
        for new in (*_operands(kind, a), *_operands(kind, b)):
            if not any(_beats(kind, old, new) for old in kept):
                kept = [old for old in kept if not _beats(kind, new, old)]
                kept.append(new)
        if len(kept) == 1:
            return kept[0]
        kept.sort(key=_creation)
        return self.atom(kind, tuple(kept))


def _creation(x: Int) -> float:
    return x.index if isinstance(x, Expr) else math.inf


def _operands(kind: Kind, x: Int) -> tuple[Int, ...]:
    if isinstance(x, Expr) and x.kind == kind:
        return x.int_args
    return (x,)


def _beats(kind: Literal["max", "min"], x: Int, y: Int) -> bool:
    """Whether x can stand for both: x >= y always (for "max")."""
    above = x - y if kind == "max" else y - x
    return (declared_interval(above).lower if isinstance(above, Expr) else above) >= 0


def _constant_of(p: Polynomial[Expr]) -> int:
    return p[-1][1] if p and not p[-1][0] else 0


def _constant(x: Int) -> int:
    return _constant_of(x.parts) if isinstance(x, Expr) else x


def _cancel(p: Polynomial[Expr], common: Monomial[Expr], g: int) -> Polynomial[Expr]:
    """p / (g*common), which divides every term."""
    return tuple([(monomial_quotient(m, common) or (), c // g) for m, c in p])


def _over(pool: Pool, x: Int, g: int) -> Int:
    return pool.make(_cancel(x.parts, (), g)) if isinstance(x, Expr) else x // g


def opaque(
    pool: Pool,
    name: str,
    args: tuple[Int | Argument | float, ...],
    within: Interval = EVERYTHING,
) -> Int:
    """Make the value of `INTEGER_FUNCTIONS[name]` at `args`, of which nothing but `within` is known.

    >>> pool = Pool()
    >>> a = pool.symbol("a", EVERYTHING)
    >>> opaque(pool, "lshift", (a, 2)), opaque(pool, "lshift", (3, 2))
    (lshift(a, 2), 12)
    """
    if all(isinstance(arg, int | float) for arg in args):
        return INTEGER_FUNCTIONS[name](*args)
    # A float is told apart by its digits and its type: 1 == 1.0 and 0.0 == -0.0.
    key = tuple([(float, repr(arg)) if isinstance(arg, float) else arg for arg in args])
    made = pool.atom("opaque", args, name, key)
    if within is not EVERYTHING and made not in pool.declared:
        pool.declared[made] = within
    return made


def declared_interval(e: Int) -> Interval:
    """Bounds from the ranges that symbols were declared with.

    >>> a = Pool().symbol("a", Interval(2, 5))
    >>> declared_interval(3 * a - 1)
    Interval(lower=5, upper=14)
    """
    if not isinstance(e, Expr):
        return Interval(e, e)
    return bound(e, e.pool.declared, e.pool.intervals)


def bound(e: Expr, ranges: Mapping[Expr, Interval], cache: dict[Expr, Interval]) -> Interval:
    """Bounds of an expression from those of its atoms; `cache` belongs to `ranges`."""
    found = cache.get(e)
    if found is None:
        found = cache[e] = (
            _bound_sum(e, ranges, cache) if e.kind == "sum" else _bound_atom(e, ranges, cache)
        )
    return found


def _bound_atom(e: Expr, ranges: Mapping[Expr, Interval], cache: dict[Expr, Interval]) -> Interval:
    stated = ranges.get(e) or e.pool.declared.get(e)
    if e.kind == "symbol" or e.kind == "opaque":
        return stated or EVERYTHING
    operands = [
        bound(arg, ranges, cache) if isinstance(arg, Expr) else Interval(arg, arg)
        for arg in e.int_args
    ]
    combine = _COMBINE[e.kind]
    result = operands[0]
    for operand in operands[1:]:
        result = combine(result, operand)
    return interval.meet(result, stated) if stated else result


_COMBINE: Final = MappingProxyType(
    {"floordiv": interval.floor_divide, "max": interval.larger, "min": interval.smaller}
)


def _bound_sum(e: Expr, ranges: Mapping[Expr, Interval], cache: dict[Expr, Interval]) -> Interval:
    lower: interval.Bound = 0
    result = Interval(lower, lower)
    for monomial, coefficient in e.parts:
        term = Interval(coefficient, coefficient)
        done = 0
        while done < len(monomial):
            atom = monomial[done]
            times = monomial.count(atom)
            factor = bound(atom, ranges, cache)
            term = interval.multiply(term, factor if times == 1 else interval.power(factor, times))
            done += times
        result = interval.add(result, term)
    common = common_monomial(e.parts)
    if not common or len(e.parts) == 1:
        return result
    # k*a + k*b = k*(a + b) has the tighter bounds: s0*s1 - s1 = s1*(s0 - 1).
    return interval.meet(result, _bound_factored(e, common, ranges, cache))


def _bound_factored(
    e: Expr, common: Monomial[Expr], ranges: Mapping[Expr, Interval], cache: dict[Expr, Interval]
) -> Interval:
    outer, inner = e.pool.make(((common, 1),)), e.pool.make(_cancel(e.parts, common, 1))
    if not isinstance(outer, Expr) or not isinstance(inner, Expr):
        return EVERYTHING
    return interval.multiply(bound(outer, ranges, cache), bound(inner, ranges, cache))
