"""What examples settle, what z3 proves, and when it is asked."""

import subprocess
import sys

import pytest

from monograph.integers import (
    Contradiction,
    Facts,
    any_of,
    ceildiv,
    eq,
    ge,
    gt,
    le,
    lt,
    maximum,
    minimum,
    ne,
    sqrt,
)
from monograph.integers.decision import smt
from monograph.integers.decision.smt import is_nonlinear


@pytest.fixture
def facts():
    """Nothing known yet."""
    return Facts()


def asked(facts, r):
    """The second opinion alone."""
    return smt.smt_answer(facts.knowledge, facts.hints, r)


def test_a_quadratic_bound(facts):
    """u*u - 3*u <= 10 means u <= 5, and no less."""
    u = facts.symbol("u", hint=None)
    facts.assert_at_run(le(u * u - 3 * u, 10))
    assert facts.prove(le(u, 5)) is True
    assert facts.prove(gt(u, 5)) is False
    assert facts.prove(le(u, 4)) is None


def test_divisibility_of_products(facts):
    """s0 % 8 == 0 gives s0*s1*4 % 32 == 0, also without a witness for the quotient."""
    s0, s1 = facts.symbol("s0", hint=8), facts.symbol("s1", hint=3)
    facts.guard(eq(s0 % 8, 0))
    assert facts.prove(eq(s0 * s1 * 4 % 32, 0)) is True
    other = Facts()
    t0, t1 = other.symbol("t0", hint=8), other.symbol("t1", hint=3)
    other.guard(eq(t0 * t1 % 8, 0))
    assert other.prove(eq(t0 * t1 * 4 % 32, 0)) is True


