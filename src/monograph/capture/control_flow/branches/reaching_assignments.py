"""Reaching definitions: which lines gave a variable the value it has after either side.

Found in the code, not while it runs: the last assignments between the jump and the join point;
where a side assigns nothing, those before the jump, or the function's parameters.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.analysis.reaching_definitions import assignments
from monograph.capture.control_flow.branches.state_merge import ABSENT
from monograph.capture.control_flow.higher_order.result_merge import SIDES, ResultName
from monograph.diagnostics import Cause

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.bytecode.branches.branch_targets import Ways
    from monograph.capture.recording.recorder import Recorder
    from monograph.diagnostics import Frame, MonographError


class ReachingAssignments:
    """The two sides of one condition, and where what they leave was made."""

    def __init__(
        self, recorder: Recorder, frame: InterpreterFrame, found: Ways, ends: Sequence[End]
    ) -> None:
        """`frame` stands in the jump; `ends` are how the copies of it ended."""
        self._filter = recorder.scopes.filter
        self._frame = frame
        self._jump = frame.ip - 1
        self._starts = (found.if_true, found.if_false)
        self._ends = ends

    def shown(
        self, error: MonographError, where: tuple[str, int], values: tuple[Any, Any]
    ) -> MonographError:
        """The refusal of two values that cannot be one, with the lines of both."""
        lines = [()] if any(each is ABSENT for each in values) else self.lines(where)
        found = error.diagnostic.causes if all(lines) else ()
        causes = [
            Cause(at, f"{cause.label}, {side}")
            for at, cause, side in zip(lines, found, SIDES, strict=False)
        ]
        return type(error)(replace(error.diagnostic, causes=tuple(causes)))

    def named(self, name: str, where: tuple[str, int]) -> ResultName:
        """What messages say of a result."""
        return ResultName(
            f"`{name}`" if name and " " not in name else name, partial(self.lines, where)
        )

    def lines(self, where: tuple[str, int]) -> list[tuple[Frame, ...]]:
        """The user's lines of either side, () where none is known."""
        return [self._lines(side, *where) for side in (0, 1)]

    def _lines(self, side: int, name: str, place: int) -> tuple[Frame, ...]:
        end, code = self._ends[side], self._frame.code
        if place == EXIT and end.kind == "returned":
            return self._at(end.frame.lasti)
        if self._starts == (0, 0):
            return ()
        known = name if name in self._frame.body.slots else ""
        found = assignments(code, known, place, self._starts[side], self._jump)
        return self._at(found[-1] if found else 0)

    def _at(self, lasti: int) -> tuple[Frame, ...]:
        here = self._filter.frame(self._frame.code, lasti)
        return self._filter.innermost_user((here,))


__all__ = ["ReachingAssignments"]
