"""Instructions by which frames return, yield and delegate."""

from __future__ import annotations

import inspect
from types import GeneratorType
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.frame import RETURN, YIELD, Mark
from monograph.bytecode.evaluation.generators import InterpretedGenerator
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.iteration import get_iterator
from monograph.diagnostics import frame_filter, problem

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def RETURN_VALUE(frame: InterpreterFrame, _: None) -> Mark:
    """Leave the frame."""
    frame.value = frame.stack.pop()
    return RETURN


@opcode
def YIELD_VALUE(frame: InterpreterFrame, _: int | None) -> Mark:
    """Stand still until somebody goes on."""
    frame.value = frame.stack.pop()
    return YIELD


@opcode
def GET_YIELD_FROM_ITER(frame: InterpreterFrame, _: None) -> None:
    """Replace an iterable by its iterator; a generator is its own."""
    value = frame.stack[-1]
    if type(value) in (InterpretedGenerator, GeneratorType):
        return
    if inspect.iscoroutine(value):
        raise TypeError("cannot 'yield from' a coroutine object in a non-coroutine generator")
    frame.stack[-1] = get_iterator(frame.interpreter, value)


@opcode
def SEND(frame: InterpreterFrame, target: int) -> None:
    """Send a value into an iterator; push what it yields, or its result and go elsewhere."""
    stack = frame.stack
    value = stack.pop()
    iterator = stack[-1]
    interpreter = frame.interpreter
    try:
        if value is None and type(iterator) is not InterpretedGenerator:
            found = _next(frame, iterator)
        elif type(iterator) is InterpretedGenerator:
            found = iterator.send(value)
        else:
            found = call(interpreter, iterator.send, [value], {})
    except StopIteration as stop:
        stack[-1] = stop.value
        frame.ip = target
    else:
        stack.append(found)


@opcode
def END_SEND(frame: InterpreterFrame, _: None) -> None:
    """Forget the iterator below a result."""
    del frame.stack[-2]


@opcode
def CLEANUP_THROW(frame: InterpreterFrame, _: None) -> None:
    """Take the value of a StopIteration; raise anything else."""
    error = frame.stack[-1]
    if not isinstance(error, StopIteration):
        raise error
    frame.stack[-3:] = [None, error.value]


@opcode
def ASYNC(frame: InterpreterFrame, name: str) -> None:
    """Refuse what only coroutines do."""
    where = (frame_filter().frame(frame.code, frame.lasti),)
    raise problem("asynchronous-code", at=where, name=f"{frame.code.co_qualname} ({name})")


def _next(frame: InterpreterFrame, iterator: Any) -> Any:
    """Return the next value. Raises: StopIteration with the iterator's result."""
    interpreter = frame.interpreter
    return call(interpreter, type(iterator).__next__, [iterator], {})
