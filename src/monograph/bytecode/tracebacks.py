"""Tracebacks and contexts of exceptions, as CPython would have made them.

An exception of interpreted code passes through native frames of ours. Each interpreted frame it
leaves takes them out of its traceback and puts in one entry for itself: a native frame is needed
for that, so one is borrowed from a function that does nothing but looks like the user's (same file,
name and table of lines; CPython prints no more of it). This costs only where something is raised.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any

from monograph.bytecode.frame import line_of
from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from monograph.bytecode.frame import Frame
    from monograph.bytecode.interpreter import Interpreter

__all__ = ["chain", "check_ours", "handled", "note", "show_users_frames"]

_HERE = str(Path(__file__).parent) + "/"
# Where the user's operations are carried out, so that exceptions may be born there.
_OPEN = tuple(
    _HERE + name
    for name in ("generators.py", "iteration.py", "natives.py", "opcodes/", "polyfills/")
)


def handled(interpreter: Interpreter) -> BaseException | None:
    """Return the exception that is being handled, of this frame or of one that called it."""
    item = interpreter.handling
    while item is not None:
        if item.error is not None:
            return item.error
        item = item.previous
    return None


def chain(error: BaseException, context: BaseException | None) -> None:
    """Set the context of an exception that is raised, without making a circle."""
    if context is None or context is error:
        return
    link: BaseException | None = context
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        if link.__context__ is error:
            link.__context__ = None
        link = link.__context__
    error.__context__ = context


def note(frame: Frame, error: BaseException) -> None:
    """Write down that an exception is leaving, or was raised in, the frame's instruction."""
    interpreter = frame.interpreter
    if interpreter.passing is not error:
        check_ours(error, frame)
        if error.__context__ is None or error.__context__ is interpreter.told:
            chain(error, handled(interpreter))
    interpreter.passing = error
    rest = _without_ours(error.__traceback__, interpreter.clean)
    # -1: the line is found when somebody asks, from the table of lines.
    clean = TracebackType(rest, _shadow(frame), frame.lasti, -1)
    error.__traceback__ = clean
    interpreter.clean = clean


def show_users_frames(error: BaseException) -> None:
    """Take our frames out of the traceback of an exception that leaves the interpreter."""
    error.__traceback__ = _without_ours(error.__traceback__, None)


def check_ours(error: BaseException, frame: Frame) -> None:
    """Raise BugError if an exception was born in the machinery, so no `except` may take it."""
    traceback = error.__traceback__
    if traceback is None or isinstance(error, MonographError):
        return
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    file = traceback.tb_frame.f_code.co_filename
    if not file.startswith(_HERE) or file.startswith(_OPEN):
        return
    if isinstance(error, KeyboardInterrupt | MemoryError | RecursionError):
        return
    where = f"{file.removeprefix(_HERE)}:{traceback.tb_lineno}"
    line = line_of(frame.code, frame.lasti)
    reason = f"the interpreter failed at {where} ({type(error).__name__}: {error}), interpreting"
    raise problem("bug", reason=f"{reason} {frame.code.co_filename}:{line}") from error


def is_ours(code: CodeType) -> bool:
    """Whether code belongs to the interpreter."""
    return code.co_filename.startswith(_HERE)


def _without_ours(
    traceback: TracebackType | None, clean: TracebackType | None
) -> TracebackType | None:
    """Drop our frames; what stands from `clean` on is clean already."""
    kept: list[TracebackType] = []
    while traceback is not None and traceback is not clean:
        if not is_ours(traceback.tb_frame.f_code):
            kept.append(traceback)
        traceback = traceback.tb_next
    rest = traceback
    for entry in reversed(kept):
        rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def _shadow(frame: Frame) -> FrameType:
    """Return a native frame that looks like this one in a traceback."""
    found = frame.body.shadow
    if found is None or found.f_globals is not frame.globals:
        code = _lookalike(frame.code)
        function = FunctionType(code, frame.globals, code.co_name, None, _TEMPLATE.__closure__)
        found = frame.body.shadow = function()
    return found


def _template(get_frame: Any) -> FunctionType:
    def shadow() -> FrameType:
        return get_frame()

    return shadow  # pyright: ignore[reportReturnType]  (a function is a FunctionType)


_TEMPLATE = _template(sys._getframe)  # pyright: ignore[reportPrivateUsage]  (documented)


def _lookalike(code: CodeType) -> CodeType:
    return _TEMPLATE.__code__.replace(
        co_filename=code.co_filename,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        co_firstlineno=code.co_firstlineno,
        co_linetable=code.co_linetable,
    )
