"""The table of float functions."""

import math

import pytest

from monograph.integers import FLOAT_FUNCTIONS


def test_names_are_sorted_and_compute_floats():
    """Each function gives a float for floats in its domain."""
    assert list(FLOAT_FUNCTIONS) == sorted(FLOAT_FUNCTIONS)
    two = {"add", "atan2", "floordiv", "max", "min", "mod", "mul", "pow", "sub", "truediv"}
    for name, function in FLOAT_FUNCTIONS.items():
        arguments = (0.5, 0.25) if name in two else (0.5,)
        assert isinstance(function(*arguments), float)


def test_powers_that_are_not_real_are_refused():
    """Python's answer would be complex."""
    with pytest.raises(ValueError, match="not a real number"):
        FLOAT_FUNCTIONS["pow"](-8.0, 0.5)
    assert math.isclose(FLOAT_FUNCTIONS["pow"](8.0, 1 / 3), 2.0)
