"""Multiples of one name, and the ranges that comparisons give it."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monograph.dims.linear import Linear, Range, linear, substituted


def read(text):
    """The text as a multiple."""
    return linear(ast.parse(text, mode="eval").body)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("7", 7),
        ("n", Linear("n")),
        ("2*n + 1", Linear("n", 2, 1)),
        ("1 + n*2", Linear("n", 2, 1)),
        ("3*(n - 2) - -1", Linear("n", 3, -5)),
        ("n + n", Linear("n", 2)),
        ("n - n + 4", 4),
        ("8 - n", Linear("n", -1, 8)),
        ("n*m", None),
        ("n + m", None),
        ("n // 2", None),
        ("2**n", None),
        ("True", None),
        ("f(n)", None),
    ],
)
def test_what_is_a_multiple_of_one_name(text, expected):
    """Sums and products with numbers are; everything else is not."""
    assert read(text) == expected


@given(
    st.integers(1, 5),
    st.integers(-9, 9),
    st.integers(-50, 50),
    st.sampled_from(["Lt", "LtE", "Gt", "GtE"]),
    st.integers(-60, 60),
)
def test_a_bound_is_exactly_where_the_comparison_holds(a, b, end, kind, n):
    """A value is in the range iff the comparison is true of it."""
    compare = {"Lt": int.__lt__, "LtE": int.__le__, "Gt": int.__gt__, "GtE": int.__ge__}[kind]
    span = Linear("n", a, b).bound(kind, end)
    inside = (span.lower is None or n >= span.lower) and (span.upper is None or n <= span.upper)
    assert inside == compare(a * n + b, end)


def test_equality_is_no_range():
    """It fixes, or ties."""
    assert Linear("n").bound("Eq", 3) is None


def test_ranges_meet():
    """The tighter end of each side."""
    assert Range(2, None).meet(Range(1, 9)).meet(Range(None, 7)) == Range(2, 7)


def test_a_name_is_replaced_by_what_it_equals():
    """By another name's multiple, or by a number."""
    assert substituted(Linear("k", 2, 1), {"k": Linear("t", 4, 3)}) == Linear("t", 8, 7)
    assert substituted(Linear("k", 2, 1), {"k": 5}) == 11
    assert substituted(Linear("k", 2, 1), {}) == Linear("k", 2, 1)
