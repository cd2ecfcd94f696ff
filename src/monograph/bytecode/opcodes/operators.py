"""Instructions that compute: operators, comparisons, identity, membership."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.bytecode.evaluation.special_methods import ATOMIC
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.membership import contains
from monograph.bytecode.semantics.operators import (
    BINARY,
    COMPARISONS,
    binary,
    compare,
    opposite,
    truth,
    unary,
)

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def BINARY_OP(frame: InterpreterFrame, symbol: str) -> None:
    """Replace two operands by the result."""
    stack = frame.stack
    right = stack.pop()
    left = stack[-1]
    row = BINARY[symbol]
    if type(left) in ATOMIC and type(right) in ATOMIC:
        stack[-1] = row.function(left, right)
    else:
        stack[-1] = binary(frame.interpreter, row, left, right)


@opcode
def COMPARE_OP(frame: InterpreterFrame, symbol: str) -> None:
    """Replace two operands by the result of a comparison."""
    stack = frame.stack
    right = stack.pop()
    left = stack[-1]
    if type(left) in ATOMIC and type(right) in ATOMIC:
        stack[-1] = COMPARISONS[symbol][0](left, right)
    else:
        stack[-1] = compare(frame.interpreter, symbol, left, right)


@opcode
def IS_OP(frame: InterpreterFrame, negated: bool) -> None:  # noqa: FBT001  (the argument of an instruction)
    """Replace two values by whether they are the same object."""
    stack = frame.stack
    right = stack.pop()
    told = frame.interpreter.compared
    if told is not None and right is not None and stack[-1] is not None:
        answer = told(frame, stack[-1], right)
        if answer is not NotImplemented:
            stack[-1] = opposite(frame.interpreter, answer) if negated else answer
            return
    stack[-1] = (stack[-1] is right) is not negated


@opcode
def CONTAINS_OP(frame: InterpreterFrame, negated: bool) -> None:  # noqa: FBT001  (as IS_OP)
    """Replace a value and a container by whether it contains the value."""
    stack = frame.stack
    container = stack.pop()
    stack[-1] = contains(frame.interpreter, container, stack[-1]) is not negated


@opcode
def UNARY_NOT(frame: InterpreterFrame, _: None) -> None:
    """Replace a value by whether it is false."""
    stack = frame.stack
    stack[-1] = opposite(frame.interpreter, stack[-1])


@opcode
def TO_BOOL(frame: InterpreterFrame, _: None) -> None:
    """Replace a value by whether it is true."""
    stack = frame.stack
    stack[-1] = truth(frame.interpreter, stack[-1])


@opcode
def UNARY_POSITIVE(frame: InterpreterFrame, _: None) -> None:
    """Replace a value by plus itself."""
    _unary(frame, "__pos__")


@opcode
def UNARY_NEGATIVE(frame: InterpreterFrame, _: None) -> None:
    """Replace a value by minus itself."""
    _unary(frame, "__neg__")


@opcode
def UNARY_INVERT(frame: InterpreterFrame, _: None) -> None:
    """Replace a value by its inversion."""
    _unary(frame, "__invert__")


def _unary(frame: InterpreterFrame, name: str) -> None:
    stack = frame.stack
    stack[-1] = unary(frame.interpreter, name, stack[-1])