def test_halves(facts):
    """a >= 10 gives a//2 >= 5."""
    a = facts.symbol("a", hint=12)
    facts.guard(ge(a, 10))
    assert facts.prove(ge(a // 2, 5)) is True
    assert facts.prove(ge(a // 2, 6)) is None


def test_contradictory_checks(facts):
    """Two factors above 1 and 5 have no product of 5; with a factor of 1 they have."""
    s0, u = facts.symbol("s0", hint=8, lower=6), facts.symbol("u", hint=None)
    assert facts.prove(eq(s0 * u, 5)) is False
    with pytest.raises(Contradiction):
        facts.assert_at_run(eq(s0 * u, 5))
    n, v = facts.symbol("n", hint=8), facts.symbol("v", hint=None)
    facts.assert_at_run(eq(n * v, 12))
    facts.assert_at_run(gt(v, 4))
    assert facts.prove(eq(v, 7)) is False
    with pytest.raises(Contradiction):
        facts.assert_at_run(eq(v, 9))
    facts.assert_at_run(eq(v, 6))


def test_quotients_of_either_sign(facts):
    """a//b rounds down for positive and negative b."""
    a, b = facts.symbol("a", hint=7, lower=None), facts.symbol("b", hint=-2, lower=None)
    facts.assume(ne(b, 0))
    assert asked(facts, le(abs_of(b) * (a // b), abs_of(b) * abs_of(a))) is True
    facts.assume(lt(b, 0))
    facts.assume(gt(a, 0))
    assert asked(facts, lt(a // b, 0)) is True
    assert asked(facts, gt(a // b, -a - 1)) is True
    assert asked(facts, ge(a // b, -a + 1)) is None


def abs_of(e):
    """|e|."""
    return maximum(e, -e)


def test_extremes(facts):
    """max + min is the sum; two equal extremes of three mean the same."""
    a, b, c = (facts.symbol(name, hint=6) for name in "abc")
    assert facts.prove(eq(maximum(a, b) + minimum(a, b), a + b)) is True
    facts.assume(gt(c, 0))
    assert facts.prove(ge(a * b // c, a // c * b)) is True


def test_products_of_equal_factors(facts):
    """a*b == b*c and b >= 1 give a*a == c*c."""
    a, b, c = (facts.symbol(name, hint=6) for name in "abc")
    facts.guard(eq(a * b, b * c))
    assert facts.prove(eq(a * a, c * c)) is None
    facts.guard(ge(b, 1))
    assert facts.prove(eq(a * a, c * c)) is True


def test_a_divisor_that_may_be_zero_proves_nothing(facts):
    """Where the divisor is zero Python raises, so the relation is not true there."""
    n, m = facts.symbol("n", hint=6), facts.symbol("m", hint=2)
    assert asked(facts, le(m * (n // m), n)) is None
    facts.assume(ge(m, 1))
    assert asked(facts, le(m * (n // m), n)) is True


def test_opaque_atoms_are_integers_within_their_bounds(facts):
    """Nothing else is assumed of them; floats compare as they like."""
    n = facts.symbol("n", hint=9)
    root = sqrt(n)
    assert asked(facts, ge(int_of(root) * 2, 0)) is True
    assert asked(facts, ge(int_of(root), 2)) is None
    assert asked(facts, lt(root, 4)) is None
    assert asked(facts, any_of(lt(root, 4), ge(n, 0))) is True


def int_of(real):
    """The float rounded down."""
    return real.rounded("floor")


def test_contradictory_facts_prove_nothing(facts, monkeypatch):
    """From what cannot be, anything would follow."""
    a, b = facts.symbol("a", hint=None), facts.symbol("b", hint=None)
    facts.assume(eq(a * a, 2 * b * b))
    facts.assume(ge(a, 1))
    monkeypatch.setattr(smt, "are_contradictory", lambda k, relations: True)
    assert facts.prove(ge(a * b, 3)) is None


def test_a_fact_that_divides_by_zero_is_no_example(facts):
    """Examples satisfy the facts, which have a value there."""
    a, b = facts.symbol("a", hint=None), facts.symbol("b", hint=None)
    facts.assume(ge(a // b, 3))
    assert facts.prove(ge(a, 1)) is True
    assert facts.prove(ge(b, 1)) is True
    assert facts.prove(ge(b, 2)) is None


def test_a_known_zero_divisor_is_left_alone(facts):
    """A relation without a value is neither true nor false."""
    a, b = facts.symbol("a", hint=0), facts.symbol("b", hint=3)
    r = ge(b // a, 1)
    facts.assume(eq(a, 0))
    assert facts.prove(r) is None


def test_proofs_stay_and_doubts_go(facts, monkeypatch):
    """An answer is kept; that there is none, until something new is learnt."""
    calls = []
    monkeypatch.setattr(smt, "_opinion", lambda k, hints, r: calls.append(r))
    u = facts.symbol("u", hint=None)
    facts.prove(ge(u, 4))
    facts.prove(ge(u, 4))
    assert len(calls) == 1
    facts.assume(ge(u, 2))
    facts.prove(ge(u, 4))
    assert len(calls) == 2
    monkeypatch.undo()
    facts.assume(le(u * u - 3 * u, 10))
    assert facts.prove(le(u, 5)) is True
    facts.assume(ge(u, 3))
    assert facts.known(le(u, 5)) is True


def test_only_what_pays_is_asked(facts, monkeypatch):
    """A linear question that an example may answer is not."""
    monkeypatch.setattr(smt, "_opinion", lambda k, hints, r: 1 / 0)
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=4)
    assert facts.prove(ge(n + m, 4)) is None
    assert facts.prove(ge(n, 0)) is True
    assert facts.prove(True) is True
    with pytest.raises(ZeroDivisionError):
        facts.prove(ge(n * m, 4))


def test_what_is_linear(facts):
    """Sums of multiples of symbols; all parts of a combination."""
    n, m = facts.symbol("n", hint=3), facts.symbol("m", hint=4)
    assert not is_nonlinear(any_of(ge(n, m), le(2 * n, 4)))
    for r in (ge(n * m, 1), eq(ceildiv(n, 4), m), ge(maximum(n, m), 2), lt(sqrt(n), 2)):
        assert is_nonlinear(r)
        assert is_nonlinear(any_of(ge(n, 7), r))


def test_z3_is_not_imported_for_what_examples_settle():
    """Importing it takes longer than many captures."""
    script = """
import sys
from monograph.integers import Facts, decide, eq, ge, maximum, use
facts = Facts()
n, m = facts.symbol("n", hint=6), facts.symbol("m", hint=8)
with use(facts):
    for r in (ge(n * m, 40), ge(n // 4, 1), eq(maximum(n, m), m), eq(n % 4, 2)):
        assert decide(r)
assert "z3" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True)
