"""The spec of input mutation: what a call does to its caller's containers, as data.

A call may append to a list, fill a dict, or put a new tensor into an object; the program does the
same to the objects that its own caller passes in. Law: the objects are found by the ways that led
to them at the export, what they held is what they held then, and everything that is put into them
is an output of the graph, an input of this call, a constant, or another object of the table.
"""

from __future__ import annotations

import enum
from collections import deque
from dataclasses import dataclass
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host import objects

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class FromOutput:
    """What the graph returns at this place."""

    index: int


@dataclass(frozen=True, slots=True)
class FromInput:
    """The leaf of the arguments at this place, itself."""

    index: int


@dataclass(frozen=True, slots=True)
class FromObject:
    """The object of the table with this number, itself."""

    number: int


@dataclass(frozen=True, slots=True)
class PlainValue:
    """A number, a text, a dtype: the same in every call."""

    value: Any


Source = FromOutput | FromInput | FromObject | PlainValue
"""Where a value comes from."""


@dataclass(frozen=True, slots=True)
class GivenObject:
    """An object that the caller passes in, or that something passed in holds.

    `root` is the place of a positional argument, or the name of a keyword argument. Each step is
    ("item", key) or ("attribute", name). `kind` is the class, in text. `visits` says how many ways
    lead to it.
    """

    root: int | str
    steps: tuple[tuple[str, Any], ...]
    kind: str
    visits: int = 1


@dataclass(frozen=True, slots=True)
class MadeContainer:
    """A container or an object that the call makes; `structure` has one level."""

    structure: Any
    parts: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class Change:
    """What one object holds before the call, and afterwards.

    Entries are those of a list or a dict, all of them, attributes only those that changed. None
    among the former values stands for any; a name that is missing was not there.
    """

    number: int
    entries_before: tuple[tuple[Any, Source | None], ...] | None = None
    entries: tuple[tuple[Any, Source], ...] | None = None
    attributes_before: tuple[tuple[str, Source | None], ...] = ()
    attributes: tuple[tuple[str, Source], ...] = ()
    deleted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changes:
    """Everything a call does to what it was given, and which of it the call returns.

    `result` is where the result comes from, if an object of the table is in it.
    """

    objects: tuple[GivenObject | MadeContainer, ...]
    changed: tuple[Change, ...] = ()
    result: Source | None = None


# --- looking at objects ------------------------------------------------------------------------

_NO_OBJECTS: Final = (
    *(torch.Tensor, torch.nn.Module, torch.SymInt, torch.SymFloat, torch.SymBool, torch.dtype),
    *(type, FunctionType, MethodType, BuiltinFunctionType, ModuleType, enum.Enum),
)
"""What has attributes and is no container of the caller's."""

_CONTAINERS: Final = (list, dict, deque, set)

Way = tuple[int | str, tuple[tuple[str, Any], ...]]
"""A root and the steps from it."""


def is_object(value: Any) -> bool:
    """Whether somebody who was given it may change it: a container, an object with attributes."""
    kind = type(value)
    if issubclass(kind, _CONTAINERS):
        return True
    has_attributes = bool(kind.__dictoffset__) or any(
        vars(c).get("__slots__") for c in kind.__mro__
    )
    return has_attributes and not issubclass(kind, _NO_OBJECTS)


def entries_of(value: Any) -> dict[Any, Any] | None:
    """What a list, a deque or a dict holds, by key, in order; None of anything else."""
    kind = type(value)
    if issubclass(kind, set):
        return dict.fromkeys(set.__iter__(value))
    if not issubclass(kind, dict | list | tuple | deque):
        return None
    content = objects.content_of(value)
    return dict(content) if issubclass(kind, dict) else dict(enumerate(content))


def attributes_of(value: Any) -> dict[str, Any]:
    """What an object's own attributes are, wherever its class keeps them."""
    return {} if type(value) is tuple else objects.attributes_of(value)


def kind_of(value: Any) -> str:
    """The class of an object, in text."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def steps_text(steps: tuple[tuple[str, Any], ...]) -> str:
    """How a user writes a way: `.layers[0]`."""
    return "".join([f".{key}" if how == "attribute" else f"[{key!r}]" for how, key in steps])


def objects_among(args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Iterator[tuple[Way, Any]]:
    """Every object that the arguments lead to, as often as they do, with the way to it."""
    seen: set[int] = set()
    for root, value in (*enumerate(args), *kwargs.items()):
        yield from _objects((root, ()), value, seen)


def _objects(way: Way, value: Any, seen: set[int]) -> Iterator[tuple[Way, Any]]:
    if is_object(value):
        yield way, value
        if id(value) in seen:
            return
        seen.add(id(value))
    elif not isinstance(value, tuple):
        return
    root, steps = way
    for key, each in (entries_of(value) or {}).items():
        yield from _objects((root, (*steps, ("item", key))), each, seen)
    for name, each in attributes_of(value).items():
        yield from _objects((root, (*steps, ("attribute", name))), each, seen)


__all__ = [
    "Change",
    "Changes",
    "FromInput",
    "FromObject",
    "FromOutput",
    "GivenObject",
    "MadeContainer",
    "PlainValue",
    "Source",
    "Way",
    "attributes_of",
    "entries_of",
    "is_object",
    "kind_of",
    "objects_among",
    "steps_text",
]
