"""A second opinion on what the fast engine could not decide: examples first, then z3.

Law: True and False are proofs, also of the relation having a value: where a divisor might be zero,
nothing is proved. None says nothing. Values that satisfy all that is known and answer
differently settle that nothing can be proved, which takes microseconds and is how most questions
end. Only a question that all examples answer alike is worth z3's import (0.1 s, once) and a
millisecond or more.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Final

from monograph.integers.decision.satisfiability import are_contradictory
from monograph.integers.expr import Expr, Int
from monograph.integers.interval import Interval
from monograph.integers.knowledge import Knowledge
from monograph.integers.relation import Relation, Truth, any_of, eq, ge, holds, le, negate
from monograph.integers.structure import divisors

__all__ = ["is_nonlinear", "smt_answer"]

# Examples stay small: an opaque atom may be 2**n.
_LARGEST: Final = 4096
# How many mixtures; how many pairs of symbols, each moved to so many values but the first.
_MIXED: Final = 24
_PAIRS: Final = 6
_STEPS: Final = (0, 1, 2, 3, 5, 7, 16, 64, 1000)
_NEAR: Final = 7
# The most facts that are handed to z3. What was ever proved of a model took at most 12; writing
# down 50 takes a tenth of a second, and each question is written down anew.
_MOST_FACTS: Final = 40


def is_nonlinear(r: Relation) -> bool:
    """Whether it has a product, quotient, extreme or opaque function, or compares floats.

    >>> from monograph.integers import Facts
    >>> n = Facts().symbol("n", hint=3)
    >>> is_nonlinear(ge(2 * n, 7)), is_nonlinear(ge(n * n, 7)), is_nonlinear(ge(n // 2, 7))
    (False, True, True)
    """
    if r.kind == "opaque":
        return True
    if r.args:
        return any(is_nonlinear(arg) for arg in r.args)
    return any(len(m) > 1 or (m and m[0].kind != "symbol") for m, _ in r.expr.parts)


def smt_answer(k: Knowledge, hints: Mapping[Expr, int], r: Relation) -> bool | None:
    """Whether a relation holds by all that is known: True, False, or None.

    >>> from monograph.integers import Facts
    >>> facts = Facts()
    >>> u = facts.symbol("u", hint=None)
    >>> facts.assume(le(u * u - 3 * u, 10))
    >>> facts.known(le(u, 5)), smt_answer(facts.knowledge, {}, le(u, 5))
    (None, True)
    """
    if r in k.proofs or r in k.doubts:
        return k.proofs.get(r)
    answer = _opinion(k, hints, r)
    if answer is None:
        k.doubts.add(r)
    else:
        k.proofs[r] = answer
    return answer


def _opinion(k: Knowledge, hints: Mapping[Expr, int], r: Relation) -> bool | None:
    try:
        resolved = k.resolve(r)
    except ZeroDivisionError:
        return None
    if not isinstance(resolved, Relation):
        return resolved
    facts, symbols = _relevant(k, resolved)
    seen: set[bool] = set()
    for example in _examples(k, hints, symbols):
        answer = _holds(resolved, example)
        if answer not in seen and all(_holds(fact, example) for fact in facts):
            if answer is None or seen:
                return None
            seen.add(answer)
    return _proved(k, facts, resolved, seen)


def _proved(k: Knowledge, facts: list[Relation], r: Relation, seen: set[bool]) -> bool | None:
    """Refute the side that no example took; both, and exactly one, where there is no example."""
    if len(facts) > _MOST_FACTS:
        return None
    undefined = [eq(b, 0) for b in _divisors(r) if 0 in k.interval(b)]

    def is_impossible(side: Truth) -> bool:
        otherwise = any_of(side, *undefined)
        if not isinstance(otherwise, Relation):
            return not otherwise
        return are_contradictory(k, [*facts, otherwise])

    if seen:
        answer = True in seen
        return answer if is_impossible(negate(r) if answer else r) else None
    always, never = is_impossible(negate(r)), is_impossible(r)
    # Both: what is known is contradictory.
    return None if always == never else always


def _divisors(r: Relation) -> list[Expr]:
    if r.args:
        return [b for arg in r.args for b in _divisors(arg)]
    return [] if r.kind == "opaque" else divisors(r.expr)


def _relevant(k: Knowledge, r: Relation) -> tuple[list[Relation], list[Expr]]:
    """The facts that share symbols with the relation, directly or through others; all symbols."""
    facts = [*k.truths, *_ranges(k)]
    symbols = set(r.symbols)
    found: dict[Relation, None] = {}
    before = -1
    while len(found) != before:
        before = len(found)
        for fact in facts:
            if fact not in found and not symbols.isdisjoint(fact.symbols):
                found[fact] = None
                symbols |= fact.symbols
    return list(found), sorted(symbols, key=_index)


def _index(symbol: Expr) -> int:
    return symbol.index


def _ranges(k: Knowledge) -> Iterator[Relation]:
    """What was learnt about the ranges of atoms that are not symbols."""
    for atom, (lower, upper) in k.ranges.items():
        if atom.kind == "symbol":
            continue
        sides: list[Truth] = []
        if isinstance(lower, int):
            sides.append(ge(atom, lower))
        if isinstance(upper, int):
            sides.append(le(atom, upper))
        yield from [side for side in sides if isinstance(side, Relation)]


def _holds(r: Relation, example: Mapping[Expr, int]) -> bool | None:
    try:
        return holds(r, example)
    except (ArithmeticError, LookupError, TypeError, ValueError):
        # A divisor is zero, a float function has no value there, or a float depends on data.
        return None


def _examples(
    k: Knowledge, hints: Mapping[Expr, int], symbols: list[Expr]
) -> Iterator[dict[Expr, int]]:
    """Values in range: the hints, all of one size or one apart, then one or two moved, mixtures."""
    choices = {symbol: _values(k.interval(symbol), hints.get(symbol)) for symbol in symbols}
    if not all(choices.values()):
        return
    first = {symbol: values[0] for symbol, values in choices.items()}
    yield first
    for size in _STEPS:
        alike = {symbol: _nearest(k.interval(symbol), size) for symbol in symbols}
        yield alike
        for symbol in symbols[:_PAIRS]:
            yield {**alike, symbol: _nearest(k.interval(symbol), 1)}
    for symbol, values in choices.items():
        for value in values[1:]:
            yield {**first, symbol: value}
    for one, other in itertools.islice(itertools.combinations(symbols, 2), _PAIRS):
        for x, y in itertools.product(choices[one][1:_NEAR], choices[other][1:_NEAR]):
            yield {**first, one: x, other: y}
    for turn in range(_MIXED):
        # Symbols step through their values at different paces, so that they meet in many ways.
        yield {
            symbol: values[(turn * (place + 1) + turn // 7) % len(values)]
            for place, (symbol, values) in enumerate(choices.items())
        }


def _nearest(within: Interval, size: int) -> int:
    end = min(max(within.lower, size), within.upper)
    return end if isinstance(end, int) else size


def _values(within: Interval, hint: Int | None) -> list[int]:
    """Some values, the likeliest first: the hint, its neighbours, the ends."""
    lower, upper = within
    ends = [end for end in (lower, upper) if isinstance(end, int)]
    start = hint if isinstance(hint, int) else min(ends, key=abs, default=0)
    low = ends[0] if ends and ends[0] == lower else start - 60
    near = (start, start + 1, start - 1, 2 * start, start // 2)
    tried = [*near, *[low + step for step in _STEPS], *ends]
    small = [v for v in tried if v == start or abs(v) <= _LARGEST]
    return [v for v in dict.fromkeys(small) if v in within]
