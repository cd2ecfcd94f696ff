"""A Pool makes atoms: the normal forms of floor division, maximum, minimum and opaque functions.

Law: every rewriting here is an equality for all integers within the ranges the symbols were
declared with, except that it may give a value where the original divides by zero.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

from monograph.integers.decision.bounds import bound, cancel
from monograph.integers.expr import (
    INTEGER_FUNCTIONS,
    Argument,
    Expr,
    Int,
    Kind,
    Ring,
    declared_interval,
)
from monograph.integers.interval import EVERYTHING, INFINITY, Interval
from monograph.integers.polynomial import (
    Polynomial,
    common_monomial,
    content,
    divide_exactly,
    split_by_constant,
    split_by_monomial,
)

__all__ = ["MeteredPool", "Pool", "opaque"]


def _never(_: Int) -> bool:
    return False


class Pool(Ring):
    """Owns the expressions of one `Facts`; they are freed together with it.

    >>> a = Pool().symbol("a", EVERYTHING)
    >>> (4 * a + 5) // 4, (a // 2) // 3
    (a + 1, a//6)
    """

    __slots__ = ()

    def charge(self, steps: int, /) -> None:
        """Count work; see `MeteredPool`."""

    def floordiv(self, a: Int, b: Int, positive: Callable[[Int], bool] = _never) -> Int:
        """Divide and round down; `positive` may know more divisors to be positive."""
        if isinstance(a, Expr):
            self.check(a)
        if isinstance(b, Expr):
            self.check(b)
            return self._divide_by_expr(a, b, positive)
        if b == 0:
            raise ZeroDivisionError("integer division or modulo by zero")
        if not isinstance(a, Expr):
            return a // b
        # floor(a / b) = floor(-a / -b)
        return self._divide_by_constant(a, b) if b > 0 else self._divide_by_constant(-a, -b)

    def _divide_by_constant(self, a: Expr, b: int) -> Int:
        # floor((b*q + r) / b) = q + floor(r / b), with one r for each class modulo b
        quotient, rest = split_by_constant(a.parts, b)
        whole = self.make(quotient)
        common = math.gcd(b, content(rest))
        if common == b:
            # No atom is left, and the constant c of r has 0 <= c < b.
            return whole
        # floor((g*r + c) / (g*b)) = floor((r + floor(c / g)) / b)
        b //= common
        r = self.make(tuple([(m, c // common) for m, c in rest if m or c >= common]))
        assert isinstance(r, Expr), "dividing by a constant leaves the atoms"
        flat = _flattened(r, b)
        if flat is not None:
            return whole + self.floordiv(*flat)
        # A coefficient b/2 agrees with -b/2 modulo b, so its sign means nothing.
        if next((c for m, c in r.parts if m and 2 * c != b), 1) < 0:
            # floor(r / b) = -floor((b - 1 - r) / b): so -(-n // 4) is (n + 3) // 4.
            return whole - self.floordiv(b - 1 - r, b)
        return whole + self._quotient(r, b)

    def _divide_by_expr(self, a: Int, b: Expr, positive: Callable[[Int], bool]) -> Int:
        if _is_positive(b, positive):
            return self._divide_by_positive(a, b, positive)
        if self.interval(b).upper < 0:
            return self._divide_by_positive(-a, -b, positive)
        # No cancellation of b itself: 0 // b is no number where b is 0.
        p = _parts(a)
        g = math.gcd(content(p), content(b.parts), _constant(p), _constant(b.parts))
        return self.atom("floordiv", (self._over(p, g), self._over(b.parts, g)))

    def _divide_by_positive(self, a: Int, b: Expr, positive: Callable[[Int], bool]) -> Int:
        # b > 0 throughout, by the ranges the symbols were declared with.
        p = _parts(a)
        whole: Int = 0
        if len(b.parts) == 1:
            # floor((b*q + r) / b) = q + floor(r / b)
            quotient, p = split_by_monomial(p, *b.parts[0], self.rank)
            whole = self.make(quotient)
            exact = None if p else quotient
        else:
            exact = divide_exactly(p, b.parts, self.rank)
        if exact is not None:
            return self.make(exact)
        shared = common_monomial(((common_monomial(p), 1), (common_monomial(b.parts), 1)))
        shared = tuple([atom for atom in shared if _is_positive(atom, positive)])
        g = math.gcd(content(p), content(b.parts), _constant(p), _constant(b.parts))
        # floor(g*m*a / (g*m*b)) = floor(a / b) for m > 0 and g > 0
        a = self.make(cancel(p, shared, g))
        divisor = self.make(cancel(b.parts, shared, g))
        if not isinstance(divisor, Expr):
            return whole + self.floordiv(a, divisor)
        if isinstance(a, Expr) and a.kind == "floordiv":
            # floor(floor(x / k) / b) = floor(x / (k*b)) for b > 0
            x, k = a.int_args
            return whole + self.floordiv(x, k * divisor, positive)
        return whole + self._quotient(a, divisor)

    def _quotient(self, a: Int, b: Int) -> Int:
        """Make the atom floor(a / b) for b > 0, unless only one integer is possible."""
        made = self.atom("floordiv", (a, b))
        if isinstance(a, Expr) and any(self._is_unbounded(atom) for m, _ in a.parts for atom in m):
            return made
        lower, upper = self.interval(made)
        return lower if lower == upper and isinstance(lower, int) else made

    def _is_unbounded(self, atom: Expr) -> bool:
        lower, upper = self.interval(atom)
        return lower == -INFINITY or upper == INFINITY

    def _over(self, p: Polynomial[Expr], g: int) -> Int:
        return self.make(cancel(p, (), g))

    def interval(self, e: Expr) -> Interval:
        """Bounds from the ranges that symbols were declared with."""
        return bound(e, self.declared, self.intervals)

    def extreme(self, kind: Literal["max", "min"], a: Int, b: Int) -> Int:
        """Choose the greater ("max") or the smaller ("min") of two."""
        if a is b:
            return a
        kept: list[tuple[Int, int]] = []
        both = [(each, side) for side, x in enumerate((a, b)) for each in _operands(kind, x)]
        for new, side in sorted(both, key=_creation):
            # Those of one side were compared when that was made.
            if not any(of != side and _beats(kind, old, new) for old, of in kept):
                kept = [(old, of) for old, of in kept if of == side or not _beats(kind, new, old)]
                kept.append((new, side))
        if len(kept) == 1:
            return kept[0][0]
        return self.atom(kind, tuple(old for old, _ in kept))


class MeteredPool(Pool):
    """A pool whose work is counted, by who does not trust the expressions: `charge` may raise.

    An expression costs as much as its text is long: parts of it that are one object are in there
    as often as they occur, and so they are for whatever walks or prints it.
    """

    __slots__ = ("charge", "lengths")

    def __init__(self, charge: Callable[[int], None]) -> None:
        super().__init__()
        self.charge = charge
        self.lengths: dict[Any, int] = {}

    def make(self, parts: Polynomial[Expr]) -> Int:
        """Intern a polynomial."""
        length = 1 + len(parts) + sum(self._length(atom) for each, _ in parts for atom in each)
        self.charge(length)
        made = super().make(parts)
        if isinstance(made, Expr):
            self.lengths.setdefault(made, length)
        return made

    def _length(self, part: Any) -> int:
        """How many symbols and operators the text of a part has."""
        length = self.lengths.get(part)
        if length is None:
            length = 1 + sum(map(self._length, getattr(part, "args", ())))
            self.lengths[part] = length
        return length

    def interval(self, e: Expr) -> Interval:
        """Bounds from the ranges that symbols were declared with."""
        self.charge(1)
        return super().interval(e)


def _flattened(r: Expr, b: int) -> tuple[Int, int] | None:
    """(n, d) with floor(r / b) = floor(n / d), where r contains one quotient by a constant, once.

    floor((p + floor(x / k)) / b) = floor((k*p + x) / (k*b)) for b, k > 0 and an integer p.
    """
    found: tuple[Expr, int] | None = None
    for monomial, coefficient in r.parts:
        if len(monomial) == 1 and monomial[0].kind == "floordiv" and abs(coefficient) == 1:
            if found is not None:
                return None
            found = monomial[0], coefficient
    if found is None:
        return None
    quotient, coefficient = found
    x, k = quotient.int_args
    if not isinstance(k, int):
        return None
    # -floor(x / k) = floor((k - 1 - x) / k)
    inner = x if coefficient > 0 else k - 1 - x
    return k * (r - coefficient * quotient) + inner, k * b


def _parts(x: Int) -> Polynomial[Expr]:
    if isinstance(x, Expr):
        return x.parts
    return (((), x),) if x else ()


def _constant(p: Polynomial[Expr]) -> int:
    return p[-1][1] if p and not p[-1][0] else 0


def _is_positive(e: Int, positive: Callable[[Int], bool]) -> bool:
    return declared_interval(e).lower > 0 or positive(e)


def _creation(operand: tuple[Int, int]) -> float:
    x, _ = operand
    return x.index if isinstance(x, Expr) else math.inf


def _operands(kind: Kind, x: Int) -> tuple[Int, ...]:
    if isinstance(x, Expr) and x.kind == kind:
        return x.int_args
    return (x,)


def _beats(kind: Literal["max", "min"], x: Int, y: Int) -> bool:
    """Whether x can stand for both: for "max", whether x >= y always."""
    return declared_interval(x - y if kind == "max" else y - x).lower >= 0


def opaque(
    pool: Ring,
    name: str,
    args: tuple[Int | Argument | float, ...],
    within: Interval = EVERYTHING,
) -> Int:
    """Make the value of `INTEGER_FUNCTIONS[name]` at `args`; nothing but `within` is known of it.

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
    if within is not EVERYTHING:
        pool.declared.setdefault(made, within)
    return made
