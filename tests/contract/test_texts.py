"""What a program writes of itself as Python does what the program does, for every probe."""

import pytest

import monograph
from monograph.diagnostics import MonographError
from tests.contract import test_probes  # noqa: F401  importing registers the probes
from tests.contract.forms import Form, plain
from tests.contract.judging import FAILS, WRONG, captured_once, exported, judged
from tests.contract.registry import PROBES
from tests.programs.texts import Texted

pytestmark = pytest.mark.filterwarnings("ignore")

REFUSALS = (MonographError, AssertionError, TypeError)
"""A call that does not fit the text fails in Python's own words: at its `def`, at an `assert`."""

FORM = Form(
    "text", plain, monograph.Dim, lambda program: Texted(program).module(), refusals=REFUSALS
)

KNOWN_OF_TEXTS = {
    ("BufferWithGradient", "thrice"),
    ("WrittenThroughAView", "leaf"),
    ("WrittenThroughAView", "plain"),
}
"""Calls that go on through the history of a buffer, which the text leaves where it began."""


@pytest.mark.parametrize("probe", PROBES.values(), ids=PROBES)
def test_text_is_the_program(probe):
    """Each call of a probe agrees with eager, or is refused."""
    program, verdict = exported(probe, FORM, captured_once)
    assert verdict.kind not in {WRONG, FAILS}, str(verdict)
    if program is None:
        return
    found = {
        name: judged(probe, program, FORM, call)
        for name, call in probe.calls.items()
        if (probe.name, name) not in KNOWN_OF_TEXTS
    }
    assert {n: str(v) for n, v in found.items() if v.kind in {WRONG, FAILS}} == {}
