"""Tracebacks and contexts of exceptions, as CPython would have made them.

An exception of interpreted code passes through native frames of ours. Each interpreted frame it
leaves takes them out of its traceback and puts in one entry for itself, with a native frame that
looks like it: the user's file, name, lines and variables, for who prints it and for `pdb.pm`. This
costs only where something is raised.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from monograph.bytecode.evaluation.frame import line_of
from monograph.bytecode.evaluation.native_frames import looks, native_frame
from monograph.bytecode.evaluation.tracing import TRACED, tell_exception
from monograph.diagnostics import MonographError, is_stand_in, problem

if TYPE_CHECKING:
    from types import CodeType, FrameType

    from monograph.bytecode.evaluation.frame import InterpreterFrame, ThreadState

__all__ = ["chain", "check_ours", "handled", "note", "show_users_frames"]

_HERE = str(Path(__file__).parents[1]) + "/"
# Where the user's operations are carried out, so that exceptions may be born there.
_OPEN = tuple(
    _HERE + name
    for name in (
        "evaluation/generators.py",
        "evaluation/native_calls.py",
        "opcodes/",
        "polyfills/",
        "semantics/iteration.py",
    )
)


def handled(interpreter: ThreadState) -> BaseException | None:
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


def note(frame: InterpreterFrame, error: BaseException) -> BaseException:
    """Write down that an exception is leaving, or was raised in, the frame's instruction.

    Returns it, or what refuses it, for which `with` and `finally` are left as well.
    """
    interpreter = frame.interpreter
    if interpreter.passing is not error:
        try:
            check_ours(error, frame)
            interpreter.raised(frame, error)
        except interpreter.uncatchable as refusal:
            error = refusal
        if error.__context__ is None or error.__context__ is interpreter.told:
            chain(error, handled(interpreter))
    interpreter.passing = error
    rest = _without_ours(error.__traceback__, interpreter.clean)
    # -1: the line is found when somebody asks, from the table of lines.
    clean = TracebackType(rest, _native(frame), frame.lasti, -1)
    error.__traceback__ = clean
    interpreter.clean = clean
    if TRACED.count:
        tell_exception(frame, error)
    return error


def show_users_frames(error: BaseException) -> None:
    """Take our frames out of the traceback of an exception that leaves the interpreter."""
    error.__traceback__ = _without_ours(error.__traceback__, None)


def check_ours(error: BaseException, frame: InterpreterFrame) -> None:
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
    return code.co_filename.startswith(_HERE) or is_stand_in(code)


def _without_ours(
    traceback: TracebackType | None, clean: TracebackType | None
) -> TracebackType | None:
    """Drop our frames; from `clean` on there are none; entries that can stay do."""
    kept: list[TracebackType] = []
    rest: TracebackType | None = traceback
    while traceback is not None and traceback is not clean:
        if is_ours(traceback.tb_frame.f_code):
            rest = traceback.tb_next
        kept.append(traceback)
        traceback = traceback.tb_next
    if rest is not None and rest in kept:
        del kept[kept.index(rest) :]
    for entry in reversed(kept):
        if not is_ours(entry.tb_frame.f_code):
            rest = TracebackType(rest, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return rest


def _native(frame: InterpreterFrame) -> FrameType:
    """Return a native frame that looks like this one in a traceback, with its variables of now."""
    body = frame.body
    if body.looks is None:
        body.looks = looks(frame.code)
    return native_frame(body.looks, frame.globals, frame.f_locals)
