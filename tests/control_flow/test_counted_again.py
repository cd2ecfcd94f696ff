"""Who holds an object is told by counts of references, which may be too high for a moment."""

import pytest
import torch

import monograph
from monograph.capture.control_flow.branches import object_merge
from monograph.capture.recording import alias_analysis
from tests.control_flow import asked, held  # noqa: F401  importing registers the programs
from tests.control_flow.branching import PROGRAMS


class Passing(int):
    """A number that the first count is above."""

    left = 1

    def _is_over(self):
        self.left -= 1
        return self.left < 0

    def __ge__(self, other):
        return self._is_over() and int.__ge__(self, other)

    def __radd__(self, other):
        return other + int(self) if self._is_over() else -1


@pytest.mark.parametrize(
    ("name", "module", "count"),
    [
        ("losses_that_are_switched_on", object_merge, "OF_ARGUMENT"),
        ("held_in_tuple_on_stack", alias_analysis, "OF_SUBSCRIPT"),
    ],
)
def test_references_of_a_moment(name, module, count, monkeypatch):
    """Where another thread held one of the objects, the program is captured as where none did."""
    program = PROGRAMS[name]
    example = tuple(each.clone() for each in program.calls[0])
    made = Passing(getattr(module, count))
    monkeypatch.setattr(module, count, made)
    exported = monograph.export(program.make(), example, control_flow="capture")
    assert made.left < 0, "some count was too high"
    for inputs in program.calls:
        found, expected = (
            run(*(each.clone() for each in inputs)) for run in (exported.module(), program.make())
        )
        torch.testing.assert_close(found, expected, rtol=0, atol=0)
