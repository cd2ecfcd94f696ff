"""Instructions of `match` statements: lengths, keys, classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call, call_native
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.attributes import get_attribute
from monograph.bytecode.semantics.membership import contains

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame

_MAPPING, _SEQUENCE = 1 << 6, 1 << 5
_BY_ITSELF = (
    *(bool, bytearray, bytes, dict, float, frozenset),
    *(int, list, set, str, tuple),
)
"""Classes whose single positional pattern matches the object itself."""


@opcode
def GET_LEN(frame: InterpreterFrame, _: None) -> None:
    """Push the length of the top."""
    frame.stack.append(call(frame.interpreter, len, [frame.stack[-1]], {}))


@opcode
def MATCH_MAPPING(frame: InterpreterFrame, _: None) -> None:
    """Push whether the top is a mapping."""
    frame.stack.append(bool(type(frame.stack[-1]).__flags__ & _MAPPING))


@opcode
def MATCH_SEQUENCE(frame: InterpreterFrame, _: None) -> None:
    """Push whether the top is a sequence."""
    frame.stack.append(bool(type(frame.stack[-1]).__flags__ & _SEQUENCE))


@opcode
def MATCH_KEYS(frame: InterpreterFrame, _: None) -> None:
    """Push the values of several keys, or None if one is missing."""
    keys, subject = frame.stack[-1], frame.stack[-2]
    seen: set[Any] = set()
    values: list[Any] = []
    get = None
    for key in keys:
        if contains(frame.interpreter, seen, key):
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        call_native(frame.interpreter, seen.add, [key], {})
        if get is None:
            get = get_attribute(frame.interpreter, subject, "get")
        value = call(frame.interpreter, get, [key, MISSING], {})
        if value is MISSING:
            frame.stack.append(None)
            return
        values.append(value)
    frame.stack.append(tuple(values))


@opcode
def MATCH_CLASS(frame: InterpreterFrame, n: int) -> None:
    """Replace a subject, a class and names by the attributes a class pattern asks for, or None."""
    names, cls, subject = frame.stack.pop(), frame.stack.pop(), frame.stack.pop()
    if not isinstance(cls, type):
        raise TypeError("called match pattern must be a class")
    if not call(frame.interpreter, isinstance, [subject, cls], {}):
        frame.stack.append(None)
        return
    frame.stack.append(_attributes(frame, subject, cls, n, names))


def _attributes(
    frame: InterpreterFrame, subject: Any, cls: type, n: int, names: tuple[str, ...]
) -> tuple[Any, ...] | None:
    values: list[Any] = []
    wanted: list[Any] = []
    if n:
        places, is_itself = _positional(frame, cls)
        if n > (1 if is_itself else len(places)):
            allowed = 1 if is_itself else len(places)
            plural = "" if allowed == 1 else "s"
            words = f"{cls.__name__}() accepts {allowed} positional sub-pattern{plural} ({n} given)"
            raise TypeError(words)
        if is_itself:
            values.append(subject)
        else:
            wanted += places[:n]
    seen: set[str] = set()
    for index, name in enumerate([*wanted, *names]):
        if index < len(wanted) and not isinstance(name, str):
            kind = type(name).__name__
            raise TypeError(f"__match_args__ elements must be strings (got {kind})")
        if name in seen:
            raise TypeError(f"{cls.__name__}() got multiple sub-patterns for attribute {name!r}")
        seen.add(name)
        try:
            values.append(get_attribute(frame.interpreter, subject, name))
        except AttributeError:
            return None
    return tuple(values)


def _positional(frame: InterpreterFrame, cls: type) -> tuple[tuple[Any, ...], bool]:
    """Return what the class says of positional patterns, and whether one means the object."""
    try:
        places = get_attribute(frame.interpreter, cls, "__match_args__")
    except AttributeError:
        return (), issubclass(cls, _BY_ITSELF)
    if type(places) is not tuple:
        kind = type(places).__name__
        raise TypeError(f"{cls.__name__}.__match_args__ must be a tuple (got {kind})")
    return places, False
