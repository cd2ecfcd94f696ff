"""What can be proved."""

import pytest

from monograph.integers import (
    Facts,
    all_of,
    any_of,
    ceildiv,
    eq,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    ne,
    sqrt,
)


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


@pytest.fixture
def n(facts):
    """One size."""
    return facts.symbol("n", hint=8, lower=2)


@pytest.fixture
def m(facts):
    """Another size."""
    return facts.symbol("m", hint=8, lower=1)


def test_signs_after_shifting(facts, n, m):
    """n >= 2 gives n*n - n - 1 >= 0, which no term shows alone."""
    assert facts.known(gt(n * n - n, 1)) is True
    assert facts.known(ge(n * m, m)) is True
    assert facts.known(lt(n * m + 5, m)) is False
    assert facts.known(ge(n, m)) is None


def test_factors_that_may_be_zero(facts):
    """a*a >= a for every size a; a*b >= b is wrong for a = 0."""
    a, b = facts.symbol("a", hint=3), facts.symbol("b", hint=3)
    assert facts.known(ge(a * a, a)) is True
    assert facts.known(ge(a * b, b)) is None


def test_products_are_zero_with_a_factor(facts, n, m):
    """n*(m + 1) == 0 is impossible for positive sizes."""
    assert facts.known(eq(n * m + n, 0)) is False
    assert facts.known(ne(n * m, 0)) is True
    a = facts.symbol("a", hint=3)
    assert facts.known(eq(a * m, 0)) is None


def test_remainders_and_quotients(facts, n, m):
    """0 <= n % m < m, and rounding up is at least the quotient."""
    assert facts.known(lt(n % 8, 8)) is True
    assert facts.known(lt(n % m, m)) is True
    assert facts.known(ge(n % m, 0)) is True
    assert facts.known(ge(4 * ceildiv(n, 4), n)) is True
    assert facts.known(le(m * (n // m), n)) is True
    assert facts.known(eq((n + 1) // 2 + n // 2, n)) is True


def test_extremes(facts, n, m):
    """A maximum is above both operands; it is one of them, and the minimum the other."""
    assert facts.known(ge(maximum(n, m), m)) is True
    assert facts.known(le(minimum(n, m), n)) is True
    assert facts.known(eq(maximum(n, m) + minimum(n, m), n + m)) is True
    assert facts.known(le(maximum(n, m), n + m)) is True


def test_combinations(facts, n, m):
    """and needs all, or needs one."""
    assert facts.known(all_of(ge(n, 2), ge(n * m, m))) is True
    assert facts.known(all_of(ge(n, 4), lt(n, 2))) is False
    assert facts.known(any_of(ge(n, 4), ge(m, 1))) is True
    assert facts.known(any_of(lt(n, 2), lt(m, 1))) is False
    assert facts.known(any_of(lt(n, 4), lt(m, 3))) is None
    assert facts.known(True) is True


def test_stored_facts_are_used_in_chains(facts, n, m):
    """a >= b and b >= c give a + 1 >= c, and a*k >= b*k."""
    k = facts.symbol("k", hint=8)
    facts.assume(ge(n, m))
    facts.assume(ge(m, k))
    assert facts.known(ge(n + 1, k)) is True
    assert facts.known(ge(n * k, m * k)) is True
    assert facts.known(lt(n, m)) is False
    assert facts.known(ge(m, n)) is None


def test_values_excluded_at_an_end(facts):
    """p >= 0 and p != 0 give p >= 1, for any p."""
    a, b = facts.symbol("a", hint=3), facts.symbol("b", hint=3)
    facts.assume(ge(a, b))
    facts.assume(ne(a, b))
    assert facts.known(gt(a, b)) is True


def test_divisibility(facts, n, m):
    """n % 8 == 0 gives 4*n*m % 32 == 0."""
    facts.assume(eq(n % 8, 0))
    assert facts.known(eq(4 * n * m % 32, 0)) is True
    assert facts.known(eq(n % 4, 0)) is True
    assert facts.known(eq(n % 16, 0)) is None
    assert facts.known(eq(n, 12)) is False
    assert facts.known(ge(n, 8)) is True


def test_floats_are_not_decided(facts, n):
    """Only their roundings are bounded; the relation itself stays open."""
    assert facts.known(lt(sqrt(n), 2)) is None
    facts.assume(lt(sqrt(n), 2))
    assert facts.known(lt(sqrt(n), 2)) is True


def test_a_known_zero_divisor_decides_nothing(facts):
    """A relation without a value is neither true nor false."""
    a, b = facts.symbol("a", hint=0), facts.symbol("b", hint=3)
    r = ge(b // a, 1)
    facts.assume(eq(a, 0))
    assert facts.known(r) is None
    assert facts.simplify(b // a) is b // a
    assert facts.interval(b // a).lower <= 0


def test_guards_that_real_models_left_over(facts):
    """Each of these was once checked at every call of some model."""
    s = facts.symbol("s", hint=20)
    padded = (s + 63) // 64
    once = {
        "rounding up covers": le(s, 8 * ceildiv(s, 8)),
        "one is the smallest count": eq(minimum(ceildiv(s, 8), 1), 1),
        "n*s//s is n": eq(s * (32 * s // s), 32 * s),
        "more bytes than bits": ne(8 * s, ceildiv(s, 8)),
        "at most one": eq(padded, minimum(padded, 1)),
    }
    assert [facts.known(r) for r in once.values()] == [True, None, None, None, None]
    facts.assume(ge(s, 1))
    assert [facts.known(r) for r in once.values()] == [True, True, True, True, None]
    facts.assume(le(s, 64))
    assert facts.known(once["at most one"]) is True


def test_what_cancels_by_now_is_cancelled(facts):
    """A divisor known positive, and an operand that cannot win."""
    a, b = facts.symbol("a", hint=3), facts.symbol("b", hint=3)
    r = ge(a * b // a, minimum(b, a + b + 2))
    assert facts.known(r) is None
    facts.assume(ge(a, 1))
    assert facts.known(r) is True
    assert facts.known(ne(a * b // a, b)) is False


def test_what_was_not_shown_is_asked_again_once_more_is_known(facts, n, m):
    """Signs that could not be proved are remembered until something is learnt."""
    grows = ge(n * m - n * n, 0)
    assert facts.known(grows) is None
    assert facts.known(ge(n * m - n * n + 1, 0)) is None
    facts.assume(ge(m, n))
    assert facts.known(grows) is True
