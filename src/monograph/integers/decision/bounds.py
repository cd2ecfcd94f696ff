"""Bounds of expressions, by evaluation from the ranges of their atoms.

Law: under any values of the atoms within their ranges, an expression that has a value has it
within its bounds. Three estimates are met: term by term, after taking common factors out
(s0*s1 - s1 = s1*(s0 - 1)), and after replacing quotients by the bounds that division gives
(a - b + 1 <= b*(a//b) <= a), which is what bounds a remainder.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from monograph.integers import interval
from monograph.integers.expr import Expr, Int
from monograph.integers.interval import EVERYTHING, Interval
from monograph.integers.polynomial import Monomial, Polynomial, common_monomial, divide_exactly
from monograph.integers.polynomial import monomial_quotient as over

__all__ = ["bound", "cancel", "linear_in"]

Ranges = Mapping[Expr, Interval]
Cache = dict[Expr, Interval]

_COMBINE: Final = MappingProxyType(
    {"floordiv": interval.floor_divide, "max": interval.larger, "min": interval.smaller}
)

_MOST_QUOTIENTS: Final = 8
"""Each is replaced in two ways, so with more of them that takes too long."""


def bound(e: Expr, ranges: Ranges, cache: Cache) -> Interval:
    """Bounds of an expression; `ranges` go before declared ones, `cache` belongs to `ranges`.

    >>> from monograph.integers.pool import Pool
    >>> a = Pool().symbol("a", Interval(2, 5))
    >>> bound(a, {a: Interval(3, 3)}, {})
    Interval(lower=3, upper=3)
    """
    found = cache.get(e)
    if found is None:
        found = _of_sum(e, ranges, cache) if e.kind == "sum" else _of_atom(e, ranges, cache)
        cache[e] = found
    return found


def _of_atom(e: Expr, ranges: Ranges, cache: Cache) -> Interval:
    stated = ranges.get(e) or e.pool.declared.get(e)
    if e.kind in {"symbol", "opaque"}:
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


def _of_sum(e: Expr, ranges: Ranges, cache: Cache) -> Interval:
    result = Interval(0, 0)
    for monomial, coefficient in e.parts:
        term = Interval(coefficient, coefficient)
        done = 0
        while done < len(monomial):
            atom = monomial[done]
            times = monomial.count(atom)
            factor = bound(atom, ranges, cache)
            term = interval.multiply(term, interval.power(factor, times))
            done += times
        result = interval.add(result, term)
    if len(e.parts) == 1:
        return result
    common = common_monomial(e.parts)
    if common:
        result = interval.meet(result, _of_factors(e, common, ranges, cache))
    if 0 < e.n_operations <= _MOST_QUOTIENTS:
        result = interval.meet(result, _of_remainders(e, ranges, cache))
    return result


def _of_factors(e: Expr, common: Monomial[Expr], ranges: Ranges, cache: Cache) -> Interval:
    outer, inner = e.pool.make(((common, 1),)), e.pool.make(cancel(e.parts, common, 1))
    if not isinstance(outer, Expr) or not isinstance(inner, Expr):
        return EVERYTHING
    return interval.multiply(bound(outer, ranges, cache), bound(inner, ranges, cache))


def _of_remainders(e: Expr, ranges: Ranges, cache: Cache) -> Interval:
    """Bounds of e = n*b*f + rest, where f = floor(a / b), from n*a and n*(a - b + 1)."""
    for monomial, _ in e.parts:
        for f in monomial:
            if f.kind != "floordiv":
                continue
            a, b = f.int_args
            factor, rest = linear_in(e, f)
            if factor is None or _lower(b, ranges, cache) <= 0:
                continue
            times, scale = _multiple(factor, b)
            if times is None:
                continue
            # scale*e lies between scale*rest + times*a and that with a - b + 1 for a.
            ends = [scale * rest + times * end for end in (a - b + 1, a)]
            low, high = ends if times > 0 else ends[::-1]
            return Interval(
                _ceil(_lower(low, ranges, cache), scale),
                _floor(-_lower(-high, ranges, cache), scale),
            )
    return EVERYTHING


def _lower(e: Int, ranges: Ranges, cache: Cache) -> interval.Bound:
    return bound(e, ranges, cache).lower if isinstance(e, Expr) else e


def _floor(x: interval.Bound, scale: int) -> interval.Bound:
    return x // scale if isinstance(x, int) else x


def _ceil(x: interval.Bound, scale: int) -> interval.Bound:
    return -(-x // scale) if isinstance(x, int) else x


def _multiple(factor: Int, b: Int) -> tuple[int | None, int]:
    """(times, scale) with scale*factor = times*b, both constant and scale > 0."""
    if isinstance(b, int) and isinstance(factor, int):
        scale = b // math.gcd(b, factor)
        return scale * factor // b, scale
    if isinstance(b, Expr) and isinstance(factor, Expr):
        exact = divide_exactly(factor.parts, b.parts, b.pool.rank)
        times = b.pool.make(exact) if exact else None
        return (times, 1) if isinstance(times, int) else (None, 1)
    return None, 1


def linear_in(e: Expr, atom: Expr) -> tuple[Int | None, Int]:
    """(factor, rest) with e = factor*atom + rest and none of it in the factor; None if squared.

    >>> from monograph.integers.pool import Pool
    >>> pool = Pool()
    >>> a, b = pool.symbol("a", EVERYTHING), pool.symbol("b", EVERYTHING)
    >>> linear_in(a * b + 2 * b + 1, b), linear_in(a * a, a)[0]
    ((a + 2, 1), None)
    """
    factor: list[tuple[Monomial[Expr], int]] = []
    rest: list[tuple[Monomial[Expr], int]] = []
    for monomial, coefficient in e.parts:
        match monomial.count(atom):
            case 0:
                rest.append((monomial, coefficient))
            case 1:
                factor.append((over(monomial, (atom,)) or (), coefficient))
            case _:
                return None, e
    # Taking the same atom out of each term keeps the order of the terms.
    return e.pool.make(tuple(factor)), e.pool.make(tuple(rest))


def cancel(p: Polynomial[Expr], common: Monomial[Expr], g: int) -> Polynomial[Expr]:
    """p / (g*common), where that divides every term.

    >>> cancel((((), 4),), (), 2)
    (((), 2),)
    """
    return tuple([(over(m, common) or (), c // g) for m, c in p])
