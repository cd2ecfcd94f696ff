"""Generators whose frames are interpreted: the protocol of CPython's own, drivable from C."""

from __future__ import annotations

import itertools
import sys
from types import GeneratorType, TracebackType
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.frame import MISSING, YIELD, Handling, InterpreterFrame
from monograph.bytecode.evaluation.special_methods import ours

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["SERIAL", "InterpretedGenerator", "raise_into"]

SERIAL: Final = itertools.count()
"""Numbers generators in the order in which they are made."""
_DYING: Final = -1
"""Of one that nobody can ask any more: no hook is told that it ends."""


@ours
class InterpretedGenerator:
    """A generator; `isinstance(g, types.GeneratorType)` holds, as its `__class__` says so."""

    __slots__ = (
        "__name__",
        "__qualname__",
        "__weakref__",
        "frame",
        "handling",
        "running",
        "serial",
    )

    def __init__(self, frame: InterpreterFrame) -> None:
        """Wrap a frame that has not started."""
        function = frame.function
        assert function is not None, "only functions make generators"
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.frame: InterpreterFrame | None = frame
        self.running = False
        self.handling = Handling()
        self.serial = next(SERIAL)

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  (read only)
        """What `isinstance` sees."""
        return GeneratorType

    def __repr__(self) -> str:
        return f"<generator object {self.__qualname__} at {id(self):#x}>"

    def __reduce__(self) -> Any:
        raise TypeError("cannot pickle 'generator' object")

    def __iter__(self) -> InterpretedGenerator:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    @property
    def gi_frame(self) -> InterpreterFrame | None:
        """The frame, until it is over."""
        return self.frame

    @property
    def gi_running(self) -> bool:
        """Whether it is being run."""
        return self.running

    @property
    def gi_suspended(self) -> bool:
        """Whether it stands at a yield."""
        return self.frame is not None and not self.running and self.frame.ip > 0

    @property
    def gi_code(self) -> CodeType:
        """The code."""
        return self._code()

    @property
    def gi_yieldfrom(self) -> Any:
        """The iterator it delegates to, or None."""
        frame = self.frame
        if frame is None or self.running or _delegate_target(frame) is None:
            return None
        return frame.stack[-1]

    def send(self, value: Any, /) -> Any:
        """Go on, the yield giving `value`; return the next value."""
        frame = self._ready()
        if frame is None:
            raise StopIteration
        if frame.ip == 0:
            if value is not None:
                raise TypeError("can't send non-None value to a just-started generator")
        else:
            frame.stack.append(value)
        return self._resume(frame)

    def throw(self, kind: Any, value: Any = MISSING, traceback: Any = MISSING, /) -> Any:
        """Go on, the yield raising an exception; return the next value."""
        error = _exception(kind, value, traceback)
        frame = self._ready()
        if frame is None:
            raise error
        target = _delegate_target(frame)
        if target is None:
            return self._raise_inside(frame, error)
        return self._delegate(frame, error, target)

    def close(self) -> Any:
        """End it, by raising GeneratorExit at its yield."""
        frame = self._ready()
        if frame is None or frame.ip == 0:
            self._finish()
            return None
        try:
            self.throw(GeneratorExit())
        except GeneratorExit:
            return None
        except StopIteration as stop:
            return stop.value if sys.version_info >= (3, 13) else None
        raise RuntimeError("generator ignored GeneratorExit")

    def __del__(self) -> None:
        frame = getattr(self, "frame", None)
        if frame is None or frame.ip == 0 or self.running:
            return
        # This may happen between any two steps of the interpreter, also while it raises something.
        interpreter = frame.interpreter
        passing, clean = interpreter.passing, interpreter.clean
        self.serial = _DYING
        try:
            self.close()
        finally:
            interpreter.passing, interpreter.clean = passing, clean

    def _code(self) -> CodeType:
        frame = self.frame
        return _FINISHED if frame is None else frame.code

    def _ready(self) -> InterpreterFrame | None:
        if self.running:
            raise ValueError("generator already executing")
        frame = self.frame
        if frame is None or self.serial == _DYING:
            return frame
        interpreter = frame.interpreter
        if interpreter.written is not None:
            interpreter.written("hidden", self, "", None, interpreter.current)
        return frame

    def _finish(self) -> None:
        frame = self.frame
        self.frame = None
        self.handling.error = None
        if frame is not None:
            frame.clear()

    def _raise_inside(self, frame: InterpreterFrame, error: BaseException) -> Any:
        """Raise at the yield, or where a generator begins."""
        if frame.ip == 0:
            self._finish()
            raise error
        return self._resume(frame, error)

    def _delegate(self, frame: InterpreterFrame, error: BaseException, target: int) -> Any:
        """Throw into what `yield from` delegates to, and go on behind it if that ends."""
        inner = frame.stack[-1]
        self.running = True
        try:
            value = raise_into(frame.interpreter, inner, error)
        except StopIteration as stop:
            frame.stack.pop()
            frame.stack.append(stop.value)
            frame.ip = target
            failure = None
        except BaseException as other:  # noqa: BLE001  (raised at the yield below)
            failure = other
        else:
            return value
        finally:
            self.running = False
        if failure is None:
            return self._resume(frame)
        return self._raise_inside(frame, failure)

    def _resume(self, frame: InterpreterFrame, thrown: BaseException | None = None) -> Any:
        interpreter = frame.interpreter
        handling = self.handling
        handling.previous = interpreter.handling
        interpreter.handling = handling
        self.running = True
        signal = None
        try:
            signal = interpreter.run(frame, thrown)
        except StopIteration as stop:
            error = RuntimeError("generator raised StopIteration")
            error.__cause__ = error.__context__ = stop
            error.__traceback__ = None
        else:
            if signal is YIELD:
                value, frame.value = frame.value, None
                return value
            error = StopIteration(frame.value) if frame.value is not None else StopIteration()
        finally:
            self.running = False
            interpreter.handling = handling.previous
            handling.previous = None
            if signal is not YIELD:
                self._finish()
        try:
            raise error
        finally:
            del error  # its traceback holds this frame


