"""Single steps: the one instruction of a graph break, run on what is there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode import Hooks, Interpreter
from monograph.bytecode.evaluation.frame import Handling
from monograph.jit import callables

if TYPE_CHECKING:
    from types import FunctionType

    from monograph.bytecode import InterpreterFrame

__all__ = ["UnrecordedInterpreter", "run_step"]


class _Native(Hooks):
    """Interprets nothing but the instruction itself."""

    def enters(self, function: FunctionType) -> bool:
        """Whatever is called runs natively."""
        del function
        return False


class _PerThread(threading.local):
    interpreter: Interpreter | None = None


_THREAD: Final = _PerThread()


def run_step(frame: InterpreterFrame, handler: Any, argument: Any) -> Any:
    """Run an instruction whose index the frame is behind already; return its signal.

    Raises: what it raises.
    """
    native = _THREAD.interpreter
    if native is None:
        native = _THREAD.interpreter = Interpreter(_Native())
    before = frame.interpreter
    outer, handling = native.current, native.handling
    frame.interpreter = native
    native.current, native.handling = frame, Handling()
    try:
        return handler(frame, argument)
    finally:
        native.current, native.handling = outer, handling
        frame.interpreter = before


class _Policy(Hooks):
    def enters(self, function: FunctionType) -> bool:
        """What a recording enters."""
        return callables.enters(function)


class UnrecordedInterpreter(Interpreter):
    """Interprets the rest of a call."""

    __slots__ = ()

    def __init__(self) -> None:
        """Enter what a recording enters."""
        super().__init__(_Policy())
