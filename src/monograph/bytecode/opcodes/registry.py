"""One handler per canonical instruction: a small function, named as the instruction.

It gets the frame and the resolved argument, changes the frame's stack, and returns None to go on,
or RETURN, YIELD or PASS_ON with what it is in `frame.value`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.instructions import CANONICAL

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode.evaluation.frame import InterpreterFrame

__all__ = ["HANDLERS", "opcode"]

HANDLERS: dict[str, Callable[[InterpreterFrame, Any], Any]] = {}
"""The handler of each canonical instruction."""


def opcode(
    function: Callable[[InterpreterFrame, Any], Any],
) -> Callable[[InterpreterFrame, Any], Any]:
    """Enter the function below as the handler of the instruction it is named after.

    Raises: ValueError where there is no such instruction, or a handler already.
    """
    name = function.__name__
    if name not in CANONICAL:
        raise ValueError(f"{name} is no canonical instruction")
    if name in HANDLERS:
        raise ValueError(f"{name} has two handlers")
    HANDLERS[name] = function
    return function
