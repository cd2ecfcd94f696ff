"""Instructions that raise, handle and pass on exceptions, and those of `with`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.frame import MISSING, PASS_ON, Mark
from monograph.bytecode.evaluation.special_methods import lookup
from monograph.bytecode.evaluation.tracebacks import chain, handled
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.attributes import bound_special

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def PUSH_EXC_INFO(frame: InterpreterFrame, _: None) -> None:
    """Handle the exception on top from here on; the one handled before goes below it."""
    handling = frame.interpreter.handling
    stack = frame.stack
    error = stack[-1]
    stack[-1] = handling.error
    stack.append(error)
    handling.error = error


@opcode
def POP_EXCEPT(frame: InterpreterFrame, _: None) -> Mark | None:
    """Handle from here on what was handled before; what nobody may swallow goes on."""
    interpreter = frame.interpreter
    over = interpreter.handling.error
    interpreter.handling.error = frame.stack.pop()
    if isinstance(over, interpreter.uncatchable):
        return _pass_on(frame, over)
    return None


@opcode
def CHECK_EXC_MATCH(frame: InterpreterFrame, _: None) -> None:
    """Push whether `except classes` takes the exception."""
    stack = frame.stack
    classes = stack[-1]
    error = stack[-2]
    for cls in classes if isinstance(classes, tuple) else (classes,):
        if not (isinstance(cls, type) and issubclass(cls, BaseException)):
            words = "catching classes that do not inherit from BaseException is not allowed"
            raise TypeError(words)
    if isinstance(error, frame.interpreter.uncatchable):
        stack[-1] = False
    else:
        # CPython compares the class here, and asks no `__instancecheck__`.
        stack[-1] = _is_a(type(error), classes)


def _is_a(kind: type, classes: Any) -> bool:
    if isinstance(classes, tuple):
        return any(_is_a(kind, cls) for cls in classes)
    return classes in kind.__mro__


@opcode
def CHECK_EG_MATCH(frame: InterpreterFrame, _: None) -> None:
    """Split an exception into what `except* classes` leaves and what it takes."""
    stack = frame.stack
    classes = stack.pop()
    error = stack.pop()
    for cls in classes if isinstance(classes, tuple) else (classes,):
        if not (isinstance(cls, type) and issubclass(cls, BaseException)):
            words = "catching classes that do not inherit from BaseException is not allowed"
            raise TypeError(words)
        if issubclass(cls, BaseExceptionGroup):
            words = "catching ExceptionGroup with except* is not allowed. Use except instead."
            raise TypeError(words)
    rest, match = _split(error, classes, frame.interpreter.uncatchable)
    stack += [rest, match]
    if match is not None:
        frame.interpreter.handling.error = match


def _split(error: Any, classes: Any, uncatchable: tuple[type, ...]) -> tuple[Any, Any]:
    """Return what is left and what matched; either may be None."""
    if error is None or isinstance(error, uncatchable):
        return error, None
    if isinstance(error, classes):
        if isinstance(error, BaseExceptionGroup):
            return None, error
        group = ExceptionGroup if isinstance(error, Exception) else BaseExceptionGroup
        return None, group("", [error])  # pyright: ignore[reportArgumentType]  (as its class is)
    if not isinstance(error, BaseExceptionGroup):
        return error, None
    found: Any = error.split(classes)
    if not isinstance(found, tuple):
        raise TypeError(
            f"{type(error).__name__}.split must return a tuple, not {type(found).__name__}"
        )
    if len(found) < 2:
        size = f"2-tuple, got tuple of size {len(found)}"
        raise TypeError(f"{type(error).__name__}.split must return a {size}")
    return found[1], found[0]


@opcode
def PREP_RERAISE_STAR(frame: InterpreterFrame, _: None) -> None:
    """Join what the clauses of `except*` raised and left; None if nothing."""
    stack = frame.stack
    errors = stack.pop()
    stack[-1] = _joined(stack[-1], [error for error in errors if error is not None])


def _joined(original: Any, errors: list[BaseException]) -> BaseException | None:
    if not errors:
        return None
    if not isinstance(original, BaseExceptionGroup):
        return errors[0]
    leaves = _leaves(original)
    raised: list[BaseException] = []
    reraised: list[BaseException] = []
    for error in errors:
        is_part = error.__traceback__ is original.__traceback__ or _leaves(error) <= leaves
        (reraised if is_part else raised).append(error)
    if not raised:
        return original.subgroup(lambda e: any(id(e) in _leaves(part) for part in reraised))
    if reraised:
        kept = original.subgroup(lambda e: any(id(e) in _leaves(part) for part in reraised))
        if kept is not None:
            raised.append(kept)
    if len(raised) == 1:
        return raised[0]
    return BaseExceptionGroup("", raised)


def _leaves(error: BaseException) -> set[int]:
    if isinstance(error, BaseExceptionGroup):
        return {leaf for part in error.exceptions for leaf in _leaves(part)}
    return {id(error)}


@opcode
def RERAISE(frame: InterpreterFrame, _: int) -> Mark:
    """Go on with an exception as it is."""
    return _pass_on(frame, frame.stack.pop())


@opcode
def RAISE_VARARGS(frame: InterpreterFrame, n: int) -> Mark | None:
    """Raise the exception that is handled, or a new one, perhaps with a cause."""
    stack = frame.stack
    interpreter = frame.interpreter
    if n == 0:
        error = handled(interpreter)
        if error is None:
            raise RuntimeError("No active exception to reraise")
        return _pass_on(frame, error)
    cause = stack.pop() if n == 2 else MISSING
    error = _instance(frame, stack.pop(), "exceptions must derive from BaseException")
    if cause is not MISSING:
        if cause is not None:
            cause = _instance(frame, cause, "exception causes must derive from BaseException")
        error.__cause__ = cause
    context = handled(interpreter)
    if context is None:
        raise error
    chain(error, context)
    native_calls.raise_as_is(error)
    return None


def _instance(frame: InterpreterFrame, value: Any, complaint: str) -> BaseException:
    """Return an exception, made of a class if need be."""
    if isinstance(value, type) and issubclass(value, BaseException):
        made = call(frame.interpreter, value, [], {})
        if not isinstance(made, BaseException):
            words = (
                f"calling {value!r} should have returned an instance of BaseException, "
                f"not {type(made)!r}"
            )
            raise TypeError(words)
        return made
    if not isinstance(value, BaseException):
        raise TypeError(complaint)
    return value


@opcode
def STOPITERATION_ERROR(frame: InterpreterFrame, _: None) -> None:
    """Replace a StopIteration that leaves a generator by the RuntimeError it causes."""
    error = frame.stack[-1]
    if isinstance(error, StopIteration):
        failure = RuntimeError("generator raised StopIteration")
        failure.__cause__ = failure.__context__ = error
        frame.stack[-1] = failure


@opcode
def LOAD_ASSERTION_ERROR(frame: InterpreterFrame, _: None) -> None:
    """Push AssertionError, whatever the name means."""
    frame.stack.append(AssertionError)


_TELLS_ALL = sys.version_info >= (3, 14)
_ENTRY = ("__exit__", "__enter__") if _TELLS_ALL else ("__enter__", "__exit__")
"""The methods of a context manager, in the order in which they are looked up."""


def _no_manager(kind: type, missed: str) -> str:
    protocol = "context manager protocol"
    words = f"'{kind.__name__}' object does not support the {protocol}"
    if _TELLS_ALL or missed == "__exit__":
        words += f" (missed {missed} method)"
    if _TELLS_ALL and MISSING not in (lookup(kind, "__aenter__"), lookup(kind, "__aexit__")):
        words += f" but it supports the asynchronous {protocol}. Did you mean to use 'async with'?"
    return words


@opcode
def BEFORE_WITH(frame: InterpreterFrame, _: None) -> None:
    """Enter a context manager: push its bound exit, and what entering returns."""
    stack = frame.stack
    manager = stack[-1]
    kind = type(manager)
    interpreter = frame.interpreter
    for name in _ENTRY:
        if lookup(kind, name) is MISSING:
            raise TypeError(_no_manager(kind, name))
    enter = bound_special(interpreter, manager, "__enter__")
    stack[-1] = bound_special(interpreter, manager, "__exit__")
    stack.append(call(interpreter, enter, [], {}))


@opcode
def WITH_EXCEPT_START(frame: InterpreterFrame, depth: int) -> None:
    """Push what the manager's exit, so deep, says to the exception that is handled."""
    stack = frame.stack
    error = stack[-1]
    answer = call(frame.interpreter, stack[-depth], [type(error), error, error.__traceback__], {})
    stack.append(answer)


def _pass_on(frame: InterpreterFrame, error: Any) -> Mark:
    frame.value = error
    return PASS_ON
