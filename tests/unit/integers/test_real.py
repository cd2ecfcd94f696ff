"""Float-valued expressions."""

import copy

import pytest

from monograph.integers import (
    SIZE_LIMIT,
    Facts,
    Real,
    call,
    ceil,
    evaluate_real,
    floor,
    round_,
    sqrt,
    substitute_real,
    to_float,
    trunc,
)


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


@pytest.fixture
def n(facts):
    """One size."""
    return facts.symbol("n", hint=3)


def test_exact_arithmetic_stays_exact(n):
    """Dyadic factors and sums are rationals; their roundings are integer expressions."""
    assert floor(to_float(n) * 2.0) is 2 * n
    assert floor(to_float(n) * 0.5 + 0.5) is (n + 1) // 2
    assert ceil(to_float(n) / 4) is (n + 3) // 4
    assert floor(to_float(n) / 3) is n // 3
    assert trunc(to_float(n) * 1.5 - 0) is 3 * n // 2
    assert round_(to_float(n)) is n
    assert floor(1.0 * to_float(n)) is n
    assert floor(-to_float(n)) is -n
    assert floor(abs(to_float(n))) is n
    assert floor(1 - to_float(n)) is 1 - n


def test_quotients_of_sizes_round_as_integers_do(facts, n):
    """floor(a / b) is a // b below 2**52."""
    m = facts.symbol("m", hint=2, lower=1)
    assert floor(to_float(n) / m) is n // m
    assert trunc(to_float(n) / 2) is n // 2


def test_rounding_to_nearest_needs_no_ties(n):
    """n/3 is never half way; n/2 may be, and stays opaque."""
    assert round_(to_float(n) / 3) is (n + 1) // 3
    halves = round_(to_float(n) / 2)
    assert isinstance(halves, type(n))
    assert halves.name == "round"


def test_inexact_operations_are_replayed(n):
    """0.1 is no dyadic number, so the tree is kept."""
    r = to_float(n) * 0.1 + 1
    assert isinstance(r, Real)
    assert r.kind == "add"
    assert evaluate_real(r, {n: 3}) == 3 * 0.1 + 1
    assert substitute_real(r, {n: 3}) == 3 * 0.1 + 1
    assert repr(r) == "add(mul(ratio(n, 1), 0.1), 1.0)"


def test_an_exact_float_of_an_unbounded_size_leans_on_the_size_limit(facts, n):
    """Which symbols are taken to be below 2**44 is recorded; products of two are not exact."""
    assert facts.sizes_leaned_on == ()
    to_float(n)
    assert facts.sizes_leaned_on == (n,)
    assert SIZE_LIMIT == 2**44
    m = facts.symbol("m", hint=2)
    area = to_float(n * m)
    assert isinstance(area, Real)
    assert area.kind == "float"
    u = facts.symbol("u", hint=None, lower=None)
    unknown = to_float(u)
    assert isinstance(unknown, Real)
    assert unknown.kind == "float"


def test_opaque_roundings_are_bounded(facts, n):
    """Rounding is monotone, so bounds of the float bound the integer."""
    assert facts.interval(floor(to_float(n) * 0.1)).lower == 0
    assert facts.interval(floor(sqrt(facts.symbol("k", hint=4, lower=4, upper=17)))) == (2, 4)
    assert facts.interval(floor(call("log", n))).lower == -float("inf")


def test_functions_fold_and_are_checked():
    """Constants are computed at once, names looked up."""
    assert call("exp", 0) == 1.0
    assert sqrt(16) == 4.0
    assert floor(2.5) == 2
    assert trunc(-2.5) == -2
    with pytest.raises(KeyError, match="no float function"):
        call("gamma", 1)


def test_every_operator_replays(n):
    """The operators of float, reflected ones included."""
    x = to_float(n) * 0.1
    env = {n: 7}
    y = 7 * 0.1
    for made, expected in (
        (x // 2, y // 2),
        (2 // x, 2 // y),
        (x % 0.3, y % 0.3),
        (1.5 % x, 1.5 % y),
        (x**2, y**2),
        (2**x, 2**y),
        (-x, -y),
        (abs(x), abs(y)),
        (1 / x, 1 / y),
        (x / 0.3, y / 0.3),
        (2 - x, 2 - y),
        (x - 2, y - 2),
        (x + n, y + 7),
        (n - x, 7 - y),
    ):
        assert evaluate_real(made, env) == expected


def test_no_truth_value_and_no_copies(n):
    """As for expressions."""
    x = to_float(n)
    with pytest.raises(TypeError, match="no truth value"):
        bool(x)
    assert copy.deepcopy([x])[0] is x
    assert copy.copy(x) is x


@pytest.mark.parametrize(("name", "value"), [("log2", 0), ("log", -1), ("sqrt", -1), ("exp", 1000)])
def test_a_place_without_a_value_has_none(n, name, value):
    """As where an integer is divided by 0: Python raises at it, each function in its own way."""
    with pytest.raises(ZeroDivisionError):
        substitute_real(call(name, n) + 1, {n: value})
