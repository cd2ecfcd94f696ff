"""Instructions that jump, and the iteration of `for`.

While a condition is asked, its value is on top of the stack: a copy of the frame in which the
answer stands there instead, begun with the same instruction, goes the way of that answer. Whoever
answers may instead go both ways and put the frame where they join (see `bytecode.branches`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.frame import MOVED, RETURN
from monograph.bytecode.evaluation.special_methods import OURS
from monograph.bytecode.evaluation.symbolic_iterators import SymbolicIterator
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.iteration import END, advance, get_iterator
from monograph.bytecode.semantics.operators import truth

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame, Mark

_NATIVE_ITERATORS = frozenset(
    type(iter(made))
    for made in ([], (), {}, {}.keys(), {}.values(), {}.items(), set[Any](), "", range(0), b"")
) | {enumerate, zip, type(reversed([]))}

_next = next


def _decide(frame: InterpreterFrame, value: Any) -> bool | Mark:
    """Tell which way a conditional jump goes: True, False, or MOVED or RETURN by the hooks."""
    interpreter = frame.interpreter
    fork = interpreter.fork
    if interpreter.strange and id(value) in interpreter.strange:
        value = interpreter.strange_truth(value)
    if fork is not None and type(value) not in _KNOWN:
        answer = fork(frame, value)
        if answer is not NotImplemented:
            return answer
    return truth(interpreter, value)


_KNOWN: Final = frozenset({bool, int, float, str, type(None), list, tuple, dict, set})


def _signal_of(answer: object) -> Mark | None:
    """What a jump that was answered with a mark hands to the loop."""
    return None if answer is MOVED else RETURN


@opcode
def JUMP(frame: InterpreterFrame, target: int) -> None:
    """Go elsewhere."""
    frame.ip = target


@opcode
def POP_JUMP_IF_FALSE(frame: InterpreterFrame, target: int) -> Mark | None:
    """Go elsewhere if a condition does not hold."""
    stack = frame.stack
    value = stack[-1]
    if value is not True:
        answer = value if value is False else _decide(frame, value)
        if answer is False:
            frame.ip = target
        elif answer is not True:
            return _signal_of(answer)
    stack.pop()
    return None


@opcode
def POP_JUMP_IF_TRUE(frame: InterpreterFrame, target: int) -> Mark | None:
    """Go elsewhere if a condition holds."""
    stack = frame.stack
    value = stack[-1]
    if value is not False:
        answer = value if value is True else _decide(frame, value)
        if answer is True:
            frame.ip = target
        elif answer is not False:
            return _signal_of(answer)
    stack.pop()
    return None


@opcode
def POP_JUMP_IF_NONE(frame: InterpreterFrame, target: int) -> None:
    """Go elsewhere if a value is None."""
    if frame.stack.pop() is None:
        frame.ip = target


@opcode
def POP_JUMP_IF_NOT_NONE(frame: InterpreterFrame, target: int) -> None:
    """Go elsewhere if a value is not None."""
    if frame.stack.pop() is not None:
        frame.ip = target


@opcode
def JUMP_IF_FALSE_OR_POP(frame: InterpreterFrame, target: int) -> Mark | None:
    """Keep a value and go elsewhere if it is false; `and`."""
    answer = _decide(frame, frame.stack[-1])
    if answer is True:
        frame.stack.pop()
    elif answer is False:
        frame.ip = target
    else:
        return _signal_of(answer)
    return None


@opcode
def JUMP_IF_TRUE_OR_POP(frame: InterpreterFrame, target: int) -> Mark | None:
    """Keep a value and go elsewhere if it is true; `or`."""
    answer = _decide(frame, frame.stack[-1])
    if answer is True:
        frame.ip = target
    elif answer is False:
        frame.stack.pop()
    else:
        return _signal_of(answer)
    return None


@opcode
def GET_ITER(frame: InterpreterFrame, _: None) -> None:
    """Replace an iterable by its iterator."""
    frame.stack[-1] = get_iterator(frame.interpreter, frame.stack[-1])


@opcode
def FOR_ITER(frame: InterpreterFrame, target: int) -> Mark | None:
    """Push the next value, or forget the iterator and go elsewhere."""
    stack = frame.stack
    iterator = stack[-1]
    kind = type(iterator)
    if kind is SymbolicIterator and iterator.begun is None and frame.interpreter.repeat is not None:
        answer = frame.interpreter.repeat(frame, iterator)
        if answer is not NotImplemented:
            return _signal_of(answer)
    if kind in _NATIVE_ITERATORS or kind in OURS:
        value = _next(iterator, END)
    else:
        value = advance(frame.interpreter, iterator)
    if value is END:
        stack.pop()
        frame.ip = target
    else:
        stack.append(value)
    return None
