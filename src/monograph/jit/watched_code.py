"""Watched code: bodies of code objects whose instructions tell a recorder before they run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode import Interpreter
from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.linking import link
from monograph.jit.graphs.sizes import (
    HOLDS_SIZES,
    is_tuple_display,
)
from monograph.jit.recording import DONE, NotRecordable
from monograph.jit.watched_instructions import FREE, WATCHES

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.evaluation.frame import Body, Mark

__all__ = ["WatchedInterpreter", "watched"]

_CALLS: Final = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX"})


class WatchedInterpreter(Interpreter):
    """An interpreter whose instructions tell a recorder before they run."""

    __slots__ = ("recorder",)

    recorder: Any


def _unknown(recorder: Any, frame: InterpreterFrame, _: Any) -> None:
    del recorder
    raise NotRecordable(f"the instruction {frame.body.names[frame.ip - 1]}")


def _watched_step(name: str, handler: Any) -> Any:
    if name in FREE and name not in HOLDS_SIZES:
        return handler
    if name in FREE:
        return _settling(handler, may_hold=name == "BUILD_LIST")
    watch = WATCHES.get(name, _unknown)

    def step(frame: InterpreterFrame, argument: Any) -> Mark | None:
        interpreter: Any = frame.interpreter
        recorder: Any = interpreter.recorder
        if recorder.segment is None:
            recorder.leave_observer()
            return handler(frame, argument)
        try:
            recorder.check_step(frame, name, argument)
            if recorder.segment.is_symbolic:
                recorder.before_sizes(frame, name, argument)
            verdict = watch(recorder, frame, argument)
        except NotRecordable as error:
            verdict = NotRecordable(str(error), error.place)  # holds no frames
        # Not while ours is being handled: user code that runs now must not see it.
        if isinstance(verdict, NotRecordable):
            return recorder.break_at(frame, verdict, handler, argument)
        if verdict is DONE:
            return None
        if name in _CALLS or name == "MAKE_FUNCTION":
            handler(frame, argument)
            recorder.born(frame, is_function=name == "MAKE_FUNCTION")
            return None
        return handler(frame, argument)

    return step


def _settling(handler: Any, *, may_hold: bool) -> Any:
    def step(frame: InterpreterFrame, argument: Any) -> Mark | None:
        interpreter: Any = frame.interpreter
        segment = interpreter.recorder.segment
        verdict = None
        if (
            segment is not None
            and segment.is_symbolic
            and not (may_hold and is_tuple_display(frame))
        ):
            try:
                interpreter.recorder.settle(frame)
            except NotRecordable as error:
                verdict = error
        if verdict is not None:
            return interpreter.recorder.break_at(frame, verdict, handler, argument)
        return handler(frame, argument)

    return step


@once_per_code
def watched(code: CodeType) -> Body:
    """The body of a code object whose instructions tell the recorder."""
    body = link(code)
    steps = [
        (_watched_step(name, handler), argument)
        for name, (handler, argument) in zip(body.names, body.steps, strict=True)
    ]
    return replace(body, steps=steps, stopped={})
