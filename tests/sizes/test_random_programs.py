"""Random arithmetic on sizes, every dimension automatic: right at other sizes, or refused."""

import pytest
from hypothesis import HealthCheck, event, given, note, settings

from monograph import BugError, MonographError
from tests.programs.harness import agree, capture
from tests.sizes.programs.drawn import OTHERS, programs

few = settings(
    max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


def holds(program, others):
    """Capture, and call at other sizes."""
    note(f"at {program.sizes}:\n{program.source}")
    try:
        exported = capture(program, dynamic=True)
    except BugError:
        raise
    except MonographError as error:
        event(f"refused: {error.diagnostic.name}")
        return
    assert agree(program, exported, program.sizes) == "agrees"
    for sizes in others:
        event(agree(program, exported, dict(zip(program.sizes, sizes, strict=True))))


@given(programs(), OTHERS)
@few
def test_random_programs(program, others):
    """A hundred of them."""
    holds(program, others)


@pytest.mark.slow
@given(programs(), OTHERS)
@settings(few, max_examples=2000)
def test_many_random_programs(program, others):
    """Two thousand of them."""
    holds(program, others)