# What `type(generator).__name__` shows; a slot of the class has this name for its objects.
type.__setattr__(InterpretedGenerator, "__name__", "generator")
type.__setattr__(InterpretedGenerator, "__qualname__", "generator")


def raise_into(interpreter: ThreadState, iterator: Any, error: BaseException) -> Any:
    """Throw into an iterator as `yield from` does: close it for GeneratorExit, else its throw."""
    if isinstance(error, GeneratorExit):
        close = getattr(iterator, "close", None)
        if close is not None:
            interpreter.call(close)
        raise error
    throw = getattr(iterator, "throw", None)
    if throw is None:
        raise error
    return interpreter.call(throw, error)


def _delegate_target(frame: InterpreterFrame) -> int | None:
    """Where `yield from` ends, if that is what the frame stands at."""
    if frame.ip == 0:
        return None
    return frame.body.steps[frame.ip - 1][1]


def _exception(kind: Any, value: Any, traceback: Any) -> BaseException:
    """Make the exception that the arguments of `throw` mean."""
    if value is MISSING:
        value = None
    if traceback is MISSING:
        traceback = None
    if traceback is not None and not isinstance(traceback, TracebackType):
        raise TypeError("throw() third argument must be a traceback object")
    if isinstance(kind, type) and issubclass(kind, BaseException):
        if isinstance(value, kind):
            error = value
        elif value is None:
            error = kind()
        else:
            error = kind(*value) if isinstance(value, tuple) else kind(value)
    elif isinstance(kind, BaseException):
        if value is not None:
            raise TypeError("instance exception may not have a separate value")
        error = kind
    else:
        raise TypeError(
            "exceptions must be classes or instances deriving from BaseException, "
            f"not {type(kind).__name__}"
        )
    return error if traceback is None else error.with_traceback(traceback)


def _finished() -> None:
    """Stand for the code of a generator that is over."""


_FINISHED = _finished.__code__
