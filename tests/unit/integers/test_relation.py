"""Relations and their normal form."""

import copy

import pytest

from monograph.integers import (
    Facts,
    all_of,
    any_of,
    eq,
    ge,
    gt,
    holds,
    le,
    lt,
    ne,
    negate,
    relation_symbols,
    sqrt,
    substitute_relation,
    to_float,
)


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


@pytest.fixture
def n(facts):
    """One size."""
    return facts.symbol("n", hint=3)


def test_coefficients_have_no_common_divisor(n):
    """Bounds are rounded to integers, impossible equations are False."""
    assert ge(2 * n, 4) is ge(n, 2)
    assert ge(2 * n, 5) is ge(n, 3)
    assert gt(2 * n, 5) is ge(n, 3)
    assert lt(n, 3) is le(n, 2)
    assert eq(4, 2 * n) is eq(n, 2)
    assert eq(2 * n, 1) is False
    assert ne(2 * n, 1) is True


def test_constants_fold(n):
    """What does not depend on symbols is a bool."""
    assert eq(n, n) is True
    assert ne(n, n) is False
    assert ge(n + 1, n) is True
    assert gt(2, 2) is False


def test_negation_is_an_involution(n):
    """Denying twice gives the same object."""
    r = all_of(ge(n, 2), any_of(eq(n, 5), ne(n % 2, 0)))
    assert negate(negate(r)) is r
    assert negate(ge(n, 4)) is le(n, 3)
    assert negate(True) is False


def test_combinations_flatten_and_fold(n):
    """Neutral parts vanish, absorbing ones win, contradictions are seen."""
    a, b, c = ge(n, 2), le(n, 9), ne(n, 5)
    assert all_of(a, all_of(b, c)) is all_of(a, b, c)
    assert all_of(a, True, a) is a
    assert all_of(a, False) is False
    assert any_of(a, True) is True
    assert all_of(a, negate(a)) is False
    assert any_of(a, negate(a)) is True


def test_floats_compare_exactly_where_rounding_cannot_matter(n):
    """n/3 < 2 is n < 6; irrational sides are replayed."""
    assert lt(to_float(n) / 3, 2) is lt(n, 6)
    assert ge(to_float(n) * 0.5, 1.5) is ge(n, 3)
    r = lt(sqrt(to_float(n)), 2)
    assert holds(r, {n: 3})
    assert not holds(r, {n: 4})
    assert holds(negate(r), {n: 4})
    assert substitute_relation(r, {n: 3}) is True
    assert substitute_relation(negate(r), {n: 3}) is False
    assert eq(to_float(n), float("nan")) is not False
    assert not holds(eq(to_float(n), float("nan")), {n: 3})
    assert eq(0.5, 1) is False


def test_no_truth_value(n):
    """`if relation:` would choose a side unseen."""
    with pytest.raises(TypeError, match="no truth value"):
        bool(ge(n, 4))
    with pytest.raises(TypeError, match="compares no expression"):
        _ = all_of(ge(n, 4), ne(n, 7)).expr


def test_relations_are_their_own_copies(n):
    """Interned values survive a deep copy of what holds them."""
    r = ge(n, 4)
    assert copy.deepcopy([r])[0] is r
    assert copy.copy(r) is r
    assert relation_symbols(r) == {n}
    assert repr(all_of(r, ne(n, 7))) == "((n - 4 >= 0) and (n - 7 != 0))"
