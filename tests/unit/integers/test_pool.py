"""Normal forms of quotients, maxima and minima."""

import pytest

from monograph.integers import Facts, maximum, minimum, opaque, text


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
    return facts.symbol("m", hint=4, lower=1)


def test_exact_multiples_leave_a_quotient(n, m):
    """(4*n + r)//4 is n + r//4."""
    assert (4 * n + 3) // 4 is n
    assert (4 * n + 5) // 4 is n + 1
    assert (4 * n + m) // 4 is n + m // 4
    assert (2 * n + 1) // 4 is n // 2
    assert n // -2 is -n // 2
    assert n // 1 is n


def test_quotients_nest(n, m):
    """Dividing twice is dividing by the product."""
    assert n // 2 // 3 is n // 6
    assert ((n + 3) // 2 + 1) // 3 is (n + 5) // 6
    assert (-(n // 2)) // 3 is -((n // 2 + 2) // 3)
    assert n // 2 // m is n // (2 * m)


def test_rounding_up_has_one_form(n):
    """-(-n // 4) and (n + 3) // 4 are the same object."""
    assert -(-n // 4) is (n + 3) // 4


def test_a_remainder_is_smaller_than_its_divisor(n):
    """(n % 4)//4 is zero and (n % 4) % 4 is n % 4."""
    assert (n % 4) // 4 == 0
    assert (n % 4) % 4 is n % 4


def test_symbols_cancel_only_if_positive(n, m):
    """(n*m)//m is n for m >= 1; (n*m)//n may divide by zero."""
    assert n * m // m is n
    assert (n * m + n + m + 1) // (m + 1) is n + 1
    assert (n * m) // (m * m) is n // m
    assert (n * m + 1) // m is n + 1 // m
    assert n * m // -m is -n
    assert text(n * m // n) == "n*m//n"
    assert 0 // m == 0
    assert text(0 // n) == "0//n"
    assert (2 * n) // (4 * n) is n // (2 * n)


def test_zero_never_divides(n):
    """A constant divisor of zero is refused as Python does."""
    with pytest.raises(ZeroDivisionError):
        n // 0
    with pytest.raises(ZeroDivisionError):
        n % 0


def test_quotients_of_narrow_ranges_are_constants(facts):
    """0 <= r < 8 has r//8 == 0."""
    r = facts.symbol("r", hint=3, upper=7)
    assert r // 8 == 0
    assert (r + 8) // 8 == 1


def test_extremes_drop_what_is_dominated(n, m):
    """Operands that cannot win are left out; order does not matter."""
    assert maximum(n, 0) is n
    assert maximum(n, n + 1) is n + 1
    assert minimum(n, n + 1) is n
    assert maximum(m, maximum(n, m)) is maximum(n, m)
    assert maximum(n, n) is n
    assert maximum(3, maximum(n, 2)) is maximum(n, 3)
    assert minimum(2, 3) == 2


def test_opaque_functions_fold_and_are_told_apart(facts, n):
    """Constants are computed; 1 and 1.0 are different arguments."""
    assert opaque(facts.pool, "pow", (2, 3)) == 8
    assert opaque(facts.pool, "pow", (n, 2)) is opaque(facts.pool, "pow", (n, 2))
    assert facts.hint_of(opaque(facts.pool, "bit_and", (n, 6))) == 2
