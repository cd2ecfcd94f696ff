"""Builtins in Python, beside those of CPython."""

import itertools
import sys

import pytest

from monograph.bytecode.polyfills.in_python import ordered, ordered_in_runs

NAN = float("nan")


class Compared:
    """A number that notes what it is compared with."""

    def __init__(self, number, place, told):
        """Keep them."""
        self.number, self.place, self.told = number, place, told

    def __lt__(self, other):
        """Compare, and note it."""
        self.told.append((self.place, other.place))
        return self.number < other.number


IN_ORDER = ordered if sys.version_info < (3, 13) else ordered_in_runs


@pytest.mark.parametrize("count", range(1, 6))
def test_a_few_values_are_ordered_as_cpython_orders_them(count):
    """By the same comparisons, where some are neither less nor more."""
    for numbers in itertools.product((1.0, 2.0, 3.0, NAN), repeat=count):
        told, expected = [], []
        mine = [Compared(each, i, told) for i, each in enumerate(numbers)]
        theirs = [Compared(each, i, expected) for i, each in enumerate(numbers)]
        found = [each.place for each in IN_ORDER(mine, mine)]
        assert found == [each.place for each in sorted(theirs)]
        assert told == expected
