"""Reading, evaluating and rebuilding expressions."""

import pytest

from monograph.integers import (
    Facts,
    ceildiv,
    evaluate,
    floor,
    is_symbol,
    maximum,
    minimum,
    opaque,
    product,
    substitute,
    symbols,
    terms,
    to_float,
    total,
)
from monograph.integers.structure import divisors


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


@pytest.fixture
def n(facts):
    """One size."""
    return facts.symbol("n", hint=3)


@pytest.fixture
def m(facts):
    """Another size."""
    return facts.symbol("m", hint=5)


def test_terms_rebuild_the_expression(n, m):
    """The sum of coefficient times atoms is the expression."""
    e = 3 * n * n * m - maximum(n, m) // 2 + 7
    assert total(c * product(atoms) for c, atoms in terms(e)) is e
    assert terms(7) == ((7, ()),)
    assert terms(0) == ()


def test_symbols_are_found_inside_atoms(n, m):
    """Also below quotients and floats."""
    assert symbols(maximum(n // 2, m)) == {n, m}
    assert symbols(floor(to_float(n) * 0.3)) == {n}
    assert symbols(4) == frozenset()
    assert is_symbol(n)
    assert not is_symbol(n + 1)
    assert not is_symbol(4)


def test_rounding_up(n):
    """ceildiv is the quotient rounded up, for any sign."""
    assert ceildiv(7, 2) == 4
    assert ceildiv(7, -2) == -3
    assert ceildiv(n, 4) is (n + 3) // 4


def test_substitution_is_simultaneous_and_reaches_atoms(facts, n, m):
    """Swapping two symbols swaps them everywhere."""
    swap = {n: m, m: n}
    e = (n // 2) * minimum(n, m + 1) + maximum(n, 2 * m)
    swapped = substitute(e, swap)
    assert evaluate(swapped, {n: 3, m: 5}) == evaluate(e, {n: 5, m: 3})
    assert substitute(swapped, swap) is e
    assert substitute(n, {m: 4}) is n
    shifted = opaque(facts.pool, "lshift", (n, m))
    assert substitute(shifted, {n: 1, m: 3}) == 8
    assert substitute(shifted, {n: m}) is opaque(facts.pool, "lshift", (m, m))
    rounded = floor(to_float(n) * 0.3)
    assert substitute(rounded, {n: 10}) == 3
    assert substitute(rounded, {n: m}) is floor(to_float(m) * 0.3)


def test_an_infinite_float_has_no_floor(n):
    """Substituting may leave a float that is no number."""
    with pytest.raises((ValueError, OverflowError)):
        substitute(floor(to_float(n) * float("inf")), {n: 1})


def test_divisors_are_found_at_any_depth(facts):
    """In quotients, extremes and products; constants are no news."""
    n, m = facts.symbol("p", hint=3), facts.symbol("q", hint=3)
    assert divisors(n * (7 // n) + maximum(m // (n + 1), n // 4)) == [n, n + 1]
    assert divisors(n // 4 + n) == []
    assert divisors(4) == []


def test_substituting_for_every_symbol_may_lead_to_other_facts():
    """Whatever an expression is made of; nothing of its own facts is left in it."""
    here, there = Facts(), Facts()
    n, m = here.symbol("n", hint=3), here.symbol("m", hint=4)
    a = there.symbol("a", hint=3)
    for e in (
        n // 2 + m, (n * m) // (n + 1), maximum(n, 2 * m) - minimum(n, 7), n % (m + 1), 7 // (m + 1)
    ):  # fmt: skip
        moved = substitute(e, {n: a, m: a + 1})
        assert moved.pool is there.pool
        for value in range(1, 6):
            assert evaluate(moved, {a: value}) == evaluate(e, {n: value, m: value + 1})
