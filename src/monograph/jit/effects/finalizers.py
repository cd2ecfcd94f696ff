"""Finalizers: objects that run code when nobody holds them any longer.

A segment holds what it met and made until its end, and a replay makes nothing that it does not
leave. So objects whose end is noticed are not recorded: by `__del__`, by weak references, and by
generators that stop within `try` or `with`.
"""

from __future__ import annotations

import contextlib
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final
from weakref import getweakrefcount

from torch.nn import Module

from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.bytecode.evaluation.special_methods import lookup

if TYPE_CHECKING:
    from collections.abc import Generator

    from monograph.bytecode import InterpreterFrame

__all__ = ["is_finalized", "runs_code_when_left"]


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
        while body.names[at] not in ("RERAISE", "STOPITERATION_ERROR"):
            name, argument = body.names[at], body.steps[at][1]
            if name == "LOAD_GLOBAL":
                caught = None if argument in frame.globals else frame.builtins.get(argument)
                if not isinstance(caught, type) or issubclass(GeneratorExit, caught):
                    return True
            elif name not in _SILENT:
                return True
            at = argument if name == "POP_JUMP_IF_FALSE" else at + 1
        handler = body.handlers[at] if body.names[at] == "RERAISE" else None
    return False


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


def is_finalized(value: Any) -> bool:
    """Whether the end of an object runs code, or is seen by who refers to it weakly."""
    kind = type(value)
    if kind is InterpretedGenerator:
        frame = value.frame
        return frame is not None and frame.ip > 0 and runs_code_when_left(frame, frame.ip - 1)
    if kind is GeneratorType:
        return value.gi_frame is not None and bool(value.gi_code.co_exceptiontable)
    if not kind.__flags__ & (1 << 9) or isinstance(value, Module | type):
        return False
    return lookup(kind, "__del__") is not MISSING or bool(getweakrefcount(value))
