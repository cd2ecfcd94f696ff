"""Programs by which C or threads write to objects from outside: right, or refused by name."""

import pytest

from tests.contract.forms import FORMS
from tests.contract.judging import AGREES, REFUSED
from tests.state import kept_in_c, outside_objects, started_threads  # noqa: F401  importing registers
from tests.state.harness import judged
from tests.state.registry import ALLOWED_OUTSIDE, OUTSIDE

pytestmark = pytest.mark.filterwarnings("ignore")

LATER = ("decomposed", "unflattened", "loaded")


@pytest.mark.parametrize("name", OUTSIDE)
def test_right_or_refused(name):
    """Strict and plain; what plain capture has is right in every other form, too."""
    program = OUTSIDE[name]
    for form in ("strict", "plain"):
        export, calls = judged(program, FORMS[form])
        assert export.kind in {AGREES, REFUSED}, f"{form}: {export}"
        assert calls is None or calls.kind in {AGREES, REFUSED}, f"{form}: {calls}"
        if name in ALLOWED_OUTSIDE:
            assert (export.kind, calls.kind) == (AGREES, AGREES), f"{form}: {export}, {calls}"
    if calls is not None:
        for form in LATER:
            _, calls = judged(program, FORMS[form])
            assert calls.kind in {AGREES, REFUSED}, f"{form}: {calls}"
