"""Pruning leaves what the rest does not imply, in order."""

import itertools
from random import Random

from monograph.integers import (
    Contradiction,
    Facts,
    Guard,
    eq,
    ge,
    holds,
    le,
    ne,
    needed_guards,
    relation_text,
)


def guarded(*make):
    """Facts with two symbols and these guards, each a function of the symbols."""
    facts = Facts()
    n, m = facts.symbol("n", hint=6), facts.symbol("m", hint=12)
    for each in make:
        facts.guard(each(n, m))
    return facts


def left(facts):
    """The guards that stay, as text."""
    return [relation_text(guard.relation) for guard in needed_guards(facts)]


def test_a_later_guard_replaces_an_earlier_one():
    """Ranges, values left out, and equations."""
    assert left(guarded(lambda n, _: ge(n, 2), lambda n, _: ge(n, 3))) == ["n >= 3"]
    assert left(guarded(lambda n, _: ne(n, 2), lambda n, _: ge(n, 3))) == ["n >= 3"]
    assert left(guarded(lambda n, _: ge(n, 3), lambda n, m: eq(m, 2 * n))) == ["n >= 3", "2*n == m"]
    assert left(guarded(lambda n, _: eq(n % 2, 0), lambda n, _: eq(n, 6))) == ["n == 6"]


def test_one_guard_stays():
    """Whatever it says."""
    assert left(guarded(lambda n, m: le(n * m, 100))) == ["n*m <= 100"]
    assert left(guarded()) == []


def test_it_may_be_asked_again():
    """Nothing of the facts changes."""
    facts = guarded(lambda n, _: eq(n % 3, 0), lambda _, m: eq(m % 4, 0), le)
    assert left(facts) == left(facts)
    assert len(facts.guards) == 3


def test_what_stays_implies_what_is_left_out():
    """By trying all small values, for many sets of guards that hold of one example."""
    random = Random(7)
    kinds = (eq, ne, ge, le)
    for _ in range(150):
        facts = Facts()
        n, m = facts.symbol("n", hint=6), facts.symbol("m", hint=12)
        for _ in range(5):
            side = random.choice((n, m, n + m, n * m, n % 3, m % 4, 2 * n - m, n // 2))
            relation = random.choice(kinds)(side, random.randrange(13))
            if relation not in {True, False} and holds(relation, {n: 6, m: 12}):
                try:
                    facts.guard(relation)
                except Contradiction:
                    continue
        stay = needed_guards(facts)
        assert [each for each in facts.guards if each in stay] == stay
        for values in itertools.product(range(16), repeat=2):
            env = dict(zip((n, m), values, strict=True))
            assert satisfied(stay, env) == satisfied(facts.guards, env)


def satisfied(guards: list[Guard], env: dict) -> bool:
    """Whether all hold."""
    return all(holds(guard.relation, env) for guard in guards)
