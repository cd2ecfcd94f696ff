"""Relaxing lets more inputs in: values of symbols that guards exclude, and that were tried since.

Law: an input with the values in `fixed` is accepted afterwards iff all of `needed` hold, and so
does every guard that these values, and what follows from them, do not make false. Any other is
accepted iff it was before.
"""

from collections.abc import Mapping, Sequence

from monograph.integers.decision.propagation import learn
from monograph.integers.decision.proving import known
from monograph.integers.expr import Expr, Int, declared_interval
from monograph.integers.facts import Facts, Guard
from monograph.integers.knowledge import Contradiction, Knowledge
from monograph.integers.relation import (
    Relation,
    Truth,
    all_of,
    any_of,
    eq,
    ge,
    negate,
    substitute_relation,
)
from monograph.integers.structure import evaluate

__all__ = ["followers", "if_let_in", "leaves_out", "relax"]


def followers(facts: Facts, fixed: Mapping[Expr, int]) -> dict[Expr, int]:
    """The values of all symbols that are known once these are. Raises ZeroDivisionError.

    >>> facts = Facts()
    >>> n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=6)
    >>> facts.guard(eq(m, 2 * n))
    >>> followers(facts, {n: 1}) == {n: 1, m: 2}
    True
    """
    found = dict(fixed)
    for symbol in facts.symbols:
        learnt = facts.simplify(symbol)
        if isinstance(learnt, Expr) and learnt.symbols <= fixed.keys():
            found.setdefault(symbol, evaluate(learnt, fixed))
    return found


def leaves_out(facts: Facts, fixed: Mapping[Expr, int]) -> bool:
    """Whether some guard is false at these values, whatever the others are.

    >>> from monograph.integers import ge
    >>> facts = Facts()
    >>> n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    >>> facts.guard(ge(n + m, 3))
    >>> leaves_out(facts, {n: 1, m: 1}), leaves_out(facts, {n: 1, m: 2}), leaves_out(facts, {n: 1})
    (True, False, False)
    """
    try:
        env: dict[Expr, Int] = {**followers(facts, fixed)}
        return any(substitute_relation(made.relation, env) is False for made in facts.guards)
    except ZeroDivisionError:
        return True


def if_let_in(facts: Facts, fixed: Mapping[Expr, int]) -> Facts | None:
    """What would be known at these values if no guard left them out; None if nothing has them.

    >>> from monograph.integers import ge
    >>> facts = Facts()
    >>> n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    >>> for relation in (ge(n, 2), ge(m, n)):
    ...     facts.guard(relation)
    >>> there = if_let_in(facts, {n: 1})
    >>> there.known(eq(n, 1)), there.known(ge(m, 1)), there.known(ge(m, 2))
    (True, True, None)
    """
    here = all_of(*[eq(symbol, value) for symbol, value in fixed.items()])
    there = facts.copy()
    try:
        there.restate([], _widened(facts, here, fixed))
        there.assume(here)
    except (Contradiction, ZeroDivisionError):
        return None
    return there


def relax(facts: Facts, fixed: Mapping[Expr, int], needed: Sequence[Guard]) -> bool:
    """Accept these values too, where what is needed there holds; whether that lets anything in.

    >>> from monograph.integers import Facts, Guard, ge, ne, relation_text
    >>> facts = Facts()
    >>> n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    >>> for relation in (ge(n, 2), ne(m, 0)):
    ...     facts.guard(relation)
    >>> relax(facts, {n: 1}, [Guard(ge(m, 4), None)])
    True
    >>> [relation_text(guard.relation) for guard in facts.guards]
    ['n >= 1', 'm != 0', 'n != 1 or m >= 4']
    """
    here = all_of(*[eq(symbol, value) for symbol, value in fixed.items()])
    try:
        instead = _widened(facts, here, fixed)
        guards = [Guard(r, made.origin) for made, r in _replaced(facts.guards, instead)]
        there = _knowledge(facts, [*(r for _, r in _replaced(facts.stated, instead)), here])
    except (Contradiction, ZeroDivisionError):
        return False
    for guard in needed:
        answer = known(there, guard.relation)
        if answer is False:
            return False
        elsewhere = any_of(negate(here), guard.relation)
        if answer is None and isinstance(elsewhere, Relation):
            guards.append(Guard(elsewhere, guard.origin))
    facts.restate(guards, instead)
    return True


def _widened(facts: Facts, here: Truth, fixed: Mapping[Expr, int]) -> dict[Relation, Truth]:
    """What to say instead of each guard that is false at these values."""
    env: dict[Expr, Int] = {**followers(facts, fixed)}
    return {
        guard.relation: _or_here(facts, guard.relation, here, fixed)
        for guard in facts.guards
        if substitute_relation(guard.relation, env) is False
    }


def _or_here(facts: Facts, r: Relation, here: Truth, fixed: Mapping[Expr, int]) -> Truth:
    """The relation, or these values; n >= 1 for whatever says n >= 2, where the value is 1."""
    if known(_knowledge(facts, [negate(r)]), here) is True:
        return True
    if len(fixed) == 1 and r.symbols == frozenset(fixed):
        ((symbol, value),) = fixed.items()
        least = ge(symbol, value + 1)
        if _implies(facts, r, least) and _implies(facts, least, r):
            known_of_all = value <= declared_interval(symbol).lower
            return True if known_of_all else ge(symbol, value)
    return any_of(here, r)


def _implies(facts: Facts, r: Truth, other: Truth) -> bool:
    return r is other or known(_knowledge(facts, [r]), other) is True


def _replaced(
    made: Sequence[Guard], instead: Mapping[Relation, Truth]
) -> list[tuple[Guard, Relation]]:
    new = [(guard, instead.get(guard.relation, guard.relation)) for guard in made]
    return [(guard, r) for guard, r in new if isinstance(r, Relation)]


def _knowledge(facts: Facts, relations: Sequence[Truth]) -> Knowledge:
    k = Knowledge(facts.pool, lambda symbol: (symbol.index,))
    for r in relations:
        learn(k, r)
    return k
