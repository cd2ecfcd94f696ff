"""Random programs do just in time what they do in eager code: results, output, state, in order."""

import os
import random

import pytest

from monograph.jit import optimize
from tests.jit.random_programs import program_of, source_of
from tests.jit.running import quiet, run


def check(seed):
    """Six calls of the program of this seed."""
    expected = quiet(run, program_of(seed), lambda each: each)
    found = quiet(run, program_of(seed), optimize())
    # As texts, in which NaN is NaN.
    for index, (one, two) in enumerate(zip(expected, found, strict=True)):
        assert str(two) == str(one), f"seed {seed}, call {index} of\n{source_of(seed)}"


@pytest.mark.parametrize("seed", range(12))
def test_a_random_program(seed):
    """A few, in every run."""
    check(seed)


@pytest.mark.slow
@pytest.mark.laws
@pytest.mark.parametrize("block", range(40))
def test_random_programs(block):
    """Two thousand; others each time where laws are held on examples drawn anew."""
    is_new = os.environ.get("HYPOTHESIS_PROFILE") == "new"
    first = random.SystemRandom().randrange(1 << 30) if is_new else 100 + 50 * block
    for seed in range(first, first + 50):
        check(seed)
