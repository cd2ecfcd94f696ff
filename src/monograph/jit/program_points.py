"""Program points: where segments begin, as the plan of the frames that are open there.

A state is a list of values: of each frame, from the outermost, its function, what its variables
hold, and its stack. The plan says which variables and entries those are.
"""

from __future__ import annotations

from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monograph.bytecode.evaluation.frame import MISSING, InterpreterFrame, Mark
from monograph.jit.calling.calls import callee_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

    from monograph.bytecode.evaluation.frame import Body, ThreadState

__all__ = [
    "FramePlan",
    "chain_of",
    "is_called_plainly",
    "is_mark",
    "key_of",
    "make_frames",
    "note_callee",
    "plan_of",
    "values_of",
]

_PLAIN_CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})


class FramePlan(NamedTuple):
    """Where a frame stands, which variables have values, and which marks are on its stack.

    An entry of `stack` is None where the state holds the value.
    """

    code: CodeType
    ip: int
    slots: tuple[bool, ...]
    stack: tuple[Mark | None, ...]


def plan_of(frame: InterpreterFrame) -> FramePlan:
    """What a frame looks like now."""
    return FramePlan(
        frame.code,
        frame.ip,
        tuple([value is not MISSING for value in frame.slots]),
        tuple([value if type(value) is Mark else None for value in frame.stack]),
    )


def is_mark(value: Any) -> bool:
    """Whether a stack entry is none of the program's values."""
    return type(value) is Mark


def key_of(plan: FramePlan) -> tuple[Any, ...]:
    """What tells plans apart; code objects compare by value, slowly."""
    return (id(plan.code), *plan[1:])


def values_of(frame: InterpreterFrame) -> list[Any]:
    """The values of a frame, as a state has them."""
    return [
        frame.function,
        *[value for value in frame.slots if value is not MISSING],
        *[value for value in frame.stack if type(value) is not Mark],
    ]


def make_frames(
    plans: tuple[FramePlan, ...],
    state: list[Any],
    interpreter: ThreadState,
    body: Callable[[CodeType], Body],
) -> list[InterpreterFrame]:
    """Make the frames of a state, from the outermost."""
    values = iter(state)
    frames: list[InterpreterFrame] = []
    for plan in plans:
        function = next(values)
        slots = [next(values) if held else MISSING for held in plan.slots]
        frame = InterpreterFrame(interpreter, plan.code, body(plan.code), slots, function)
        frame.stack = [next(values) if mark is None else mark for mark in plan.stack]
        frame.ip = plan.ip
        frame.outside = _RESUMED
        frames.append(frame)
    return frames


def chain_of(frame: InterpreterFrame) -> list[InterpreterFrame] | None:
    """The frames from the outermost to this one; None where one was not called plainly.

    A call is plain where what the callee returns is what the caller's instruction pushes.
    """
    frames = [frame]
    while frame.back is not None:
        if not is_called_plainly(frame):
            return None
        frame = frame.back
        frames.append(frame)
    return frames[::-1]


def is_called_plainly(frame: InterpreterFrame) -> bool:
    """Whether what a frame returns is what its caller's instruction pushes."""
    back = frame.back
    return back is None or (
        back.body.names[back.ip - 1] in _PLAIN_CALLS and _is_callee(back, frame)
    )


_RESUMED: Final = Mark("resumed")
"""The callee of frames that were made from a state: they stand at plain calls."""


def note_callee(frame: InterpreterFrame, callee: Any) -> None:
    """Remember what the current instruction of a frame calls."""
    frame.outside = callee


def _is_callee(back: InterpreterFrame, frame: InterpreterFrame) -> bool:
    callee = back.outside
    if callee is _RESUMED:
        return True
    if callee is None or isinstance(callee, type):
        return False
    found = callee_of(callee, [], {})[0]
    return type(found) is FunctionType and found is frame.function
