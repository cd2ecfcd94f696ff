"""Bounds of expressions."""

import pytest

from monograph.integers import INFINITY, Facts, declared_interval, maximum, minimum
from monograph.integers.decision.bounds import linear_in


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


def test_common_factors_tighten(facts):
    """n*m - m is m*(n - 1), so it is not negative for n, m >= 1."""
    n, m = facts.symbol("n", hint=3, lower=1), facts.symbol("m", hint=3, lower=1)
    assert declared_interval(n * m - m).lower == 0


def test_remainders_are_bounded_by_their_divisor(facts):
    """0 <= n % 8 < 8, also where the divisor is a symbol, and with a factor."""
    n, m = facts.symbol("n", hint=3, lower=None), facts.symbol("m", hint=3, lower=1, upper=5)
    assert declared_interval(n % 8) == (0, 7)
    assert declared_interval(3 * (n % 8) + 1) == (1, 22)
    assert declared_interval(n % m) == (0, 4)
    assert declared_interval(n - 2 * (n // 2)) == (0, 1)
    assert declared_interval(n - n // 2) == (-INFINITY, INFINITY)


def test_extremes_and_powers(facts):
    """max, min and squares have their own bounds."""
    n, m = facts.symbol("n", hint=3, lower=-3, upper=2), facts.symbol("m", hint=3, lower=0, upper=9)
    assert declared_interval(n * n) == (0, 9)
    assert declared_interval(maximum(n, m)) == (0, 9)
    assert declared_interval(minimum(n, m)) == (-3, 2)
    assert declared_interval(7) == (7, 7)


def test_linear_parts(facts):
    """An expression is split into what multiplies an atom and the rest."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    assert linear_in(n * m + m + n, m) == (n + 1, n)
    assert linear_in(n * n, n)[0] is None
