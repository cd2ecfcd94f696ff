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

import torch

from monograph.host.dispatch import DISABLED_TORCH_FUNCTION

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx import Node

    from monograph.bytecode import InterpreterFrame

__all__ = [
    "ARITHMETIC",
    "AWARE",
    "HOLDS_SIZES",
    "LOOKS_AT",
    "ORDER",
    "SYMBOLIC",
    "ChosenTensor",
    "SizeFloat",
    "SizeInt",
    "holds_sizes",
    "is_defined",
    "is_marked",
    "is_tuple_display",
    "mark_dynamic",
    "number_of",
    "plain",
    "read_of",
    "settle_frames",
    "settle_holders",
    "settled",
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


class ChosenTensor(torch.Tensor):
    """A tensor that was there before a branch on data, as what the branch leaves.

    Another call may leave another one, so it is none of the tensors that it stands for: it lives
    where sizes do, and where an instruction may look at which tensor it is, the branch is settled.
    """

    plain: torch.Tensor
    node: Node
    answer: bool
    __torch_function__ = DISABLED_TORCH_FUNCTION

    @staticmethod
    def of(tensor: torch.Tensor, condition: Node, *, answer: bool) -> ChosenTensor:
        """What stands for a tensor, which a condition chooses by this answer."""
        with torch.enable_grad():
            made = tensor.as_subclass(ChosenTensor)
        made.plain, made.node, made.answer = tensor, condition, answer
        return made


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


_MARKED: Final = "_monograph_dynamic"


def mark_dynamic(tensor: torch.Tensor, dims: int | Sequence[int]) -> None:
    """Declare that dimensions of a tensor have other sizes in other calls of what is optimized.

    What is first compiled with the tensor among its arguments, or in a list, tuple or dict of
    them, has sizes as values of its graph, and is not compiled again for another size; without a
    mark that is so from the second compilation on. `optimize(dynamic=False)` heeds no marks.

    >>> import monograph, torch
    >>> x = torch.ones(3, 2)
    >>> monograph.mark_dynamic(x, 0)
    >>> optimizer = monograph.optimize()
    >>> flat = optimizer(lambda x: x.view(x.shape[0] * 2))
    >>> flat(x).shape, flat(x[:1]).shape, len(optimizer.entries)
    (torch.Size([6]), torch.Size([2]), 1)

    `dims` are indices of dimensions, counted from the end if negative.
    Raises: IndexError, if the tensor has no such dimension.
    """
    given = [dims] if isinstance(dims, int) else list(dims)
    for dim in given:
        if not -tensor.dim() <= dim < tensor.dim():
            raise IndexError(f"dimension {dim} of a tensor with {tensor.dim()} dimensions")
    marked = {dim % tensor.dim() for dim in given}
    setattr(tensor, _MARKED, getattr(tensor, _MARKED, frozenset()) | marked)


def is_marked(value: Any) -> bool:
    """Whether a tensor, or one in containers, has dimensions that are marked."""
    if isinstance(value, torch.Tensor):
        return _MARKED in value.__dict__
    if type(value) is dict:
        return any(map(is_marked, value.values()))
    return type(value) in (list, tuple) and any(map(is_marked, value))


def is_defined(symbol: str, left: Any, right: Any) -> bool:
    """Whether an operator gives a number: of integers too large for a fraction, it raises."""
    is_large = any(abs(each) > 1 << 500 for each in (left, right) if isinstance(each, int))
    return (symbol in "+-*" or right != 0) and not is_large


AWARE: Final = frozenset(
    {
        *("LOAD_FAST", "STORE_FAST", "DELETE_FAST", "LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD"),
        *("LOAD_DEREF", "BINARY_OP", "COMPARE_OP", "BINARY_SUBSCR", "UNPACK_SEQUENCE", "CALL"),
        *("RETURN_VALUE", "LOAD_CLOSURE", "STORE_DEREF", "UNARY_NEGATIVE", "CALL_KW"),
        *("LIST_EXTEND", "LIST_APPEND", "CALL_FUNCTION_EX", "POP_JUMP_IF_FALSE"),
        *("POP_JUMP_IF_TRUE", "JUMP_IF_FALSE_OR_POP", "JUMP_IF_TRUE_OR_POP", "TO_BOOL"),
        *("UNARY_NOT", "LOAD_FAST_AND_CLEAR"),
    }
)
"""Instructions that move sizes, or say themselves what becomes of those that they take."""
LOOKS_AT: Final = {
    **dict.fromkeys(("GET_ITER", "FOR_ITER"), 1),
    **dict.fromkeys(("BEFORE_WITH", "IS_OP", "CONTAINS_OP", "STORE_ATTR", "IMPORT_NAME"), 2),
    **dict.fromkeys(("MAKE_CELL", "STORE_GLOBAL", "YIELD_VALUE", "IMPORT_FROM"), 1),
    "STORE_SUBSCR": 3,
}
"""How many entries of the stack other instructions look at; the others look at any."""
HOLDS_SIZES: Final = frozenset({"BUILD_LIST", "YIELD_VALUE", "RAISE_VARARGS"})
"""Instructions that look into nothing, but hand values to where they are not found again."""
_DISPLAY: Final = frozenset(
    {
        *("LOAD_FAST", "LOAD_CONST", "LOAD_ATTR", "LOAD_GLOBAL", "LOAD_DEREF", "LIST_EXTEND"),
        *("LIST_APPEND", "BINARY_OP", "BINARY_SUBSCR", "UNARY_NEGATIVE", "BUILD_SLICE"),
    }
)


def is_tuple_display(frame: InterpreterFrame) -> bool:
    """Whether a list that an instruction makes becomes a tuple, as in `(*shape, n)`."""
    for name in frame.body.names[frame.ip :]:
        if name not in _DISPLAY:
            return name == "LIST_TO_TUPLE"
    return False


def plain(value: Any, settle: Callable[[Any], Any] = number_of) -> Any:
    """A value without sizes."""
    kind = type(value)
    if kind in SYMBOLIC or kind is ChosenTensor:
        return settle(value)
    if kind in _SEQUENCES and any(type(each) in _HOLDING for each in value):
        return kind([plain(each, settle) for each in value])
    if kind is slice:
        return slice(*[plain(each, settle) for each in (value.start, value.stop, value.step)])
    return value


_SEQUENCES: Final = (tuple, torch.Size)
_HOLDING: Final = (*SYMBOLIC, ChosenTensor, *_SEQUENCES, slice)


def settled(value: Any, settle: Callable[[Any], Any] = number_of) -> Any:
    """A value without sizes; a list that is about to become a tuple is the very list."""
    if type(value) is list and any(type(each) in _HOLDING for each in value):
        value[:] = [plain(each, settle) for each in value]
    return plain(value, settle)


def holds_sizes(value: Any) -> bool:
    """Whether a tuple or shape holds sizes."""
    return type(value) in _SEQUENCES and any(type(each) in SYMBOLIC for each in value)


def settle_frames(frame: InterpreterFrame | None, settle: Callable[[Any], Any] = number_of) -> None:
    """Leave no sizes in a frame and those that called it."""
    while frame is not None:
        for values in (frame.slots, frame.stack):
            values[:] = [settled(value, settle) for value in values]
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
