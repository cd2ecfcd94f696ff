"""Symbolic sizes while a segment is recorded: integers that know the node that gives them.

They live on the stacks and in the variables of frames alone, and in tuples and slices there. Where
an instruction that is not about sizes takes one, it is settled: it is a plain number from then on,
and what it is is a guard, or is expected of the graph.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import Node

    from monograph.bytecode import InterpreterFrame

__all__ = ["ARITHMETIC", "AWARE", "HOLDS_SIZES", "ORDER", "SizeInt", "plain", "settle_frames"]


class SizeInt(int):
    """A size: its value in this call, its node, and the expression that guards read it by."""

    node: Node
    read: str

    @staticmethod
    def made(value: int, node: Node, read: str) -> SizeInt:
        """A size; `read` is empty where it is not known before the graph ran."""
        size = SizeInt(value)
        size.node, size.read = node, read
        return size


ARITHMETIC: Final[dict[str, Callable[[int, int], int]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
}
ORDER: Final[dict[str, Callable[[int, int], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
AWARE: Final = frozenset(
    {
        *("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD"),
        *("LOAD_DEREF", "BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "UNPACK_SEQUENCE", "CALL"),
        *("RETURN_VALUE", "LOAD_CLOSURE"),
    }
)
"""Instructions that move sizes, or say themselves what becomes of those that they take."""
HOLDS_SIZES: Final = frozenset(
    {"BUILD_LIST", "YIELD_VALUE", "SET_FUNCTION_ATTRIBUTE", "RAISE_VARARGS", "LIST_TO_TUPLE"}
)
"""Instructions that look into nothing, but hand values to where they are not found again."""


def plain(value: Any, settle: Callable[[SizeInt], int] = int) -> Any:
    """A value without sizes."""
    kind = type(value)
    if kind is SizeInt:
        return settle(value)
    if kind is tuple and any(type(each) in (SizeInt, tuple, slice) for each in value):
        return tuple([plain(each, settle) for each in value])
    if kind is slice:
        return slice(*[plain(each, settle) for each in (value.start, value.stop, value.step)])
    return value


def settle_frames(frame: InterpreterFrame | None, settle: Callable[[SizeInt], int] = int) -> None:
    """Leave no sizes in a frame and those that called it."""
    while frame is not None:
        for values in (frame.slots, frame.stack):
            values[:] = [plain(value, settle) for value in values]
        frame = frame.back
