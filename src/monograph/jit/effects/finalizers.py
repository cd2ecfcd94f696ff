"""Finalizers: objects that run code when nobody holds them any longer.

A segment holds what it met and made until its end, and a replay makes nothing that it does not
leave. So objects whose end is noticed are not recorded: by `__del__`, by weak references, and by
generators that stop within `try` or `with`.
"""

from __future__ import annotations

import contextlib
import gc
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final
from weakref import getweakrefcount

from torch.nn import Module

from monograph.bytecode.evaluation.frame import MISSING, Mark
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.bytecode.evaluation.special_methods import lookup

if TYPE_CHECKING:
    from collections.abc import Generator

    from monograph.bytecode import InterpreterFrame
    from monograph.jit.recording import SegmentRecorder

__all__ = ["is_entered_by_with", "is_finalized", "is_left_by_with", "runs_code_when_left"]


def runs_code_when_left(frame: InterpreterFrame, at: int) -> bool:
    """Whether leaving a generator at an instruction runs code that others may notice.

    Followed by the instructions that `GeneratorExit` meets: an `except` of other classes is none.
    """
    body, seen = frame.body, set[int]()
    handler = body.handlers[at]
    while handler is not None:
        if handler.target in seen:
            return True
        seen.add(handler.target)
        at = handler.target
        while body.names[at] not in _RAISING:
            name, argument = body.names[at], body.steps[at][1]
            if name == "LOAD_GLOBAL":
                caught = None if argument in frame.globals else frame.builtins.get(argument)
                if not isinstance(caught, type) or issubclass(GeneratorExit, caught):
                    return True
            elif name not in _SILENT:
                return True
            at = argument if name == "POP_JUMP_IF_FALSE" else at + 1
        handler = None if body.names[at] == "STOPITERATION_ERROR" else body.handlers[at]
    return False


_RAISING: Final = frozenset({"RERAISE", "STOPITERATION_ERROR", "CLEANUP_THROW"})
"""Instructions that raise `GeneratorExit` once more."""

_SILENT: Final = frozenset(
    {
        *("PUSH_EXC_INFO", "CHECK_EXC_MATCH", "POP_JUMP_IF_FALSE", "COPY", "POP_EXCEPT"),
        *("LOAD_CONST", "STORE_FAST", "DELETE_FAST"),
    }
)
"""Instructions of handlers that nobody notices, where no exception is caught."""


def is_entered_by_with(frame: InterpreterFrame) -> bool:
    """Whether a generator is that of a context manager, which is run to its end."""
    return frame.back is not None and frame.back.code is _ENTER


@contextlib.contextmanager
def _sample() -> Generator[None]:
    yield


_ENTER: Final = type(_sample()).__enter__.__code__
_EXIT: Final = type(_sample()).__exit__.__code__


def is_left_by_with(
    segment: SegmentRecorder, frame: InterpreterFrame | None, callee: Any, args: list[Any]
) -> bool:
    """Whether a context manager runs its generator to the end, which it entered before a break.

    What the generator holds is guarded, and interpreted from where it stands.
    """
    if callee is not next or frame is None or frame.code is not _EXIT:
        return False
    generator, guards = args[0], segment.guards
    if type(generator) is not InterpretedGenerator or not guards.is_known(generator):
        return False
    inner = generator.frame
    if inner is None or generator.running or generator.handling.error is not None:
        return False
    if generator not in segment.resumed:
        name, label = guards.names[id(generator)], inner.code.co_qualname
        stand = stand_of(generator)
        fails = f"{guards.constant(stand_of)}({name}) != {guards.constant(stand)}"
        guards.check(fails, f"where {label} stands", stand[1])
        guards.meet(inner.function, f"{name}.frame.function", label)
        for part in ("slots", "stack"):
            for index, value in enumerate(getattr(inner, part)):
                if type(value) is not Mark:
                    guards.meet(value, f"{name}.frame.{part}[{index}]", f"a value of {label}")
        inner.interpreter, inner.body = frame.interpreter, frame.interpreter.body(inner.code)
        segment.resumed.append(generator)
        segment.write(generator, "{0}._finish()")
    return True


def stand_of(generator: InterpretedGenerator) -> tuple[Any, ...]:
    """Where a generator stands, and which of its variables have values; None where it is over."""
    frame = generator.frame
    if frame is None or generator.handling.error is not None:
        return (None, None)
    marks = [value if type(value) is Mark else None for value in (*frame.slots, *frame.stack)]
    return frame.code, frame.ip, tuple(marks)


_THROUGH: Final = (enumerate, zip, map, filter, tuple)
"""What is made of an iterator, and holds it."""


def is_finalized(value: Any) -> bool:
    """Whether the end of an object, or of what an iterator goes through, is noticed."""
    kind = type(value)
    if kind in _THROUGH:
        return any(is_finalized(each) for each in gc.get_referents(value))
    if kind is InterpretedGenerator:
        frame = value.frame
        return frame is not None and frame.ip > 0 and runs_code_when_left(frame, frame.ip - 1)
    if kind is GeneratorType:
        return value.gi_frame is not None and bool(value.gi_code.co_exceptiontable)
    if not kind.__flags__ & (1 << 9) or isinstance(value, Module | type):
        return False
    return lookup(kind, "__del__") is not MISSING or bool(getweakrefcount(value))
