"""Instructions that jump, and the iteration of `for`.

While a condition is asked, its value is on top of the stack: a copy of the frame in which the
answer stands there instead, begun with the same instruction, goes the way of that answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.iteration import END, advance, get_iterator
from monograph.bytecode.lookups import OURS
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.operators import truth

if TYPE_CHECKING:
    from monograph.bytecode.frame import Frame

_NATIVE_ITERATORS = frozenset(
    type(iter(made))
    for made in ([], (), {}, {}.keys(), {}.values(), {}.items(), set[Any](), "", range(0), b"")
) | {enumerate, zip, type(reversed([]))}

_next = next


@opcode
def JUMP(frame: Frame, target: int) -> None:
    """Go elsewhere."""
    frame.ip = target


@opcode
def POP_JUMP_IF_FALSE(frame: Frame, target: int) -> None:
    """Go elsewhere if a condition does not hold."""
    stack = frame.stack
    value = stack[-1]
    jumps = value is not True and (value is False or not truth(frame.interpreter, value))
    stack.pop()
    if jumps:
        frame.ip = target


@opcode
def POP_JUMP_IF_TRUE(frame: Frame, target: int) -> None:
    """Go elsewhere if a condition holds."""
    stack = frame.stack
    value = stack[-1]
    jumps = value is not False and (value is True or truth(frame.interpreter, value))
    stack.pop()
    if jumps:
        frame.ip = target


@opcode
def POP_JUMP_IF_NONE(frame: Frame, target: int) -> None:
    """Go elsewhere if a value is None."""
    if frame.stack.pop() is None:
        frame.ip = target


@opcode
def POP_JUMP_IF_NOT_NONE(frame: Frame, target: int) -> None:
    """Go elsewhere if a value is not None."""
    if frame.stack.pop() is not None:
        frame.ip = target


@opcode
def JUMP_IF_FALSE_OR_POP(frame: Frame, target: int) -> None:
    """Keep a value and go elsewhere if it is false; `and`."""
    if truth(frame.interpreter, frame.stack[-1]):
        frame.stack.pop()
    else:
        frame.ip = target


@opcode
def JUMP_IF_TRUE_OR_POP(frame: Frame, target: int) -> None:
    """Keep a value and go elsewhere if it is true; `or`."""
    if truth(frame.interpreter, frame.stack[-1]):
        frame.ip = target
    else:
        frame.stack.pop()


@opcode
def GET_ITER(frame: Frame, _: None) -> None:
    """Replace an iterable by its iterator."""
    frame.stack[-1] = get_iterator(frame.interpreter, frame.stack[-1])


@opcode
def FOR_ITER(frame: Frame, target: int) -> None:
    """Push the next value, or forget the iterator and go elsewhere."""
    stack = frame.stack
    iterator = stack[-1]
    kind = type(iterator)
    if kind in _NATIVE_ITERATORS or kind in OURS:
        value = _next(iterator, END)
    else:
        value = advance(frame.interpreter, iterator)
    if value is END:
        stack.pop()
        frame.ip = target
    else:
        stack.append(value)
