"""What z3 is told."""

import itertools

import pytest
import z3

from monograph.integers import (
    Facts,
    all_of,
    any_of,
    eq,
    evaluate,
    ge,
    gt,
    le,
    lt,
    maximum,
    ne,
    sqrt,
)
from monograph.integers.decision.satisfiability import are_contradictory


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


@pytest.mark.parametrize("divisor", [-3, -2, -1, 1, 2, 3])
def test_quotients_are_pythons(facts, divisor):
    """For each pair of numbers exactly Python's quotient is possible."""
    a = facts.symbol("a", hint=0, lower=-4, upper=4)
    b = facts.symbol("b", hint=0, lower=-3, upper=3)
    for e in (a // b, a // divisor):
        for x, q in itertools.product(range(-4, 5, 2), range(-5, 6)):
            here = [eq(a, x), eq(b, divisor), eq(e, q)]
            assert are_contradictory(facts.knowledge, here) is (x // divisor != q)
            assert evaluate(e, {a: x, b: divisor}) == x // divisor


def test_a_zero_divisor_has_no_value(facts):
    """Neither a relation nor its negation holds; in a disjunction the others may."""
    a = facts.symbol("a", hint=1)
    b = facts.symbol("b", hint=1, lower=-3)
    k = facts.knowledge
    for r in (ge(a // b, 2), lt(a // b, 2), ne(maximum(a // b, 3), 9)):
        assert are_contradictory(k, [eq(b, 0), r])
        assert not are_contradictory(k, [eq(b, 0), any_of(r, ge(a, 3))])
        assert are_contradictory(k, [eq(b, 0), all_of(r, ge(a, 3))])


def test_signs_of_divisors_are_used(facts):
    """Declared ranges say which of the two encodings is needed."""
    a = facts.symbol("a", hint=1, lower=1)
    p, n = facts.symbol("p", hint=1, lower=1), facts.symbol("n", hint=-1, lower=None, upper=-1)
    assert are_contradictory(facts.knowledge, [lt(p * (a // p), a - p + 1)])
    assert are_contradictory(facts.knowledge, [gt(a // n, -1)])
    assert not are_contradictory(facts.knowledge, [ge(a // p, 2), le(a // n, -2)])


def test_floats_are_true_or_false(facts):
    """The same comparison has one answer."""
    n = facts.symbol("n", hint=9)
    r, other = lt(sqrt(n), 3.5), lt(sqrt(n), 4.5)
    k = facts.knowledge
    assert not are_contradictory(k, [r, other])
    from monograph.integers import negate  # noqa: PLC0415

    assert not are_contradictory(k, [negate(r), other])
    assert are_contradictory(k, [negate(r), r])


def test_too_hard_is_not_contradictory(facts):
    """Fermat's last theorem for cubes takes more steps than are given."""
    x, y, z = (facts.symbol(name, hint=1, lower=1) for name in "xyz")
    assert not are_contradictory(facts.knowledge, [eq(x * x * x + y * y * y, z * z * z)])


def test_an_error_of_z3_is_not_contradictory(facts, monkeypatch):
    """What goes wrong there proves nothing."""

    def fail(**_):
        raise z3.Z3Exception("out of memory")

    monkeypatch.setattr(z3, "SimpleSolver", fail)
    n = facts.symbol("n", hint=1)
    assert not are_contradictory(facts.knowledge, [ge(n, 1), lt(n, 1)])
