"""How large an integer can get: whether floats hold it exactly.

Law: below `EXACT`, converting to a float loses nothing, and rounding a quotient crosses no integer.
"""

from typing import Final

from monograph.integers.decision.bounds import bound
from monograph.integers.expr import Expr, Int, declared_interval
from monograph.integers.interval import INFINITY, Bound, Interval

__all__ = ["EXACT", "SIZE_LIMIT", "magnitude"]

# For |n| < 2**52 and an integer d, n/d and the nearest integer or half-integer it is not equal to
# are further apart than the rounding error |n/d| * 2**-53, so rounding crosses none of them.
EXACT: Final = 2**52
# A symbol declared without an upper bound, but not negative, is read as a size: below 2**44.
# Symbols this was used for are listed in `Pool.leaned_on`; the contract checks them. Numbers from
# data are no sizes, and no contract knows them.
SIZE_LIMIT: Final = 2**44


def magnitude(e: Int) -> Bound:
    """An upper bound of |e|, reading a missing upper bound of a size as `SIZE_LIMIT`.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> magnitude(2 * n) == 2 * SIZE_LIMIT, magnitude(-3)
    (True, 3)
    """
    if not isinstance(e, Expr):
        return abs(e)
    declared = declared_interval(e)
    result = max(-declared.lower, declared.upper)
    if result < INFINITY:
        return result
    clipped: dict[Expr, Interval] = {}
    for symbol in e.symbols:
        lower, upper = e.pool.declared[symbol]
        if lower >= 0 and upper == INFINITY and symbol not in e.pool.unbacked:
            clipped[symbol] = Interval(lower, max(lower, SIZE_LIMIT))
    sized = bound(e, clipped, {})
    result = max(-sized.lower, sized.upper)
    if result < EXACT:
        e.pool.leaned_on.update(dict.fromkeys(clipped))
    return result
