"""Proving answers whether a relation is true, false, or not decided by what is known.

Law: True and False are proofs; None says nothing. Every step shows e >= 0 from something smaller
that is >= 0. The work for one question is bounded, so None may also mean "too hard".
"""

import math
from types import MappingProxyType
from typing import Final

from monograph.integers.decision.bounds import cancel, linear_in
from monograph.integers.expr import Expr, Int
from monograph.integers.knowledge import Knowledge
from monograph.integers.polynomial import (
    Monomial,
    common_monomial,
    divide_exactly,
)
from monograph.integers.relation import Relation, Truth, eq, ge, ne, negate
from monograph.integers.structure import halved, product

__all__ = ["is_never_negative", "known"]

# A proof nests at most so deep, chains so many stored facts, and takes so many steps (1 to 2 ms).
_DEPTH = 4
_CHAIN = 2
_FUEL = 150

_COMPARE: Final = MappingProxyType({"eq": eq, "ge": ge, "ne": ne})


def known(k: Knowledge, r: Truth) -> bool | None:
    """Whether a relation holds: True, False, or None where neither could be proved."""
    if not isinstance(r, Relation):
        return r
    if r in k.answers:
        return k.answers[r]
    if r in k.proofs:
        return k.proofs[r]
    k.fuel = _FUEL
    try:
        resolved = k.resolve(r)
        answer = resolved if isinstance(resolved, bool) else _known(k, resolved)
        if answer is None and isinstance(resolved, Relation):
            answer = _known_refined(k, resolved)
    except ZeroDivisionError:
        # One side has no value, so the relation has none either.
        answer = None
    k.answers[r] = answer
    return answer


def _known(k: Knowledge, r: Relation) -> bool | None:
    if r in k.truths:
        return True
    if k.truths and negate(r) in k.truths:
        return False
    match r.kind:
        case "ge":
            return _known_sign(k, r.expr)
        case "eq":
            return _known_zero(k, r.expr)
        case "ne":
            zero = _known_zero(k, r.expr)
            return None if zero is None else not zero
        case "and":
            return _known_all([known(k, arg) for arg in r.args])
        case "or":
            some = _known_all([known(k, negate(arg)) for arg in r.args])
            return None if some is None else not some
        case "opaque":
            return None


def _known_refined(k: Knowledge, r: Relation) -> bool | None:
    """Ask again after cancelling what is known by now: s*(n*s//s) == n*s for s > 0.

    And with what is rounded up written as what is rounded down: n - n//2 == (n + 1)//2.
    """
    if r.kind not in _COMPARE:
        return None
    for better in (k.refined(r.expr), halved(r.expr)):
        if better is r.expr:
            continue
        again = _COMPARE[r.kind](better, 0)
        answer = _known(k, again) if isinstance(again, Relation) else again
        if answer is not None:
            return answer
    return None


def _known_all(answers: list[bool | None]) -> bool | None:
    if False in answers:
        return False
    return None if None in answers else True


def _known_sign(k: Knowledge, e: Expr) -> bool | None:
    within = k.interval(e)
    if within.lower >= 0:
        return True
    if within.upper < 0:
        return False
    if not k.truths and _is_linear(e):
        return None
    if is_never_negative(k, e):
        return True
    return False if is_never_negative(k, -e - 1) else None


def _known_zero(k: Knowledge, e: Expr) -> bool | None:
    within = k.interval(e)
    if within.lower > 0 or within.upper < 0:
        return False
    if within.lower == within.upper == 0:
        return True
    common = common_monomial(e.parts)
    if common and (len(e.parts) > 1 or len(common) > 1):
        # A product is zero iff one of its factors is.
        factors: list[Int] = list(dict.fromkeys(common))
        if len(e.parts) > 1:
            factors.append(e.pool.make(cancel(e.parts, common, 1)))
        zeros = [_known_zero(k, f) if isinstance(f, Expr) else f == 0 for f in factors]
        if True in zeros:
            return True
        if None not in zeros:
            return False
    if not k.truths and _is_linear(e):
        return None
    if is_never_negative(k, e - 1) or is_never_negative(k, -e - 1):
        return False
    if is_never_negative(k, e) and is_never_negative(k, -e):
        return True
    return None


def is_never_negative(k: Knowledge, e: Int, depth: int = _DEPTH, chain: int = _CHAIN) -> bool:
    """Whether e >= 0 can be proved; uses at most `chain` stored facts."""
    if not isinstance(e, Expr):
        return e >= 0
    within = k.interval(e)
    if within.lower >= 0:
        return True
    if within.upper < 0:
        return False
    if not k.truths and _is_linear(e):
        # Over a box, the bounds of a linear form are exact.
        return False
    found = k.signs.get((e, depth, chain))
    if found is not None:
        return found
    found = _has_positive_shift(k, e) or _is_shown(k, e, depth, chain)
    if found or k.fuel >= 0:  # else there was no time to look
        k.signs[e, depth, chain] = found
    return found


def _is_shown(k: Knowledge, e: Expr, depth: int, chain: int) -> bool:
    """Whether one of the ways to something smaller shows e >= 0."""
    k.fuel -= 1
    if depth == 0 or k.fuel < 0:
        return False
    return (
        _by_factor(k, e, depth, chain)
        or _by_cases(k, e, depth, chain)
        or _by_difference(k, e, depth, chain)
        or bool(chain and k.truths and _by_facts(k, e, depth, chain))
    )


def _is_linear(e: Expr) -> bool:
    """Whether it is a sum of multiples of symbols and a constant."""
    return all(len(m) < 2 and (not m or m[0].kind == "symbol") for m, _ in e.parts)


