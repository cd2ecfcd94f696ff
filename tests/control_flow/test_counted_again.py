"""Who holds an object is told by counts of references, which may be too high for a moment."""

import importlib

import pytest
import torch

import monograph
from monograph.capture.control_flow.branches import object_merge
from monograph.capture.recording import alias_analysis
from tests.control_flow import aliases, asked, held  # noqa: F401  importing registers the programs
from tests.control_flow.branching import PROGRAMS


class Passing(int):
    """A number that the first count is above."""

    left = 1

    def __radd__(self, other):
        self.left -= 1
        return other + int(self) if self.left < 0 else -1


def passing_argument():
    """As `of_argument`, but for the first time."""
    real, told = object_merge.of_argument, []

    def of_argument():
        told.append(real())
        return told[-1] if len(told) > 1 else -1

    return of_argument


@pytest.mark.parametrize(
    ("name", "module", "count", "made"),
    [
        ("losses_that_are_switched_on", object_merge, "of_argument", passing_argument()),
        (
            *("held_in_tuple_on_stack", alias_analysis, "OF_SUBSCRIPT"),
            Passing(alias_analysis.OF_SUBSCRIPT),
        ),
    ],
)
def test_references_of_a_moment(name, module, count, made, monkeypatch):
    """Where another thread held one of the objects, the program is captured as where none did."""
    program = PROGRAMS[name]
    example = tuple(each.clone() for each in program.calls[0])
    monkeypatch.setattr(module, count, made)
    exported = monograph.export(program.make(), example, control_flow="capture")
    for inputs in program.calls:
        found, expected = (
            run(*(each.clone() for each in inputs)) for run in (exported.module(), program.make())
        )
        torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("name", ["losses_that_are_switched_on", "names_both_ways"])
def test_calls_that_keep_their_arguments(name):
    """Somebody evaluates frames, as `torch.compile` does: then a call adds a reference more."""
    program = PROGRAMS[name]
    example = tuple(each.clone() for each in program.calls[0])
    eval_frame = importlib.import_module("torch._dynamo.eval_frame")  # not before others count
    before = eval_frame.set_eval_frame(False)
    try:
        monograph.export(program.make(), example, control_flow="capture")
    finally:
        eval_frame.set_eval_frame(before)
