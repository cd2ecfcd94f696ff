"""Pruning leaves out guards that follow from guards stated after them.

A guard that follows from earlier ones was never recorded; one that follows from later ones
(`n >= 2`, then `n >= 3`) was, and checks nothing any more.

Law: whatever satisfies the declared ranges and the guards that stay satisfies all of them. Those
that stay keep their order.
"""

from collections.abc import Callable, Sequence

from monograph.integers.decision.propagation import learn
from monograph.integers.decision.proving import known
from monograph.integers.expr import Expr
from monograph.integers.facts import Facts, Guard
from monograph.integers.knowledge import Contradiction, Knowledge

__all__ = ["needed_guards"]


def needed_guards(facts: Facts) -> list[Guard]:
    """The guards of these facts, without those that later ones imply.

    >>> from monograph.integers import Facts, ge, le, relation_text
    >>> facts = Facts()
    >>> n = facts.symbol("n", hint=6)
    >>> for relation in (ge(n, 2), le(n, 9), ge(n, 3)):
    ...     facts.guard(relation)
    >>> [relation_text(guard.relation) for guard in needed_guards(facts)]
    ['n <= 9', 'n >= 3']
    """
    if len(facts.guards) < 2:
        return list(facts.guards)
    return _pruned(facts.guards, Knowledge(facts.pool, _by_age(facts)))


def _by_age(facts: Facts) -> Callable[[Expr], tuple[int, ...]]:
    ages = {symbol: age for age, symbol in enumerate(facts.symbols)}
    return lambda symbol: (ages.get(symbol, len(ages)), symbol.index)


def _pruned(guards: Sequence[Guard], k: Knowledge) -> list[Guard]:
    kept: list[Guard] = []
    seen: set[Expr] = set()
    for guard in reversed(guards):
        about = guard.relation.symbols
        # About other symbols than these nothing was learnt that ranges did not say before.
        if not seen.isdisjoint(about) and known(k, guard.relation) is True:
            continue
        kept.append(guard)
        seen |= about
        try:
            learn(k, guard.relation)
        except Contradiction:
            # Nothing satisfies them all: then all are needed to say so.
            return list(guards)
    return kept[::-1]
