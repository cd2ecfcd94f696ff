"""Finalizers: objects that run code when nobody holds them any longer.

A segment holds what it met and made until its end, and a replay makes nothing that it does not
leave. So objects that are told of their end are not recorded: `__del__`, and generators that stop
within `try` or `with`.
"""

from __future__ import annotations

import contextlib
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.bytecode.evaluation.special_methods import lookup

if TYPE_CHECKING:
    from collections.abc import Generator

    from monograph.bytecode import InterpreterFrame

__all__ = ["is_finalized", "runs_code_when_left"]


def runs_code_when_left(frame: InterpreterFrame, at: int) -> bool:
    """Whether an exception at an instruction of a generator is handled there."""
    handler = frame.body.handlers[at]
    return handler is not None and frame.body.names[handler[0]] != "STOPITERATION_ERROR"


def is_entered_by_with(frame: InterpreterFrame) -> bool:
    """Whether a generator is that of a context manager, which is run to its end."""
    return frame.back is not None and frame.back.code is _ENTER


@contextlib.contextmanager
def _sample() -> Generator[None]:
    yield


_ENTER: Final = type(_sample()).__enter__.__code__


def is_finalized(value: Any) -> bool:
    """Whether the end of an object runs code."""
    kind = type(value)
    if kind is InterpretedGenerator:
        frame = value.frame
        return frame is not None and frame.ip > 0 and runs_code_when_left(frame, frame.ip - 1)
    if kind is GeneratorType:
        return value.gi_frame is not None and bool(value.gi_code.co_exceptiontable)
    return bool(kind.__flags__ & (1 << 9)) and lookup(kind, "__del__") is not MISSING
