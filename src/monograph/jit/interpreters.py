"""Single steps: the one instruction of a graph break, run on what is there."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode import Hooks, Interpreter
from monograph.bytecode.evaluation.frame import Handling, InterpreterFrame
from monograph.bytecode.linking import link
from monograph.jit import callables

if TYPE_CHECKING:
    from types import CodeType, FunctionType

    from monograph.bytecode.evaluation.generators import InterpretedGenerator

__all__ = ["UnrecordedInterpreter", "fill_generator", "run_step"]


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


def fill_generator(
    generator: InterpretedGenerator,
    code: CodeType,
    ip: int,
    slots: tuple[Any, ...],
    stack: tuple[Any, ...],
    function: FunctionType,
) -> None:
    """Make a generator stand at an instruction; it is interpreted from there on."""
    frame = InterpreterFrame(UnrecordedInterpreter(), code, link(code), [*slots], function)
    frame.stack, frame.ip = [*stack], ip
    generator.__init__(frame)


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
