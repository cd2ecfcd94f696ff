"""Expressions and how they combine."""

import copy

import pytest

from monograph.integers import Facts, text


@pytest.fixture
def n(facts):
    """One size."""
    return facts.symbol("n", hint=3)


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


def test_constants_are_python_ints(n):
    """Whatever has no symbol left is an int."""
    assert n - n == 0
    assert n * 0 == 0
    assert type(n - n) is int
    assert (n + 2) - n == 2


def test_equal_means_the_same_object(facts, n):
    """Two ways to the same normal form give one object."""
    m = facts.symbol("m", hint=4)
    assert (n + m) * (n - m) is n * n - m * m
    assert 2 * (n + 1) is n + n + 2
    assert n + True is n + 1
    assert 7 - n is -(n - 7)
    assert n**0 == 1
    assert n**3 is n * n * n
    assert +n is n
    assert copy.deepcopy([n])[0] is n
    assert copy.copy(n) is n


def test_divisions_with_a_constant_on_the_left(facts, n):
    """Reflected operators, as for ints."""
    assert text(7 // n) == "7//n"
    assert facts.hint_of(7 // n) == 2
    assert facts.hint_of(7 % n) == 1


@pytest.mark.parametrize(
    "operation",
    [
        bool,
        lambda n: n < 3,
        lambda n: [1, 2][n],
        lambda n: n + 1.5,
        lambda n: 1.5 - n,
        lambda n: n - 1.5,
        lambda n: n * 1.5,
        lambda n: n // 1.5,
        lambda n: 1.5 // n,
        lambda n: n % 1.5,
        lambda n: n**1.5,
    ],
)
def test_what_would_need_a_value_is_refused(n, operation):
    """No truth, no order, no index, no silent float."""
    with pytest.raises(TypeError):
        operation(n)


def test_negative_powers_are_refused(n):
    """They are no integers."""
    with pytest.raises(ValueError, match="negative power"):
        n**-1


def test_pools_do_not_mix(n):
    """A symbol of one capture means nothing in another."""
    other = Facts().symbol("n", hint=3)
    for operation in (lambda: n + other, lambda: n * other, lambda: n // other):
        with pytest.raises(ValueError, match="do not mix"):
            operation()


def test_names_are_unique(facts, n):
    """Two symbols of one name could not be told apart in print."""
    assert n.name == "n"
    with pytest.raises(ValueError, match="already"):
        facts.symbol("n", hint=3)


def test_order_of_terms_is_that_of_creation(facts, n):
    """Printing does not depend on how a sum was made."""
    m = facts.symbol("m", hint=4)
    assert text(1 + m + n + m * n) == "n*m + n + m + 1"
    assert repr(m // 2 + n) == "n + m//2"
