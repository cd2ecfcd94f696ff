"""Symbolic sizes while a segment is recorded: integers that know the node that gives them.

They live on the stacks and in the variables of frames alone, those that closures share too, and in
tuples and slices there. Where
an instruction that is not about sizes takes one, it is settled: it is a plain number from then on,
and what it is is a guard, or is expected of the graph.
"""

from __future__ import annotations

import math
import operator
from types import CellType
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx import Node

    from monograph.bytecode import InterpreterFrame

__all__ = [
    "ARITHMETIC",
    "AWARE",
    "HOLDS_SIZES",
    "ORDER",
    "SYMBOLIC",
    "SizeFloat",
    "SizeInt",
    "is_defined",
    "number_of",
    "plain",
    "read_of",
    "settle_frames",
    "settle_holders",
    "symbolic",
]


class SizeInt(int):
    """A size: its value in this call, its node, and the expression that guards read it by."""

    node: Node
    read: str
    plain: int
    is_data: bool


class SizeFloat(float):
    """The same of a number with a fraction: one that is given, or computed of sizes."""

    node: Node
    read: str
    plain: float
    is_data: bool


SYMBOLIC: Final = (SizeInt, SizeFloat)


def symbolic(value: float, node: Node, read: str, *, is_data: bool = False) -> SizeInt | SizeFloat:
    """A number of the graph; `read` is empty where it is not known before the graph ran.

    With `is_data`, it may be another one in each call, whatever the metadata of the inputs.
    """
    made = SizeInt(value) if type(value) is int else SizeFloat(value)
    made.node, made.read, made.plain = node, read, value  # type: ignore[assignment] - of its kind
    made.is_data = is_data
    return made


def number_of(value: Any) -> Any:
    """The plain number that a symbolic one is in this call: the very object, where it is given."""
    return value.plain


def read_of(value: Any) -> str:
    """The expression of a number in guards; empty where none is known before the graph ran."""
    if type(value) in SYMBOLIC:
        return value.read
    return repr(value) if type(value) is int or math.isfinite(value) else ""


ARITHMETIC: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": operator.floordiv,
    "%": operator.mod,
    "/": operator.truediv,
}
ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


def is_defined(symbol: str, left: Any, right: Any) -> bool:
    """Whether an operator gives a number: of integers too large for a fraction, it raises."""
    is_large = any(abs(each) > 1 << 500 for each in (left, right) if isinstance(each, int))
    return (symbol in "+-*" or right != 0) and not is_large


AWARE: Final = frozenset(
    {
        *("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD"),
        *("LOAD_DEREF", "BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "UNPACK_SEQUENCE", "CALL"),
        *("RETURN_VALUE", "LOAD_CLOSURE", "STORE_DEREF", "UNARY_NEGATIVE"),
    }
)
"""Instructions that move sizes, or say themselves what becomes of those that they take."""
HOLDS_SIZES: Final = frozenset({"BUILD_LIST", "YIELD_VALUE", "RAISE_VARARGS", "LIST_TO_TUPLE"})
"""Instructions that look into nothing, but hand values to where they are not found again."""


def plain(value: Any, settle: Callable[[Any], Any] = number_of) -> Any:
    """A value without sizes."""
    kind = type(value)
    if kind in SYMBOLIC:
        return settle(value)
    if kind is tuple and any(type(each) in (*SYMBOLIC, tuple, slice) for each in value):
        return tuple([plain(each, settle) for each in value])
    if kind is slice:
        return slice(*[plain(each, settle) for each in (value.start, value.stop, value.step)])
    return value


def settle_frames(frame: InterpreterFrame | None, settle: Callable[[Any], Any] = number_of) -> None:
    """Leave no sizes in a frame and those that called it."""
    while frame is not None:
        for values in (frame.slots, frame.stack):
            values[:] = [plain(value, settle) for value in values]
        frame = frame.back


def settle_holders(holders: dict[int, Any]) -> None:
    """Leave no sizes in cells, and in frames of generators."""
    for held in holders.values():
        if type(held) is CellType:
            held.cell_contents = plain(held.cell_contents)
        else:
            for values in (held.slots, held.stack):
                values[:] = [plain(value) for value in values]
    holders.clear()
