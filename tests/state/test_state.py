"""Three calls of a program with state agree with three of the module, or the export is refused."""

import pytest

from tests.contract.forms import FORMS
from tests.contract.judging import AGREES, REFUSED
from tests.state import attributes, callbacks, surroundings  # noqa: F401  importing registers the programs
from tests.state.harness import judged
from tests.state.known import KNOWN
from tests.state.registry import PROGRAMS

pytestmark = pytest.mark.filterwarnings(
    "ignore:The .grad attribute of a Tensor that is not a leaf",
    "ignore:The given NumPy array is not writable",
)

STRICT = ("write-outlives-call", "outside-read")
"""How the interpreter refuses what plain Python refuses by what is left behind."""

BOTH = [form for name, form in FORMS.items() if name in {"plain", "strict"}]


def test_there_are_enough():
    """At least sixty programs."""
    assert len(PROGRAMS) >= 60
    assert KNOWN.keys() - PROGRAMS.keys() == set()


@pytest.mark.parametrize("form", BOTH, ids=[form.name for form in BOTH])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_three_calls(program, form):
    """It agrees, is refused by name, or is listed as known to be wrong."""
    export, calls = judged(program, form)
    if program.name in KNOWN and not form.is_strict:
        assert export.kind == AGREES, f"{export}: take it off the list ({KNOWN[program.name]})"
    elif program.refused and not (form.is_strict and program.is_branch):
        assert export.kind == REFUSED, f"{export}, {calls}"
        assert export.why in program.refused + STRICT * form.is_strict, str(export)
    else:
        assert export.kind == AGREES, str(export)
        assert calls.kind == AGREES, str(calls)
