"""Random small programs under random calls: each agrees with eager, or is refused."""

import random

import pytest

from tests.contract.drawn import drawn
from tests.contract.forms import FORMS
from tests.contract.judging import AGREES, FAILS, REFUSED, WRONG, exported, judged

pytestmark = pytest.mark.filterwarnings("ignore")

FEW, MANY, BLOCK = 200, 2000, 50


def faults(number, form):
    """What is wrong with one program in one form, with its text."""
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
        if not is_more_than_eager(form, verdict)
        and (
            verdict.kind in {WRONG, FAILS}
            or (name == "example" and verdict.kind != AGREES and not may_refuse_example(form, told))
        )
    ]


def is_more_than_eager(form, verdict):
    """Whether autograd refuses eager code for how it writes, which a form without writes does not.

    Eager raises for `out=` where gradients are needed, for what changed since it was kept, and for
    views of what is written to that were made where it did not look.
    """
    refusals = (
        "functions with out=",
        "gradients: the kind: RuntimeError became some",
        "A view was created in no_",
    )
    return form.name == "decomposed" and any(each in verdict.why for each in refusals)


def may_refuse_example(form, told):
    """Whether a form without writes may refuse its own example.

    Inputs that lie in one memory are refused where one is written to, and so are sizes of 1 where
    whether a tensor is copied depends on them.
    """
    example = told[told.index("example: ") : told.index("call 0: ")]
    folded = "alias='none'" not in example or "'expanded'" in example
    sizes = example[example.index("sizes=(") :].partition(")")[0]
    return form.name == "decomposed" and (folded or bool({"(1", " 1"} & {sizes[6:8], sizes[-2:]}))


def in_turn(numbers):
    """Every number with one of the forms."""
    forms = [*FORMS.values()]
    return [(number, forms[at % len(forms)]) for at, number in enumerate(numbers)]


@pytest.mark.parametrize("block", range(FEW // BLOCK))
def test_random_programs(block):
    """Two hundred of them, the same every time, over all forms."""
    numbers = range(block * BLOCK, (block + 1) * BLOCK)
    assert [fault for each in in_turn(numbers) for fault in faults(*each)] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(MANY // BLOCK))
def test_many_random_programs(block):
    """Two thousand of them, others every time."""
    numbers = random.SystemRandom().sample(range(FEW, 1 << 48), BLOCK)
    assert [fault for each in in_turn(numbers) for fault in faults(*each)] == []


def test_programs_are_unlike_each_other():
    """Most capture, most calls differ, and what is asked of them varies."""
    told = {drawn(number)[1] for number in range(40)}
    assert len(told) == 40
    assert sum("return x, y\n" in each for each in told) < 4
    assert {words for words in ("self.", "if ", "_(", "d[") if any(words in t for t in told)} == {
        *("self.", "if ", "_(", "d[")
    }
