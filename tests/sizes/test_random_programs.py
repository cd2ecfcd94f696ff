"""Random arithmetic on sizes, every dimension automatic: right at other sizes, or refused."""

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from monograph import BugError, Dim, MonographError
from tests.programs.harness import agree, capture
from tests.sizes.programs.drawn import OTHERS, programs

few = settings(
    max_examples=100, deadline=None, suppress_health_check=list(HealthCheck), database=None
)


def holds(program, others, hint=Dim.AUTO):
    """Capture, and call at other sizes."""
    note(f"at {program.sizes}:\n{program.source}")
    try:
        module = capture(program, dynamic=True, hint=hint).module()
    except BugError:
        raise
    except MonographError as error:
        event(f"refused: {error.diagnostic.name}")
        return
    assert agree(program, module, program.sizes) == "agrees"
    for sizes in others:
        event(agree(program, module, dict(zip(program.sizes, sizes, strict=True))))


HINTS = st.sampled_from([Dim.AUTO, Dim.AUTO(min=0)])
"""With a least size declared, sizes of 0 and 1 that guards leave out are tried."""


@given(programs(), OTHERS, HINTS)
@few
def test_random_programs(program, others, hint):
    """A hundred of them."""
    holds(program, others, hint)


@pytest.mark.slow
@given(programs(), OTHERS, HINTS)
@settings(few, max_examples=2000)
def test_many_random_programs(program, others, hint):
    """Two thousand of them."""
    holds(program, others, hint)
