"""What the message of a check says, without calling it: eager calls it only when the check fails.

Its instructions are read, as far as they do nothing but look: constants, variables, attributes of
tensors and of plain objects, items, arithmetic, f-strings. A number that only data tells stands in
the text under the name of where it comes from; the program adds its value when the check fails.
"""

from __future__ import annotations

import builtins
import inspect
import operator
from types import CellType, FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import SymbolNode
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.decoding import decode
from monograph.integers import Expr, Real, Relation, relation_text, text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.bytecode.instructions import Instruction

_OF_TENSORS: Final = frozenset({"device", "dtype", "ndim", "shape"})
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = MappingProxyType(
    {
        "+": operator.add,
        "-": operator.sub,
        "*": operator.mul,
        "//": operator.floordiv,
        "%": operator.mod,
    }
)
_CONVERSIONS: Final[Mapping[str, Callable[[Any], str]]] = MappingProxyType(
    {"": str, "s": str, "r": repr, "a": ascii}
)
_PLAIN = bool | int | float | str | None | torch.dtype | torch.device
_SYMBOLIC = torch.SymInt | torch.SymFloat | torch.SymBool


class _UnreadableError(Exception):
    """The message does something else."""


def text_of_message(message: Any) -> str:
    """What `lambda: f"{n} are too many"` says; "" where that cannot be told by looking."""
    if not isinstance(message, FunctionType) or message.__code__.co_argcount:
        return ""
    try:
        return _Reader(message).read()
    except _UnreadableError:
        return ""


class _Reader:
    """A stack for the few instructions that messages are made of."""

    def __init__(self, function: FunctionType) -> None:
        self._instructions = decode(function.__code__)
        free = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        self._slots = [free.get(name) for name in self._instructions.slots]
        self._globals = function.__globals__
        self._stack: list[Any] = []

    def read(self) -> str:
        """Run to the end. Raises _UnreadableError."""
        for instruction in self._instructions.body:
            if instruction.name == "RETURN_VALUE":
                result = self._stack.pop()
                return result if isinstance(result, str) else ""
            handle = _HANDLERS.get(instruction.name)
            if handle is None:
                raise _UnreadableError
            handle(self, instruction)
        raise _UnreadableError

    def constant(self, instruction: Instruction) -> None:
        """`LOAD_CONST`."""
        self._stack.append(instruction.argument)

    def nothing(self, _: Instruction) -> None:
        """What makes the closure ready, which it is."""

    def cell(self, instruction: Instruction) -> None:
        """`LOAD_DEREF`."""
        cell = self._slots[instruction.argument]
        if not isinstance(cell, CellType):
            raise _UnreadableError
        try:
            self._stack.append(cell.cell_contents)
        except ValueError as error:
            raise _UnreadableError from error

    def variable(self, instruction: Instruction) -> None:
        """`LOAD_GLOBAL`."""
        name = instruction.argument
        if name not in self._globals and not hasattr(builtins, name):
            raise _UnreadableError
        self._stack.append(self._globals.get(name, getattr(builtins, name, None)))

    def attribute(self, instruction: Instruction) -> None:
        """`LOAD_ATTR`, where no code of the user's answers."""
        owner, name = self._stack.pop(), instruction.argument
        if isinstance(owner, torch.Tensor):
            if name not in _OF_TENSORS:
                raise _UnreadableError
            self._stack.append(getattr(owner, name))
            return
        found = inspect.getattr_static(owner, name, self)
        if found is self or hasattr(found, "__get__"):
            raise _UnreadableError
        self._stack.append(found)

    def item(self, _: Instruction) -> None:
        """`owner[key]`."""
        key, owner = self._stack.pop(), self._stack.pop()
        if type(owner) not in {dict, list, tuple, torch.Size} or not isinstance(key, int | str):
            raise _UnreadableError
        try:
            self._stack.append(owner[key])
        except LookupError as error:
            raise _UnreadableError from error

    def arithmetic(self, instruction: Instruction) -> None:
        """Of numbers."""
        right, left = self._stack.pop(), self._stack.pop()
        function = _OPERATORS.get(instruction.argument)
        numbers = int | float | torch.SymInt | torch.SymFloat
        if function is None or not (isinstance(left, numbers) and isinstance(right, numbers)):
            raise _UnreadableError
        try:
            self._stack.append(function(left, right))
        except ArithmeticError as error:
            raise _UnreadableError from error

    def formatted(self, instruction: Instruction) -> None:
        """One field of an f-string."""
        conversion, has_spec = instruction.argument or ("", False)
        spec = self._stack.pop() if has_spec else ""
        self._stack.append(_shown(self._stack.pop(), conversion, spec))

    def specified(self, _: Instruction) -> None:
        """One field of an f-string, with a format."""
        spec = self._stack.pop()
        self._stack.append(_shown(self._stack.pop(), "", spec))

    def converted(self, instruction: Instruction) -> None:
        """`!r` and its like."""
        self._stack.append(_shown(self._stack.pop(), instruction.argument, ""))

    def joined(self, instruction: Instruction) -> None:
        """An f-string's parts."""
        count = instruction.argument
        parts = self._stack[len(self._stack) - count :]
        del self._stack[len(self._stack) - count :]
        self._stack.append("".join(parts))


_HANDLERS: Final[Mapping[str, Callable[[_Reader, Instruction], None]]] = MappingProxyType(
    {
        "BINARY_OP": _Reader.arithmetic,
        "BINARY_SUBSCR": _Reader.item,
        "BUILD_STRING": _Reader.joined,
        "CONVERT_VALUE": _Reader.converted,
        "COPY_FREE_VARS": _Reader.nothing,
        "FORMAT_SIMPLE": _Reader.formatted,
        "FORMAT_VALUE": _Reader.formatted,
        "FORMAT_WITH_SPEC": _Reader.specified,
        "LOAD_ATTR": _Reader.attribute,
        "LOAD_CONST": _Reader.constant,
        "LOAD_DEREF": _Reader.cell,
        "LOAD_GLOBAL": _Reader.variable,
    }
)


def _shown(value: Any, conversion: str, spec: str) -> str:
    """A value in a text; numbers that are not known yet, and tensors, by what they are."""
    if isinstance(value, _SYMBOLIC):
        return _name(value)
    if isinstance(value, torch.Size | list | tuple):
        shown = [_shown(each, "", "") for each in value]
        return f"{type(value).__name__}({', '.join(shown)})" if shown else "()"
    if isinstance(value, AbstractTensor):
        t = value.tensor_type
        sizes = ", ".join([_shown(size, "", "") for size in value.shape])
        return f"tensor({str(t.dtype).removeprefix('torch.')}[{sizes}])"
    if not isinstance(value, _PLAIN):
        raise _UnreadableError
    try:
        return format(_CONVERSIONS[conversion](value) if conversion else value, spec)
    except (TypeError, ValueError) as error:
        raise _UnreadableError from error


def _name(number: Any) -> str:
    node = number.node
    if not isinstance(node, SymbolNode):
        return str(number)
    value, facts = node.settled(), node.facts
    names = {s: facts.source_of(s) or s.name for s in facts.symbols}
    if isinstance(value, Relation):
        return relation_text(value, names)
    return text(value, names) if isinstance(value, Expr | Real) else str(value)


__all__ = ["text_of_message"]
