"""Random programs over numbers, in all forms and at other sizes and data, beside plain Python."""

import random

import pytest

from tests.contract.forms import FORMS
from tests.contract.judging import AGREES, FAILS, REFUSED, WRONG, exported, judged
from tests.laws.drawn_numbers import drawn_numbers

pytestmark = pytest.mark.filterwarnings("ignore")

FEW, MANY, BLOCK = 120, 6000, 100
TRIED = [FORMS[name] for name in ("strict", "plain", "loaded") if name in FORMS]


def faults(number, form):
    """What is wrong with one program in one form, with its text."""
    probe, told = drawn_numbers(number)
    if ".__" in told:
        form = FORMS["strict"]  # plain Python does not say that `(3).__lt__(n)` is called
    program, export = exported(probe, form)
    if export.kind not in {AGREES, REFUSED}:
        return [f"{told}>>> {form.name}: {export}"]
    if program is None:
        return []
    verdicts = {name: judged(probe, program, form, call) for name, call in probe.calls.items()}
    return [
        f"{told}\n>>> {form.name}, {name}: {verdict}"
        for name, verdict in verdicts.items()
        if is_fault(name, verdict)
    ]


def is_fault(name, verdict):
    """Whether a call went wrong; what a program asserts of data is a refusal, once it runs."""
    if verdict.kind == FAILS and "does not hold (" in verdict.why:
        return name == "example"
    return verdict.kind in {WRONG, FAILS} or (name == "example" and verdict.kind != AGREES)


def faults_of(numbers):
    """What is wrong, each program in one form after the other."""
    forms = enumerate(numbers)
    return [fault for at, each in forms for fault in faults(each, TRIED[at % len(TRIED)])]


@pytest.mark.parametrize("block", range(2))
def test_numbers(block):
    """A hundred and twenty programs, the same every time."""
    size = FEW // 2
    assert faults_of(range(block * size, (block + 1) * size)) == []


@pytest.mark.slow
@pytest.mark.parametrize("block", range(MANY // BLOCK))
def test_many_numbers(block):
    """Six thousand, others every time; the seed of a block is printed with what it finds."""
    seed = random.SystemRandom().randrange(FEW, 1 << 48)
    assert (seed, BLOCK, faults_of(range(seed, seed + BLOCK))) == (seed, BLOCK, [])


def test_programs_say_something():
    """Most export, and take what is asked of them."""
    kinds = [exported(drawn_numbers(number)[0], FORMS["strict"])[1].kind for number in range(30)]
    assert kinds.count(AGREES) > 12