def _has_positive_shift(k: Knowledge, e: Expr, positive: Monomial[Expr] = ()) -> bool:
    """Write each atom as (lower bound + x) or (upper bound - x), x >= 0, and read the signs.

    If no coefficient of the result is negative, then e >= 0, given that `positive` ones are.
    """
    shifted: dict[Monomial[Expr], int] = {}
    for monomial, coefficient in e.parts:
        expanded: dict[Monomial[Expr], int] = {(): coefficient}
        for atom in monomial:
            lower, upper = k.interval(atom)
            if isinstance(lower, int):
                start, step = max(lower, 1) if atom in positive else lower, 1
            elif isinstance(upper, int):
                start, step = upper, -1
            else:
                return False
            longer: dict[Monomial[Expr], int] = {(*m, atom): c * step for m, c in expanded.items()}
            if start:
                for m, c in expanded.items():
                    longer[m] = longer.get(m, 0) + c * start
            expanded = longer
        for m, c in expanded.items():
            shifted[m] = shifted.get(m, 0) + c
    return all(c >= 0 for c in shifted.values())


def _by_factor(k: Knowledge, e: Expr, depth: int, chain: int) -> bool:
    """m*r >= 0 where m >= 0 and r >= 0, or neither is positive."""
    common = common_monomial(e.parts)
    if not common or len(e.parts) == 1:
        return False
    outer, inner = k.interval(product(common)), e.pool.make(cancel(e.parts, common, 1))
    if outer.lower >= 0:
        if is_never_negative(k, inner, depth - 1, chain):
            return True
        # Where a factor is zero so is e; elsewhere all of them are at least 1.
        atoms_too = all(k.interval(atom).lower >= 0 for atom in common)
        return atoms_too and isinstance(inner, Expr) and _has_positive_shift(k, inner, common)
    return outer.upper <= 0 and is_never_negative(k, -inner, depth - 1, chain)


def _by_cases(k: Knowledge, e: Expr, depth: int, chain: int) -> bool:
    """Put bounds for the first quotient, maximum or minimum that e is linear in."""
    seen: set[Expr] = set()
    for monomial, _ in e.parts:
        for atom in monomial:
            if atom.kind in {"symbol", "opaque"} or atom in seen:
                continue
            seen.add(atom)
            factor, rest = linear_in(e, atom)
            if factor is None:
                continue
            if atom.kind == "floordiv":
                if _by_quotient(k, atom, factor, rest, depth, chain):
                    return True
            else:
                return _by_extreme(k, atom, factor, rest, depth, chain)
    return False


def _by_quotient(k: Knowledge, atom: Expr, factor: Int, rest: Int, depth: int, chain: int) -> bool:
    """e = factor*f + rest, where f = floor(a / b) with b > 0 lies in a - b + 1 <= b*f <= a."""
    a, b = atom.int_args
    if k.interval(b).lower <= 0:
        return False
    times, slack = _multiple(factor, b)
    if times is None:
        return False
    # s*e = times*(b*f) + s*rest with s > 0; and e >= 0 iff e > -1 iff s*e + s - 1 >= 0.
    rest = slack * rest + (slack - 1)
    sign = k.interval(times)
    if sign.lower >= 0:
        return is_never_negative(k, times * (a - b + 1) + rest, depth - 1, chain)
    return sign.upper <= 0 and is_never_negative(k, times * a + rest, depth - 1, chain)


def _multiple(factor: Int, b: Int) -> tuple[Int | None, int]:
    """(times, s) with s*factor = times*b for a constant s > 0."""
    if isinstance(b, int):
        parts = factor.parts if isinstance(factor, Expr) else (((), factor),)
        common = math.gcd(b, *[c for _, c in parts])
        slack = b // common
        return slack * factor // b, slack
    if not isinstance(factor, Expr):
        return None, 1
    exact = divide_exactly(factor.parts, b.parts, b.pool.rank)
    return (None if exact is None else b.pool.make(exact)), 1


def _by_extreme(k: Knowledge, atom: Expr, factor: Int, rest: Int, depth: int, chain: int) -> bool:
    """e = factor*max(...) + rest: the maximum is above each operand, and equal to one of them."""
    options = (is_never_negative(k, factor * x + rest, depth - 1, chain) for x in atom.int_args)
    sign = k.interval(factor)
    grows = sign.lower >= 0 if atom.kind == "max" else sign.upper <= 0
    return any(options) if grows else all(options)


def _by_difference(k: Knowledge, e: Expr, depth: int, chain: int) -> bool:
    """e >= 0 follows from e + 1 >= 0 and e + 1 != 0."""
    other = e + 1
    if not k.truths or not isinstance(other, Expr):
        return False
    apart = ne(other, 0)
    return apart in k.truths and is_never_negative(k, other, depth - 1, chain)


def _by_facts(k: Knowledge, e: Expr, depth: int, chain: int) -> bool:
    """e = (e - n*f) + n*f, where f >= 0 is a fact, n > 0, and the first part is >= 0."""
    coefficients = dict(e.parts)
    k.pool.charge(len(k.truths))
    for fact in k.truths:
        if fact.kind not in {"ge", "eq"} or fact.symbols.isdisjoint(e.symbols):
            continue
        for f in (fact.expr,) if fact.kind == "ge" else (fact.expr, -fact.expr):
            for n in _multipliers(coefficients, f):
                if is_never_negative(k, e - n * f, depth - 1, chain - 1):
                    return True
                if k.fuel < 0:
                    return False
    return False


def _multipliers(coefficients: dict[Monomial[Expr], int], f: Expr) -> list[int]:
    """The multiples of f that cancel a term of e."""
    found: dict[int, None] = {}
    for monomial, c in f.parts:
        times, remainder = divmod(coefficients.get(monomial, 0), c)
        if monomial and times > 0 and not remainder:
            found[times] = None
    return list(found)
