"""Instructions that make text, for f-strings."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.string_conversion import (
    as_ascii,
    as_repr,
    as_text,
    formatted,
    text_of,
)

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame

_CONVERSIONS = {"s": as_text, "r": as_repr, "a": as_ascii}


@opcode
def FORMAT_VALUE(frame: InterpreterFrame, argument: tuple[str, bool]) -> None:
    """Replace a value, and perhaps its format, by text."""
    conversion, has_spec = argument
    spec = frame.stack.pop() if has_spec else ""
    value = frame.stack.pop()
    if conversion:
        value = _CONVERSIONS[conversion](frame.interpreter, value)
    frame.stack.append(formatted(frame.interpreter, value, spec))


@opcode
def CONVERT_VALUE(frame: InterpreterFrame, conversion: str) -> None:
    """Replace a value by its text of one of three kinds."""
    frame.stack[-1] = _CONVERSIONS[conversion](frame.interpreter, frame.stack[-1])


@opcode
def FORMAT_SIMPLE(frame: InterpreterFrame, _: None) -> None:
    """Replace a value by its text."""
    frame.stack[-1] = formatted(frame.interpreter, frame.stack[-1], "")


@opcode
def FORMAT_WITH_SPEC(frame: InterpreterFrame, _: None) -> None:
    """Replace a value and its format by text."""
    spec = frame.stack.pop()
    frame.stack[-1] = formatted(frame.interpreter, frame.stack[-1], spec)


@opcode
def BUILD_STRING(frame: InterpreterFrame, n: int) -> None:
    """Replace n strings by one."""
    stack = frame.stack
    parts: list[Any] = stack[len(stack) - n :]
    del stack[len(stack) - n :]
    try:
        stack.append("".join(parts))
    except TypeError:  # one is what hooks have in the place of a text
        stack.append(text_of(frame.interpreter, str.join, ["", parts]))


@opcode
def BUILD_INTERPOLATION(frame: InterpreterFrame, argument: tuple[str, bool]) -> None:
    """Make a part of a template string of a value, its source text, and perhaps its format."""
    conversion, has_spec = argument
    stack = frame.stack
    spec = stack.pop() if has_spec else ""
    source, value = stack.pop(), stack.pop()
    stack.append(_templates().Interpolation(value, source, conversion or None, spec))


@opcode
def BUILD_TEMPLATE(frame: InterpreterFrame, _: None) -> None:
    """Make a template string of its texts and what stands between them."""
    parts, texts = frame.stack.pop(), frame.stack.pop()
    between = [part for pair in zip(texts, parts, strict=False) for part in pair]
    frame.stack.append(_templates().Template(*between, texts[-1]))


def _templates() -> Any:
    """What template strings are made of, from Python 3.14 on."""
    return importlib.import_module("string.templatelib")
