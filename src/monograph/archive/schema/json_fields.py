"""Validation of JSON: every reader asks for a kind of value, and gets it or refuses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar

from monograph.archive.errors import Refused
from monograph.host.fx_modules import is_name
from monograph.program.signature import USED_BY_CODE

if TYPE_CHECKING:
    from collections.abc import Callable

Kind = TypeVar("Kind")

LARGEST = (1 << 63) - 1
MOST_BYTES = 1 << 30
LONGEST_NAME = 1024

# Names that the code generated for a graph means something by.
TAKEN = USED_BY_CODE | {"operator", "math", "builtins", "getattr", "round"}


def parse_json(data: memoryview) -> Any:
    """Read JSON; its nesting is bounded by the interpreter's own limit.

    Raises: Refused.
    """
    if len(data) > MOST_BYTES:
        raise Refused("it has more than a gibibyte of JSON")
    try:
        source = str(data, "utf-8")
    except UnicodeDecodeError:
        raise Refused("it is not UTF-8") from None
    try:
        return _encodable(source, json.loads(source, parse_constant=_no_constant))
    except ValueError as error:
        raise Refused(f"it is no JSON: {error}") from None
    except RecursionError:
        raise Refused("it is nested too deeply") from None


def _encodable(source: str, value: Any) -> Any:
    """The value, whose texts can be written: no half of a pair of surrogates.

    Raises: ValueError.
    """
    if "\\ud" in source.lower():
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _no_constant(name: str) -> Any:
    raise Refused(f"it has {name}, which is no JSON")


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."


def _reader(kind: type[Kind], what: str) -> Callable[[Any], Kind]:
    """What gives a value of this type back, and refuses any other."""

    def read(value: Any) -> Kind:
        if not isinstance(value, kind):
            raise Refused(f"{_shown(value)} stands where {what} should")
        return value

    return read


# Each raises Refused.
mapping: Callable[[Any], dict[str, Any]] = _reader(dict, "an object")
listed: Callable[[Any], list[Any]] = _reader(list, "a list")
text = _reader(str, "a string")
boolean = _reader(bool, "true or false")


def integer(value: Any, lower: int | None = None, upper: int = LARGEST) -> int:
    """An integer of 64 bits within a range.

    Raises: Refused.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(f"{_shown(value)} stands where an integer should")
    if not (-LARGEST - 1 if lower is None else lower) <= value <= upper:
        raise Refused(f"{value} is no possible value there")
    return value


def small(value: int) -> int:
    """An integer that a file can hold.

    Raises: Refused.
    """
    if not -LARGEST - 1 <= value <= LARGEST:
        raise Refused(f"an int beyond 64 bits, {_shown(value)}")
    return int(value)


def only_key(value: Any) -> tuple[str, Any]:
    """The chosen field of a union, and what it holds.

    Raises: Refused.
    """
    if not isinstance(value, dict) or len(value) != 1:
        raise Refused(f"{_shown(value)} stands where one choice should")
    return next(iter(value.items()))


def identifier(value: Any) -> str:
    """A name that generated code may use for a value.

    Raises: Refused.
    """
    name = text(value)
    if not is_name(name) or name in TAKEN or len(name) > LONGEST_NAME:
        raise Refused(f"{_shown(name)} is no name a value may have", "archive-unsafe")
    return name


def qualified_name(value: Any) -> str:
    """A name of state, as `blocks.0.weight`.

    Raises: Refused.
    """
    name = text(value)
    if not is_state_name(name):
        raise Refused(f"{_shown(name)} is no name a tensor may have", "archive-unsafe")
    return name


def one_line(name: str) -> str:
    """A name as it may stand in a comment."""
    return name if name.isprintable() else "".join(c if c.isprintable() else "?" for c in name)


def is_state_name(name: str) -> bool:
    """Whether a file may call a tensor so: on one line, as text that can be written."""
    return len(name) <= LONGEST_NAME and name.isprintable() and all(name.split("."))


__all__ = [
    "boolean",
    "identifier",
    "integer",
    "is_state_name",
    "listed",
    "mapping",
    "one_line",
    "only_key",
    "parse_json",
    "qualified_name",
    "text",
]
