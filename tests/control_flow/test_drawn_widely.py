"""Random programs that change what is around their branches and loops agree, or are refused."""

import random
import re

import pytest

import monograph
from tests.contract import forms
from tests.contract.judging import AGREES, FAILS, REFUSED, WRONG, exported, judged
from tests.control_flow.drawn_widely import drawn
from tests.control_flow.forms import loaded_decomposed

pytestmark = pytest.mark.filterwarnings("ignore")

FORMS = tuple(
    forms.Form(made.__name__, forms.strict, monograph.Dim, made)
    for made in (
        forms.as_module,
        forms.decomposed,
        forms.loaded,
        forms.unflattened,
        loaded_decomposed,
    )
)
FEW, MANY, BLOCK = 60, 2000, 20

KNOWN = {
    # A size that a branch fixes is asserted when that branch runs.
    r"does not hold \(drawn\.py": r"^ *(if|elif|while|for) | if .* else ",
    # Operators whose result nobody uses go, or conversions; none is caught.
    r"eager raises RuntimeError: max\(": r"\.max\(",
    r"eager raises RuntimeError: min\(": r"\.min\(",
    r"cannot convert float NaN to integer": r"\bint\(|\bround\(",
    # Autograd refuses eager code for how it writes; lowered, none writes.
    r"functions with out=": r"out=",
    r"gradients: the kind: RuntimeError became some": r"_\(|\] = |\] \+= | \+= | \*= |out=",
    # What one side writes is written on both, in its memory, and was kept for backward.
    r"gradients: the kind: some became RuntimeError": (
        r"(?s)^ *(?:(?:el)?if|for|while) .*(?:\bself\.b |_\(|\] = |\*= |\+= |out=)"
    ),
    # What one side replaces is written in its memory, and what is returned of it is a copy.
    r"state: b: \[\[.*'is'": r"^ *self\.b = ",
}
"""What random programs may differ in: by the verdict, and a line that the program must have.

None of the programs that are the same every time is wrong, and no gradient may be missing.
"""


def is_known(told, why):
    """Whether the program has the line that explains its verdict."""
    return any(
        re.search(verdict, why) and re.search(line, told, re.MULTILINE)
        for verdict, line in KNOWN.items()
    )


def faults(number, form, *, known=False):
    """What is wrong with one program in one form, with its text; what is `known` left out."""
    probe, told = drawn(number)
    program, export = exported(probe, form)
    if export.kind not in {AGREES, REFUSED}:
        return [f"{told}\n>>> {form.name}: {export}"]
    if program is None:
        return []
    verdicts = {name: judged(probe, program, form, call) for name, call in probe.calls.items()}
    return [
        f"{told}\n>>> {form.name}, {name}: {verdict}"
        for name, verdict in verdicts.items()
        if verdict.kind in {WRONG, FAILS} and not (known and is_known(told, verdict.why))
    ]


def found_in(numbers, *, known=False):
    """The faults of some programs, each in one form."""
    return [
        fault
        for at, number in enumerate(numbers)
        for fault in faults(number, FORMS[at % len(FORMS)], known=known)
    ]


@pytest.mark.parametrize("block", range(FEW // BLOCK))
def test_programs_drawn_widely(block):
    """The same every time, over all forms."""
    assert found_in(range(block * BLOCK, (block + 1) * BLOCK)) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(MANY // BLOCK))
def test_many_programs_drawn_widely(block):
    """Others every time."""
    numbers = random.SystemRandom().sample(range(FEW, 1 << 48), BLOCK)
    assert found_in(numbers, known=True) == []


def test_programs_are_unlike_each_other():
    """What is asked for is drawn."""
    told = "".join(drawn(number)[1] for number in range(200))
    for each in ("while ", "for ", "try:", "nonlocal", "self.b = ", "xs.append", "o.t = ", "with "):
        assert each in told, each
