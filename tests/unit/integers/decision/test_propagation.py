"""What follows from a stated relation."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monograph.integers import (
    Contradiction,
    Facts,
    all_of,
    any_of,
    eq,
    ge,
    gt,
    holds,
    le,
    lt,
    maximum,
    minimum,
    ne,
    negate,
)


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


@pytest.fixture
def n(facts):
    """One size."""
    return facts.symbol("n", hint=8)


@pytest.fixture
def m(facts):
    """Another size."""
    return facts.symbol("m", hint=8)


def test_bounds_narrow_and_meet_in_a_constant(facts, n):
    """A range of one integer is that integer, everywhere."""
    facts.assume(ge(n, 8))
    assert facts.range_of(n) == (8, float("inf"))
    facts.assume(le(n, 8))
    assert facts.simplify(n + 1) == 9
    assert dict(facts.replacements) == {n: 8}


def test_excluded_ends_narrow(facts, n):
    """n != 0 means n >= 1; n != 1 then n >= 2, also when said in the other order."""
    facts.assume(ne(n, 1))
    facts.assume(ne(n, 0))
    assert facts.range_of(n).lower == 2
    facts.assume(le(n, 9))
    facts.assume(ne(n, 9))
    assert facts.range_of(n) == (2, 8)


def test_bounds_travel_through_sums(facts, n, m):
    """n >= m + 3 gives n >= 3."""
    facts.assume(ge(n, m + 3))
    assert facts.range_of(n).lower == 3


def test_bounds_travel_through_atoms(facts, n, m):
    """Quotients, extremes and products pass bounds to what they are made of."""
    facts.assume(ge(n // 8, 3))
    facts.assume(le(n // 8, 4))
    assert facts.range_of(n) == (24, 39)
    facts.assume(le(maximum(m, 2), 7))
    assert facts.range_of(m).upper == 7
    facts.assume(ge(minimum(m, n), 2))
    assert facts.range_of(m).lower == 2
    a, b = facts.symbol("a", hint=1), facts.symbol("b", hint=1)
    facts.assume(ge(a * b, 1))
    assert facts.range_of(a).lower == facts.range_of(b).lower == 1


def test_products_that_are_not_zero_have_no_zero_factor(facts, n, m):
    """n*m != 0 gives n >= 1 and m >= 1."""
    facts.assume(ne(n * m, 0))
    assert facts.known(ge(n, 1)) is True
    assert facts.known(ge(m, 1)) is True
    facts.assume(ne(n * m, 5))
    assert facts.known(ne(n * m, 5)) is True


def test_equalities_carry_ranges_over(facts):
    """What was known of the replaced symbol is known of the other."""
    a, b = facts.symbol("a", hint=8), facts.symbol("b", hint=8, lower=4, upper=16)
    facts.assume(eq(a, b))
    assert facts.range_of(a) == (4, 16)
    c = facts.symbol("c", hint=4, lower=3)
    facts.assume(eq(a, 2 * c))
    assert facts.range_of(a) == (6, 16)
    assert facts.range_of(c) == (3, 8)


def test_unsolvable_equalities_are_kept(facts, n, m):
    """n*n == m*k is used as it stands, and both ways."""
    k = facts.symbol("k", hint=8)
    facts.assume(eq(n * n, m * k))
    assert facts.known(eq(n * n, m * k)) is True
    assert facts.known(ge(n * n + 1, m * k)) is True
    assert facts.known(lt(n * n, m * k)) is False


def test_disjunctions_wait_until_one_side_is_left(facts, n, m):
    """n == 1 or m == 1, and then n >= 2, gives m == 1."""
    facts.assume(any_of(eq(n, 1), eq(m, 1)))
    assert facts.known(eq(m, 1)) is None
    facts.assume(ge(n, 2))
    assert facts.known(eq(m, 1)) is True
    facts.assume(all_of(ge(n, 4), le(n, 6)))
    assert facts.range_of(n) == (4, 6)


def test_remainders_bind_a_multiple(facts, n):
    """n % 8 == 3 makes n one of 3, 11, ..."""
    facts.assume(eq(n % 8, 3))
    assert facts.known(eq(n % 4, 3)) is True
    assert facts.known(ne(n, 8)) is True
    facts.assume(gt(n, 3))
    assert facts.range_of(n).lower == 11
    facts.assume(lt(n, 19))
    assert facts.known(eq(n, 11)) is True


@pytest.mark.parametrize(
    "stated",
    [
        lambda n, m: [lt(n, 0)],
        lambda n, m: [ge(n, 4), le(n, 3)],
        lambda n, m: [eq(n, m), gt(n, m)],
        lambda n, m: [eq(n, 3), eq(n % 2, 0)],
        lambda n, m: [ge(n, m), negate(ge(n + 1, m))],
        lambda n, m: [eq(n, 0), ge(m // n, 1)],
        lambda n, m: [le(n // 2, 3), ge(n // 2, 4)],
        lambda n, m: [ge(m // (n + 1), 3), le(m // (n + 1), 2)],
        lambda n, m: [False],
    ],
)
def test_contradictions_are_refused(facts, n, m, stated):
    """What cannot be true together is not assumed."""
    *before, last = stated(n, m)
    for r in before:
        facts.assume(r)
    with pytest.raises(Contradiction):
        facts.assume(last)


def test_an_extreme_says_it_of_its_operands(facts, n, m):
    """min(n, m) >= k holds for both; max(n, m) <= k too; x == min(x, 1) means x <= 1."""
    k = facts.symbol("k", hint=4)
    facts.assume(ge(minimum(n, m), k + 2))
    assert facts.known(gt(n, k)) is True
    assert facts.known(gt(m, k)) is True
    facts.assume(le(maximum(n, m), 2 * k + 1))
    assert facts.known(le(m, 2 * k + 1)) is True
    s = facts.symbol("s", hint=20)
    padded = (s + 63) // 64
    facts.assume(eq(padded, minimum(padded, 1)))
    assert facts.range_of(s) == (0, 64)


def test_an_extreme_of_unknown_sign_says_nothing(facts, n, m):
    """(n - m)*min(n, m) >= 1 is kept as it is."""
    k = facts.symbol("k", hint=4, lower=None)
    facts.assume(ge(k * minimum(n, m) + n, 3))
    assert facts.range_of(m) == (0, float("inf"))
    facts.assume(ge(minimum(n, m) * minimum(n, m) + n, 3))
    assert facts.known(ge(minimum(n, m) * minimum(n, m) + n, 3)) is True


@settings(max_examples=300, deadline=None, database=None)
@given(*[st.integers(-6, 6).filter(bool)] * 2, st.integers(-9, 9), st.integers(2, 6))
def test_a_line_of_whole_numbers_is_known_by_its_points(a, b, c, divisor):
    """Of a*x + b*y + c == 0: what is said of remainders, ranges and points is true."""
    facts = Facts()
    x, y = facts.symbol("x", hint=0, upper=12), facts.symbol("y", hint=0, upper=12)
    points = [(i, j) for i in range(13) for j in range(13) if a * i + b * j + c == 0]
    try:
        facts.assume(eq(a * x + b * y + c, 0))
    except Contradiction:
        assert not points
        return
    assert facts.known(eq(a * x + b * y + c, 0)) is True
    questions = [ge(x, y), ge(x, 3), le(y, 4), ne(x, y), eq(x + y, 5)]
    for rest in range(divisor):
        questions += [eq(x % divisor, rest), eq((x + y) % divisor, rest), eq(y // divisor, rest)]
    for question in questions:
        answers = {holds(question, {x: i, y: j}) for i, j in points}
        known = facts.known(question)
        assert known is None or answers <= {known}
    for i, j in points:
        assert facts.known(all_of(eq(x, i), eq(y, j))) is not False


def test_a_proportion_says_what_divides(facts, n, m):
    """Of 2*n == 3*m both are multiples, and their bounds are multiples as well."""
    facts.assume(eq(2 * n, 3 * m))
    assert facts.known(eq(n % 3, 0))
    assert facts.known(eq(m % 2, 0))
    assert facts.known(ge(n, m))
    facts.assume(ge(n, 4))
    assert facts.range_of(n).lower == 6
    assert facts.range_of(m).lower == 4
