"""Random whole programs agree with eager in all forms and calls, or are refused by name."""

import math
import warnings

import pytest

from tests.drawn import running
from tests.drawn.__main__ import run
from tests.drawn.looking import Look, difference
from tests.drawn.reducing import reduced
from tests.drawn.running import AGREES, WRONG, Drawn, drawn, verdicts

FEW, BLOCK = 60, 15
ONCE_WRONG = (
    *(1396, 1970, 3370, 5402, 7883, 8167, 9320, 11534, 15621, 15701, 15975, 16538, 16836, 19673),
    *(22340, 23790, 525631074208, 525631076611, 525631077445),
    *(700000021201, 700000025066, 703972, 707104, 710673, 710835, 713054, 963729, 971816, 972681),
    *(981781, 983273, 985070, 986440, 990212, 992919, 993114),
)  # fmt: skip


@pytest.fixture(autouse=True)
def quiet():
    """What random programs warn of is theirs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("block", range(FEW // BLOCK))
def test_random_programs(block):
    """The same every time; `make laws` runs many."""
    numbers = range(block * BLOCK, (block + 1) * BLOCK)
    counts, faults = run(numbers, (), "")
    assert [text for _, text in faults] == []
    assert counts["strict", "exported", AGREES] >= BLOCK * 0.6


def test_programs_that_were_once_wrong():
    """Each failed in one of its forms, out of 20,000; what they failed by is in the probes."""
    _, faults = run(ONCE_WRONG, (), "")
    assert [text for _, text in faults] == []


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (9.487357139587402, 9.487358093261719, True),  # neighbours among floats of 32 bits
        (9.487357139587402, 9.489, False),
        (0.1, 0.1 + 2**-56, True),  # Python computes of such numbers, too
        (0.1, 0.2, False),
        (math.inf, 1.0, False),
        (-0.0, 0.0, False),
        (2.0, 2, False),
    ],
)
def test_numbers_out_of_tensors_are_rounded_as_tensors_are(one, other, is_same):
    """A sum taken in another order is another number by its last bits."""
    looks = Look(), Look()
    for look, value in zip(looks, (one, other), strict=True):
        look.at([value])
    assert (not difference(*looks)) is is_same


def test_programs_are_unlike_each_other():
    """What is asked for is drawn."""
    sources = [drawn(number).source for number in range(150)]
    assert len({*sources}) == 150
    told = "\n".join(sources)
    for each in (
        "for ", "while ", "try:", "with ", "def inner", "GL", "self.b", ".item()", "_(", "f'",
        "collections.deque", "Box(", "except", "rand",
    ):  # fmt: skip
        assert each in told, each


def test_what_is_wrong_is_found_and_made_small(monkeypatch):
    """A program that a form answers otherwise is reduced to the statement that matters."""

    class Doubled:
        """A form that gives twice the first result."""

        def __init__(self, module):
            self.module = module

        def __getattr__(self, name):
            return getattr(self.module, name)

        def __call__(self, *args, **kwargs):
            first, *rest = self.module(*args, **kwargs)
            return (first * 2, *rest)

    monkeypatch.setitem(running.FORMS, "doubled", (True, lambda p: Doubled(p.module())))
    example = drawn(0).example.__class__(parameters=("x", "y"))
    body = ["v = x + y", "w = v.relu()", "v = v * 1", "return v, w"]
    program = Drawn(1, body, example, [example], dynamic=False)
    found = [each for each in verdicts(program, ["doubled"]) if each.kind == WRONG]
    assert [each.why[:6] for each in found] == ["values"]
    small = reduced(program, found[0])
    assert len(small.body) < len(body)
