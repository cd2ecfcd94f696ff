"""Bounds of integers."""

import itertools

from monograph.integers.interval import (
    EVERYTHING,
    INFINITY,
    Interval,
    add,
    floor_divide,
    hull,
    larger,
    meet,
    multiply,
    negative,
    power,
    smaller,
)

SMALL = [Interval(lower, upper) for lower in range(-3, 4) for upper in range(lower, 4)]


def inside(x: Interval):
    """The integers of a finite interval."""
    return range(int(x.lower), int(x.upper) + 1)


def test_operations_contain_every_result():
    """x in X and y in Y gives x ∘ y in X ∘ Y, and the ends are reached."""
    for x, y in itertools.product(SMALL, SMALL):
        for bound, exact in (
            (add(x, y), lambda a, b: a + b),
            (multiply(x, y), lambda a, b: a * b),
            (larger(x, y), max),
            (smaller(x, y), min),
        ):
            values = [exact(a, b) for a in inside(x) for b in inside(y)]
            assert bound == (min(values), max(values))


def test_division_leaves_a_divisor_of_zero_out():
    """Every quotient that exists is inside."""
    for x, y in itertools.product(SMALL, SMALL):
        values = [a // b for a in inside(x) for b in inside(y) if b]
        if values:
            assert floor_divide(x, y) == (min(values), max(values))
    assert floor_divide(Interval(1, 2), Interval(0, 0)) == EVERYTHING


def test_powers_of_even_exponent_are_never_negative():
    """x and x in a square are the same value."""
    assert power(Interval(-3, 2), 2) == (0, 9)
    assert power(Interval(-3, 2), 3) == (-27, 18)
    assert power(Interval(2, INFINITY), 2) == (4, INFINITY)


def test_infinities_keep_integers_exact():
    """Integers too large for a float pass through."""
    big = 10**400
    half = Interval(big, INFINITY)
    assert add(half, Interval(big, big)) == (2 * big, INFINITY)
    assert add(Interval(big, big), half) == (2 * big, INFINITY)
    assert multiply(half, Interval(-1, 0)) == (-INFINITY, 0)
    assert floor_divide(half, Interval(3, INFINITY)) == (0, INFINITY)
    assert floor_divide(negative(half), Interval(3, INFINITY)) == (-INFINITY, -1)


def test_sets():
    """Meeting, joining, membership."""
    assert meet(Interval(0, 5), Interval(3, 9)) == (3, 5)
    assert meet(Interval(0, 1), Interval(3, 9)).is_empty
    assert hull([]) == EVERYTHING
    assert 3 in Interval(3, 3)
    assert "3" not in Interval(3, 3)
    assert Interval(3, 3).is_point
