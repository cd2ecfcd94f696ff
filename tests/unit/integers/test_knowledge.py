"""What has been learnt, as data."""

import pytest

from monograph.integers import Facts, eq, ge, maximum, ne


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


def test_simplify_does_nothing_before_something_is_learnt(facts):
    """The same object comes back."""
    n = facts.symbol("n", hint=3)
    assert facts.simplify(n // 2) is n // 2
    assert facts.simplify(7) == 7


def test_divisors_learnt_positive_cancel(facts):
    """n*m//n is m once n is known not to be zero."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=4)
    quotient = n * m // n
    facts.assume(ne(n, 0))
    assert facts.simplify(quotient + 1) is m + 1


def test_maxima_lose_operands_learnt_smaller(facts):
    """max(n, m) is n once n >= m."""
    n, m = facts.symbol("n", hint=4), facts.symbol("m", hint=4)
    facts.assume(ge(n, m))
    assert facts.simplify(maximum(n, m) * 2) is 2 * n


def test_later_symbols_give_way_to_earlier_ones(facts):
    """Named before anonymous, backed before unbacked, early before late."""
    batch, s1 = facts.symbol("batch", hint=4), facts.symbol("s1", hint=4)
    u, last = facts.symbol("u0", hint=None), facts.symbol("last", hint=4)
    facts.assume(eq(s1, last))
    assert facts.simplify(s1) is last
    facts.assume(eq(last, batch))
    facts.assume(eq(u, last))
    assert [facts.simplify(s) for s in (s1, u, last)] == [batch] * 3
    assert dict(facts.replacements) == {s1: batch, u: batch, last: batch}
    assert facts.hint_of(u) == 4


def test_a_symbol_with_a_hint_is_not_replaced_by_one_without(facts):
    """n == 2*u cannot be shown as 2*u, yet everything about it is known."""
    n, u = facts.symbol("n", hint=4), facts.symbol("u0", hint=None)
    facts.assume(eq(n, 2 * u))
    assert facts.simplify(n) is n
    assert facts.known(eq(n % 2, 0)) is True
