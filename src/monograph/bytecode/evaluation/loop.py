"""The loop: one native activation of `run` per interpreted frame.

Its local variable `frame` is the interpreted frame, which is how places in messages are found by
walking native frames.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls, recursion_limit
from monograph.bytecode.evaluation.frame import PASS_ON, Mark
from monograph.bytecode.evaluation.tracebacks import chain, handled, note
from monograph.bytecode.evaluation.tracing import TRACED, tell_call

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame

__all__ = ["run"]


def run(frame: InterpreterFrame, thrown: BaseException | None = None) -> Mark:
    """Run until the frame returns or yields; `frame.value` is what.

    `thrown` is raised by the current instruction, which is a yield, before anything else.
    Raises: what the frame raises and does not handle.
    """
    interpreter = frame.interpreter
    back = interpreter.current
    _enter(frame, back)
    steps = frame.body.steps
    try:
        while True:
            try:
                if thrown is not None:
                    error, thrown = thrown, None
                    _throw(frame, error)
                while True:
                    handler, argument = steps[frame.ip]
                    frame.ip += 1
                    signal = handler(frame, argument)
                    if signal is not None:
                        break
                if signal is not PASS_ON:
                    return signal
                error = frame.value
            except BaseException as caught:
                caught = note(frame, caught)  # or what refuses it; gone when this block is left
                if not _handles(frame) or _is_given_up(frame, caught):
                    raise caught  # noqa: TRY201 - it may be another one
                error = caught
            else:
                frame.value = None
                if not _handles(frame):
                    interpreter.passing = error
                    native_calls.raise_as_is(error)
            _enter_handler(frame, error)
            del error
            interpreter.passing = interpreter.clean = None
    finally:
        _leave(frame, back)


def _enter(frame: InterpreterFrame, back: InterpreterFrame | None) -> None:
    """Put a frame on top of the others. Raises: RecursionError where they are too many."""
    if back is None:
        frame.interpreter.has_room = recursion_limit.raise_native()
        frame.depth = 1
    else:
        frame.depth = back.depth + 1
        if frame.depth > sys.getrecursionlimit():
            native_calls.fail(RecursionError("maximum recursion depth exceeded"))
    frame.back = back
    frame.interpreter.current = frame
    if TRACED.count:
        _tell_call(frame, back)


def _tell_call(frame: InterpreterFrame, back: InterpreterFrame | None) -> None:
    try:
        tell_call(frame)
    except BaseException:
        _leave(frame, back)
        raise


def _leave(frame: InterpreterFrame, back: InterpreterFrame | None) -> None:
    frame.interpreter.current = back
    frame.back = frame.outside = None
    frame.depth = 0
    if back is None and frame.interpreter.has_room:
        recursion_limit.lower()


def _throw(frame: InterpreterFrame, error: BaseException) -> None:
    """Raise an exception that was thrown into a generator, as if its yield had."""
    interpreter = frame.interpreter
    if error.__context__ is None:
        chain(error, handled(interpreter))
    interpreter.passing = error
    native_calls.raise_as_is(error)


def _handles(frame: InterpreterFrame) -> bool:
    """Whether the current instruction is covered by a handler; if not, the frame is over."""
    return frame.body.handlers[frame.ip - 1] is not None


def _is_given_up(frame: InterpreterFrame, error: BaseException) -> bool:
    """Whether a copy of a frame ends by what is no exception of the program's.

    Contexts that were entered before it was made are those of the frame that it is a copy of.
    """
    around = frame.body.around
    if not around or not isinstance(error, frame.interpreter.uncatchable):
        return False
    handler = frame.body.handlers[frame.ip - 1]
    return handler is not None and handler.target in around


def _enter_handler(frame: InterpreterFrame, error: Any) -> None:
    handler = frame.body.handlers[frame.ip - 1]
    assert handler is not None, "an exception without a handler leaves the frame"
    stack = frame.stack
    del stack[handler.depth :]
    if handler.keeps_offset:
        stack.append(frame.lasti)
    stack.append(error)
    frame.ip = handler.target
