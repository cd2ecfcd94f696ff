"""Random chains of views, writes and draws, lowered, agree with eager or are refused.

Compared are values, strides, which results share memory with what, whether autograd follows them,
gradients, and where the generator of random numbers stands after the call.
"""

import random

import pytest

import monograph
from tests.contract.forms import Form, as_module, plain
from tests.contract.judging import AGREES, FAILS, REFUSED, WRONG, exported, inputs_of, judged, made
from tests.contract.test_random_programs import is_more_than_eager
from tests.laws.chains import chain

pytestmark = [pytest.mark.laws, pytest.mark.filterwarnings("ignore")]

FEW, MANY, BLOCK = 100, 5000, 50
TABLES = {"functional": dict, "decomposed": monograph.default_decompositions}


def lowered(table):
    """Export as plain Python, and lower by a table."""

    def module(program):
        return program.run_decompositions(TABLES[table]()).module()

    return Form(table, plain, monograph.Dim, module)


AS_IT_IS = Form("plain", plain, monograph.Dim, as_module)
FORMS = {name: lowered(name) for name in TABLES}


def faults(number):
    """What lowering made wrong of one chain, by one of the tables, with its text."""
    probe, told = chain(number)
    form = FORMS["functional" if number % 3 == 0 else "decomposed"]
    program, export = exported(probe, form)
    if export.kind not in {AGREES, REFUSED}:
        return [f"{told}\n>>> {form.name}: {export}"]
    if program is None:
        return []
    verdicts = {name: judged(probe, program, form, call) for name, call in probe.calls.items()}
    return [
        f"{told}\n>>> {form.name}, {name}: {verdict}"
        for name, verdict in verdicts.items()
        if verdict.kind in {WRONG, FAILS}
        and not is_more(verdict)
        and not (verdict.why.startswith("aliasing") and returns_nothing(probe, probe.calls[name]))
        and judged(probe, exported(probe, AS_IT_IS)[0], AS_IT_IS, probe.calls[name]).kind == AGREES
    ]


def returns_nothing(probe, call):
    """Whether a result has no elements: of nothing, a copy is as good as a view."""
    args, kwargs = inputs_of(call, 0)
    return not all(each.numel() for each in made(probe)(*args, **kwargs))


def is_more(verdict):
    """Whether autograd refuses eager code for how it writes, and a graph of values does not."""
    refusals = ("leaf Variable that requires grad", "returns multiple views")
    is_named = any(each in verdict.why for each in refusals)
    return is_named or is_more_than_eager(FORMS["decomposed"], verdict)


@pytest.mark.parametrize("block", range(FEW // BLOCK))
def test_chains(block):
    """A hundred of them, the same every time."""
    numbers = range(block * BLOCK, (block + 1) * BLOCK)
    assert [fault for number in numbers for fault in faults(number)] == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(MANY // BLOCK))
def test_many_chains(block):
    """Five thousand of them, others every time."""
    numbers = random.SystemRandom().sample(range(FEW, 1 << 48), BLOCK)
    assert [fault for number in numbers for fault in faults(number)] == []


def test_chains_are_unlike_each_other():
    """Most are captured, and all kinds of lines are in some."""
    told = "\n".join(chain(number)[1] for number in range(60))
    for words in ("contiguous()", "requires_grad_()", "dropout(", "out=", "no_grad", "add_(1)"):
        assert words in told
