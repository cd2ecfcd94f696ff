"""Each program does just in time what it does in eager code."""

import pytest

from monograph.jit import optimize
from tests.jit.programs import PROGRAMS
from tests.jit.running import quiet, run


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_to_eager(name):
    """Results, output, state, aliases and random numbers, over six calls."""
    expected = run(PROGRAMS[name], lambda each: each)
    found = quiet(run, PROGRAMS[name], optimize())
    for index, (one, two) in enumerate(zip(expected, found, strict=True)):
        assert two == one, f"call {index}"
