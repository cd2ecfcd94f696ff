"""Every program that looks at data agrees with eager at twenty draws, or is refused by name."""

import pytest

from monograph.diagnostics import MonographError
from tests.data import (  # noqa: F401  importing registers the programs
    checks,
    documents,
    models,
    places,
    sizes,
    values,
)
from tests.data.forms import FORMS
from tests.data.harness import differences, export, exported_once
from tests.data.known import BEYOND_PLAIN, CALLED_BY_C
from tests.data.registry import PROGRAMS

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*degrees of freedom",
    "ignore:_check_is_size will be removed:FutureWarning",
)

CAPTURED = {name: program for name, program in PROGRAMS.items() if not program.refused}


def test_there_are_enough():
    """Some three hundred programs, of which few are refused."""
    assert len(PROGRAMS) >= 300
    assert len(CAPTURED) >= 0.9 * len(PROGRAMS)
    assert CAPTURED.keys() >= BEYOND_PLAIN


@pytest.mark.parametrize("place", documents.PLACES, ids=" | ".join)
def test_documents_are_held(place):
    """Each program of the documents is here, and what they say fails is captured or explained."""
    assert documents.PLACES[place] in PROGRAMS


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_agrees_with_eager(program, strict):
    """The export succeeds and every draw agrees, or it is refused as listed."""
    refused = (program.refused,) if program.refused else ()
    if not strict and program.name in BEYOND_PLAIN:
        refused = ("data-dependent-size", "specialized-value")
    if refused:
        with pytest.raises(MonographError) as raised:
            export(program, strict=strict)
        assert raised.value.diagnostic.name in refused, str(raised.value)
        if not program.refused and raised.value.diagnostic.name == "specialized-value":
            assert program.name in CALLED_BY_C or "strict=True" in str(raised.value)
        return
    made = export(program, strict=strict)
    wrong, calls_refused = differences(program, made.module)
    assert wrong == []
    assert len(calls_refused) <= program.calls_refused, calls_refused


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("program", CAPTURED.values(), ids=CAPTURED)
def test_other_forms_agree(program, form):
    """Loaded, decomposed, unflattened and written as text, it does the same."""
    made = exported_once(program)
    wrong, calls_refused = differences(program, lambda: form(made), range(8))
    assert wrong == []
    assert len(calls_refused) <= program.calls_refused, calls_refused
