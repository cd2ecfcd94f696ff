"""An interval is a lower and an upper bound of an integer; -inf and inf stand for "no bound".

Law: if x is in X and y is in Y then x ∘ y is in X ∘ Y, for every operation here.
Finite ends are Python ints and stay exact; a float in an interval is always an infinity.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

__all__ = [
    "EVERYTHING",
    "INFINITY",
    "Bound",
    "Interval",
    "add",
    "floor_divide",
    "hull",
    "larger",
    "meet",
    "multiply",
    "negative",
    "power",
    "smaller",
]

Bound: TypeAlias = int | float
INFINITY: Final = float("inf")


class Interval(NamedTuple):
    """The integers from `lower` to `upper`, both included.

    >>> 3 in Interval(0, 4), Interval(2, INFINITY).is_point
    (True, False)
    """

    lower: Bound
    upper: Bound

    def __contains__(self, value: object) -> bool:
        """Whether `value` lies between the ends."""
        return isinstance(value, int | float) and self.lower <= value <= self.upper

    @property
    def is_point(self) -> bool:
        """Whether exactly one integer is in it."""
        return self.lower == self.upper

    @property
    def is_empty(self) -> bool:
        """Whether no integer is in it."""
        return self.lower > self.upper


EVERYTHING: Final = Interval(-INFINITY, INFINITY)


def _sum(x: Bound, y: Bound) -> Bound:
    # An int beyond 2**1024 cannot be added to a float, and inf absorbs it anyway.
    if type(x) is float:
        return x
    if type(y) is float:
        return y
    return x + y


def _product(x: Bound, y: Bound) -> Bound:
    # 0 * inf = 0 here: the end of an interval is a limit of finite products.
    if x == 0 or y == 0:
        return 0
    if type(x) is float or type(y) is float:
        return INFINITY if (x > 0) == (y > 0) else -INFINITY
    return x * y


def _quotient(x: Bound, y: Bound) -> Bound:
    # For y > 0 and y -> inf the quotient tends to 0 from above and to -1 from below.
    if type(y) is float:
        return 0 if x >= 0 else -1
    if type(x) is float:
        return x
    return x // y


def add(x: Interval, y: Interval) -> Interval:
    """Bounds of a sum.

    >>> add(Interval(0, 2), Interval(1, INFINITY))
    Interval(lower=1, upper=inf)
    """
    return Interval(_sum(x.lower, y.lower), _sum(x.upper, y.upper))


def negative(x: Interval) -> Interval:
    """Bounds of a negation.

    >>> negative(Interval(0, 2))
    Interval(lower=-2, upper=0)
    """
    return Interval(-x.upper, -x.lower)


def multiply(x: Interval, y: Interval) -> Interval:
    """Bounds of a product.

    >>> multiply(Interval(-1, 2), Interval(3, 5))
    Interval(lower=-5, upper=10)
    """
    if x.lower >= 0 and y.lower >= 0:
        return Interval(_product(x.lower, y.lower), _product(x.upper, y.upper))
    corners = [_product(a, b) for a in x for b in y]
    return Interval(min(corners), max(corners))


def power(x: Interval, exponent: int) -> Interval:
    """Bounds of a power with a positive exponent; an even one is never negative.

    >>> power(Interval(-3, 2), 2)
    Interval(lower=0, upper=9)
    """
    result = x
    for _ in range(exponent - 1):
        result = multiply(result, x)
    if exponent % 2 == 0 and x.lower < 0 < x.upper:
        return Interval(0, result.upper)
    return result


def floor_divide(x: Interval, y: Interval) -> Interval:
    """Bounds of a floor division; a divisor of zero has no quotient and is left out.

    >>> floor_divide(Interval(5, 9), Interval(0, INFINITY))
    Interval(lower=0, upper=9)
    """
    parts: list[Interval] = []
    above = Interval(max(y.lower, 1), y.upper)
    below = Interval(max(-y.upper, 1), -y.lower)
    for numerator, divisor in ((x, above), (negative(x), below)):
        if not divisor.is_empty:
            corners = [_quotient(a, b) for a in numerator for b in divisor]
            parts.append(Interval(min(corners), max(corners)))
    return hull(parts)


def larger(x: Interval, y: Interval) -> Interval:
    """Bounds of max(x, y).

    >>> larger(Interval(0, 2), Interval(1, 1))
    Interval(lower=1, upper=2)
    """
    return Interval(max(x.lower, y.lower), max(x.upper, y.upper))


def smaller(x: Interval, y: Interval) -> Interval:
    """Bounds of min(x, y).

    >>> smaller(Interval(0, 2), Interval(1, 1))
    Interval(lower=0, upper=1)
    """
    return Interval(min(x.lower, y.lower), min(x.upper, y.upper))


def meet(x: Interval, y: Interval) -> Interval:
    """What lies in both; may be empty.

    >>> meet(Interval(0, 5), Interval(3, INFINITY))
    Interval(lower=3, upper=5)
    """
    return Interval(max(x.lower, y.lower), min(x.upper, y.upper))


def hull(parts: Iterable[Interval]) -> Interval:
    """The smallest interval that contains all; everything when there are none.

    >>> hull([Interval(0, 1), Interval(4, 5)])
    Interval(lower=0, upper=5)
    """
    listed = list(parts)
    if not listed:
        return EVERYTHING
    return Interval(min(p.lower for p in listed), max(p.upper for p in listed))
