"""Random small programs under random calls: each agrees with eager, or is refused."""

import pytest
from hypothesis import HealthCheck, event, given, note, settings

from tests.contract.drawn import probes
from tests.contract.forms import FORMS
from tests.contract.judging import AGREES, FAILS, REFUSED, WRONG, exported, judged
from tests.contract.known import OF_FORMS

pytestmark = pytest.mark.filterwarnings("ignore")

SOUND = {name: form for name, form in FORMS.items() if name not in OF_FORMS}
"""Forms without faults of their own that are known: random programs would only meet those again."""

few = settings(
    max_examples=200,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
    database=None,
)


def holds(drawn, form):
    """Export and call."""
    probe, told = drawn
    note(told)
    program, export = exported(probe, form)
    event(f"export {export}")
    assert export.kind in {AGREES, REFUSED}, str(export)
    if program is None:
        return
    for name, call in probe.calls.items():
        verdict = judged(probe, program, form, call)
        event(f"call {verdict.kind}")
        assert verdict.kind not in {WRONG, FAILS}, f"{name}: {verdict}"
        assert name != "example" or verdict.kind == AGREES, f"{name}: {verdict}"


@pytest.mark.parametrize("form", SOUND.values(), ids=SOUND)
@given(probes())
@settings(few, max_examples=200 // len(SOUND))
def test_random_programs(form, drawn):
    """Two hundred of them, the same every time, over all forms."""
    holds(drawn, form)


@pytest.mark.slow
@pytest.mark.parametrize("form", SOUND.values(), ids=SOUND)
@given(probes())
@settings(few, max_examples=2000 // len(SOUND), derandomize=False)
def test_many_random_programs(form, drawn):
    """Two thousand of them, others every time."""
    holds(drawn, form)
