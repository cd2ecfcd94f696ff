"""Instructions that only move values on the stack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.frame import NULL
from monograph.bytecode.opcodes.registry import opcode

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def POP_TOP(frame: InterpreterFrame, _: None) -> None:
    """Forget the top."""
    frame.stack.pop()


@opcode
def PUSH_NULL(frame: InterpreterFrame, _: None) -> None:
    """Mark a call without self."""
    frame.stack.append(NULL)


@opcode
def COPY(frame: InterpreterFrame, n: int) -> None:
    """Push the n-th value from the top."""
    frame.stack.append(frame.stack[-n])


@opcode
def SWAP(frame: InterpreterFrame, n: int) -> None:
    """Exchange the top with the n-th value from the top."""
    stack = frame.stack
    stack[-1], stack[-n] = stack[-n], stack[-1]


@opcode
def ROTATE(frame: InterpreterFrame, n: int) -> None:
    """Lift the top to be the n-th value from the top."""
    stack = frame.stack
    stack.insert(len(stack) - n, stack.pop())


@opcode
def LOAD_CONST(frame: InterpreterFrame, value: Any) -> None:
    """Push a constant."""
    frame.stack.append(value)
