"""Relaxing lets in exactly what its law says: held against brute force."""

import itertools

from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.integers import (
    Contradiction,
    Facts,
    Guard,
    Relation,
    any_of,
    eq,
    followers,
    ge,
    holds,
    leaves_out,
    ne,
    relation_text,
    relax,
    substitute_relation,
)

VALUES = range(7)


def made(n, m, which, k, c):
    """One of several relations of two symbols."""
    return [
        ge(n, k), ne(n, k), ge(m, k), ne(m, k), ge(n * m, k), ne(n + m, k), ge(n + 2 * m, k),
        eq(n % (c + 1), 0), ge(m, n - k), any_of(eq(n, k), ge(m, c)), ge(n // (c + 1), 1),
        eq(m, n + c), ge(6 - k, n),
    ][which]  # fmt: skip


RELATIONS = st.tuples(st.integers(0, 12), st.integers(0, 3), st.integers(0, 2))


def is_false(relation, fixed):
    """Whether these values make it false, whatever the others are."""
    return substitute_relation(relation, fixed) is False


@given(
    st.lists(RELATIONS, max_size=5),
    st.lists(RELATIONS, max_size=3),
    st.sampled_from([(0, None), (1, None), (None, 1), (1, 1), (0, 1)]),
)
@settings(max_examples=400, deadline=None, database=None)
def test_accepts_what_was_accepted_and_what_is_vouched_for(stated, needed, at):
    """Every input accepted before stays; any other has the values let in, and what they need."""
    facts = Facts()
    n, m = facts.symbol("n", hint=4), facts.symbol("m", hint=4)
    fixed = {symbol: value for symbol, value in zip((n, m), at, strict=True) if value is not None}
    try:
        for each in stated:
            facts.guard(made(n, m, *each))
    except Contradiction:
        return
    settled = followers(facts, fixed)
    before = [guard.relation for guard in facts.guards]
    there = [r for each in needed if isinstance(r := made(n, m, *each), Relation)]
    is_changed = relax(facts, fixed, [Guard(relation, None) for relation in there])
    after = [guard.relation for guard in facts.guards]
    if not is_changed:
        assert before == after
    for values in itertools.product(VALUES, repeat=2):
        env = dict(zip((n, m), values, strict=True))
        was, is_now = (all(holds(r, env) for r in relations) for relations in (before, after))
        is_here = all(env[symbol] == value for symbol, value in fixed.items())
        vouched_for = all(holds(r, env) for r in there)
        if not is_changed:
            continue
        if is_here:
            kept = [r for r in before if not is_false(r, settled)]
            assert is_now == (vouched_for and all(holds(r, env) for r in kept))
        else:
            assert is_now == was
        if is_now:
            assert facts.known(eq(n, values[0])) is not False
            assert facts.known(eq(m, values[1])) is not False


def test_a_bound_is_moved_by_one():
    """Whatever said it: `n >= 2` becomes `n >= 1`, then nothing."""
    facts = Facts()
    n = facts.symbol("n", hint=4)
    facts.guard(ge((n + 2) // 4, 1))
    assert leaves_out(facts, {n: 1})
    assert relax(facts, {n: 1}, [])
    assert [relation_text(guard.relation) for guard in facts.guards] == ["n >= 1"]
    assert relax(facts, {n: 0}, [])
    assert not facts.guards
    assert facts.known(ge(n, 1)) is None


def test_what_nothing_can_satisfy_is_not_let_in():
    """Needs that contradict each other, or a guard that divides by the value."""
    facts = Facts()
    n, m = facts.symbol("n", hint=4), facts.symbol("m", hint=8)
    for relation in (ge(n, 1), ge(m // n, 2)):
        facts.guard(relation)
    assert not relax(facts, {n: 0}, [])
    assert [relation_text(guard.relation) for guard in facts.guards] == ["n >= 1", "m//n >= 2"]
    facts = Facts()
    n = facts.symbol("n", hint=4)
    facts.guard(ne(n, 1))
    assert not relax(facts, {n: 1}, [Guard(ge(n, 3), None)])
