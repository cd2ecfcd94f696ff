"""Symbols, hints, and who stated what."""

import pytest

from monograph.integers import Contradiction, Facts, Guard, eq, ge, maximum, to_float


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


def test_symbols_keep_their_order_hint_and_source(facts):
    """What was said when they were made."""
    n = facts.symbol("n", hint=3, source="x.shape[0]")
    assert not facts.has_unbacked
    u = facts.symbol("u0", hint=None, lower=None, upper=9)
    assert facts.has_unbacked
    assert facts.symbols == (n, u)
    assert facts.source_of(n) == "x.shape[0]"
    assert dict(facts.hints) == {n: 3}
    assert facts.range_of(n) == (0, float("inf"))
    assert facts.range_of(u) == (-float("inf"), 9)
    assert facts.is_unbacked(n + u)
    assert not facts.is_unbacked(n)
    assert not facts.is_unbacked(3)


def test_a_range_of_one_is_a_constant(facts):
    """A symbol that can only be 4 is 4."""
    n = facts.symbol("n", hint=4, lower=4, upper=4)
    assert facts.simplify(n) == 4
    with pytest.raises(Contradiction, match="no integer"):
        facts.symbol("m", hint=4, lower=5, upper=4)


def test_hints(facts):
    """Expressions and relations at the example; None where data decides."""
    n, u = facts.symbol("n", hint=3), facts.symbol("u0", hint=None)
    assert facts.hint_of(n * n + 1) == 10
    assert facts.hint_of(n * n + 1) == 10
    assert facts.hint_of(5) == 5
    assert facts.hint_of(n + u) is None
    assert facts.hint_of_relation(ge(n, 3)) is True
    assert facts.hint_of_relation(ge(n, u)) is None
    assert facts.hint_of_relation(False) is False
    facts.assume(eq(u, 2 * n))
    assert facts.hint_of(n + u) == 9
    assert facts.hint_of_relation(ge(n, u)) is False


def test_guards_keep_order_and_origin_without_duplicates(facts):
    """Assumptions are stated; guards and assertions are checked."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    facts.locate = lambda: "model.py:3"
    facts.assume(ge(n, 1), "spec")
    facts.guard(ge(n, 2))
    facts.guard(ge(n, 2))
    facts.guard(True)
    facts.assert_at_run(ge(m, 1))
    assert facts.guards == [Guard(ge(n, 2), "model.py:3")]
    assert facts.assertions == [Guard(ge(m, 1), "model.py:3")]
    assert facts.stated[0] == Guard(ge(n, 1), "spec")


def test_intervals_use_what_is_equal(facts):
    """A bound of one side is a bound of the other."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=7)
    facts.assume(eq(m, 2 * n + 1))
    facts.assume(ge(n, 3))
    assert facts.interval(m).lower == 7
    assert facts.interval(m - 2 * n) == (1, 1)
    assert facts.interval(5) == (5, 5)


def test_sizes_leaned_on_are_listed(facts):
    """A bounded symbol needs no limit."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=7, upper=100)
    to_float(m)
    assert facts.sizes_leaned_on == ()
    to_float(n)
    assert facts.sizes_leaned_on == (n,)


def test_a_number_is_not_replaced_by_a_later_one(facts):
    """Where it is computed, the later one is not there yet; that they are equal is known."""
    u = facts.symbol("u", hint=None, lower=None)
    v = facts.symbol("v", hint=None, lower=None)
    facts.assume(eq(u, maximum(v, 0)))
    assert facts.simplify(u) is u
    assert facts.known(ge(u, 0)) is True
    assert facts.known(eq(u + 1, maximum(v, 0) + 1)) is True
    facts.assume(eq(v, u))
    assert facts.simplify(v + 1) is u + 1


@pytest.mark.parametrize("of", [lambda facts: facts, lambda facts: facts.knowledge])
def test_a_copy_has_everything_and_shares_no_container(facts, of):
    """What either learns from here on is its own."""
    n = facts.symbol("n", hint=6)
    facts.guard(ge(n, 4))
    facts.assume(eq(n % 2, 0))
    one, other = of(facts), of(facts.copy())
    for name in type(one).__slots__:
        mine, theirs = getattr(one, name), getattr(other, name)
        if isinstance(mine, dict | set | list) and name != "outside":  # of the whole run
            assert mine is not theirs
    assert [each.relation for each in facts.copy().guards] == [ge(n, 4)]
    assert facts.copy().known(ge(n, 3))
