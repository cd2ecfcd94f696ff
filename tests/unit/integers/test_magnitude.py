"""How large an integer can get."""

from monograph.integers import INFINITY, SIZE_LIMIT, Facts
from monograph.integers.magnitude import EXACT, magnitude


def test_sizes_without_a_bound_are_read_as_limited():
    """And only then is the symbol noted."""
    facts = Facts()
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3, upper=9)
    assert magnitude(-7) == 7
    assert magnitude(2 * m - 30) == 30
    assert facts.sizes_leaned_on == ()
    assert magnitude(3 * n) == 3 * SIZE_LIMIT
    assert facts.sizes_leaned_on == (n,)


def test_what_stays_too_large_notes_nothing():
    """Data may be of any size, and so may products."""
    facts = Facts()
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=3)
    u = facts.symbol("u0", hint=None, lower=None)
    assert magnitude(u) == INFINITY
    assert magnitude(n * m) >= EXACT
    assert facts.sizes_leaned_on == ()
