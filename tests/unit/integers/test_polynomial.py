"""Polynomials as sorted tuples."""

from dataclasses import dataclass

import pytest

from monograph.integers.polynomial import (
    Rank,
    add,
    common_monomial,
    content,
    divide_exactly,
    monomial_quotient,
    multiply,
    scale,
    split_by_constant,
    split_by_monomial,
)


@dataclass(frozen=True)
class Atom:
    """An atom that is only a place in an order."""

    index: int


X, Y = Atom(0), Atom(1)
ONE = (((), 1),)
PX, PY = (((X,), 1),), (((Y,), 1),)


@pytest.fixture
def rank():
    """The order of monomials."""
    return Rank()


def test_sums_are_sorted_and_have_no_zero(rank):
    """The order does not depend on the order of adding."""
    assert add(PX, PY, 1, rank) == add(PY, PX, 1, rank) == (((X,), 1), ((Y,), 1))
    assert add(PX, PX, -1, rank) == ()
    assert add(PX, ONE, 3, rank) == (((X,), 1), ((), 3))
    assert scale(PX, 3) == (((X,), 3),)


def test_product_and_exact_division_are_inverse(rank):
    """(p * q) / q is p; what is no multiple has no quotient."""
    p, q = add(PX, PY, 2, rank), add(PX, ONE, -3, rank)
    assert divide_exactly(multiply(p, q, rank), q, rank) == p
    assert divide_exactly(add(multiply(p, q, rank), ONE, 1, rank), q, rank) is None
    assert multiply(add(PX, PY, 1, rank), add(PX, PY, -1, rank), rank) == (
        ((X, X), 1),
        ((Y, Y), -1),
    )
    assert multiply(PY, PX, rank) == (((X, Y), 1),)


def test_content_and_common_monomial(rank):
    """What all terms share."""
    p = (((X, X, Y), 4), ((X, Y), 6))
    assert content((*p, ((), 5))) == 2
    assert content(ONE) == 0
    assert common_monomial(p) == (X, Y)
    assert common_monomial((*p, ((), 5))) == ()
    assert monomial_quotient((X, X, Y), (X,)) == (X, Y)
    assert monomial_quotient((X,), (Y,)) is None


def test_residues_are_the_same_for_a_class(rank):
    """p and p + b*q leave the same rest."""
    p = (((X,), -5), ((Y,), 3), ((), -1))
    quotient, rest = split_by_constant(p, 4)
    assert add(scale(quotient, 4), rest, 1, rank) == p
    assert rest == (((X,), -1), ((Y,), -1), ((), 3))
    assert split_by_constant(add(p, scale(PX, 8), 1, rank), 4)[1] == rest
    assert split_by_constant((((X,), 2),), 4)[1] == split_by_constant((((X,), -2),), 4)[1]


def test_terms_that_a_monomial_divides_are_split_off(rank):
    """The others stay in the rest."""
    p = (((X, Y), 4), ((X,), 3), ((Y,), 2))
    assert split_by_monomial(p, (X,), 2, rank) == ((((Y,), 2),), (((X,), 3), ((Y,), 2)))
