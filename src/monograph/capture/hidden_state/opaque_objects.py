"""Opaque objects, whose state is in no `__dict__`: how to read it, and put it back.

The table of readings says how, by class; what no class of it is is read as pickling would
(`native_state`). A counter of itertools can be seen to have moved, and not be put back.
"""

from __future__ import annotations

import functools
import sys
from contextvars import ContextVar
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

import numpy as np
import torch

from monograph.capture.hidden_state import memory_objects, python_objects
from monograph.capture.hidden_state.container_contents import CONTAINERS, attributes_of, content_of
from monograph.capture.hidden_state.memory_objects import C_DATA, looked_into
from monograph.capture.hidden_state.native_state import (
    BOUND_TO_C,
    FOREIGN_FUNCTION,
    UNKNOWN,
    keeps_state,
    objects_in,
    package_of,
    read_native,
    same_native,
    write_native,
)
from monograph.capture.hidden_state.python_objects import MODULE, SLOTS, slots_of
from monograph.capture.hidden_state.readings import HiddenState, Reading, stay

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_READINGS: Final = (*python_objects.READINGS, *memory_objects.READINGS)
_NATIVE: Final = Reading(
    read_native, write_native, same_native, objects_in, lambda content: isinstance(content, bytes)
)
_CALLED: Final = Reading(lambda _: None, stay, lambda _, __: False)

_OF_NO_USER: Final = frozenset({"builtins", __name__.partition(".")[0]})

_OF_KINDS: Final[WeakKeyDictionary[type, Reading | None]] = WeakKeyDictionary()


def _reading_of(kind: type) -> Reading | None:
    """How to read what objects of a type keep to themselves, None if that is nothing."""
    try:
        return _OF_KINDS[kind]
    except KeyError:
        return _OF_KINDS.setdefault(kind, _reading_of_kind(kind))


def _reading_of_kind(kind: type) -> Reading | None:
    if issubclass(kind, FOREIGN_FUNCTION):
        return _NATIVE
    for kinds, reading in _READINGS:
        if issubclass(kind, kinds):
            return reading
    if keeps_state(kind):
        return _NATIVE
    has_slots = package_of(kind) not in _OF_NO_USER and bool(slots_of(kind))
    return SLOTS if has_slots else None


def keep(value: Any) -> HiddenState | None:
    """What such a value holds now; None of what holds nothing to itself, or is opaque."""
    reading = _reading_of(type(value))
    if reading is None:
        return None
    content = reading.read(value)
    return None if content is UNKNOWN else HiddenState(reading, content)


def is_opaque(value: Any) -> bool:
    """Whether an object keeps state that nobody can read."""
    return _reading_of(type(value)) is _NATIVE and read_native(value) is UNKNOWN


CALLED: Final = HiddenState(_CALLED, None)
"""What an opaque object held that was called since: something else, for all one can tell."""


def written_by_native_code(values: Iterable[Any]) -> Iterator[tuple[str, Any, Any]]:
    """What native code may change of what it is given: the kind of write, the owner, what it holds.

    Iterators are looked after elsewhere; slots and attributes code announces, but Python's own and
    NumPy's.
    """
    for value in values:
        kind = type(value)
        if kind in BOUND_TO_C:
            yield from written_by_native_code(_owner_of(value))
        elif kind is functools.partial:
            yield from written_by_native_code((value.func, *value.args, *value.keywords.values()))
        elif kind is memoryview:
            yield from written_by_native_code(looked_into(value))
        elif kind is ContextVar:
            yield "context", value, None
        elif issubclass(kind, CONTAINERS):
            yield "contents", value, content_of(value)
        elif issubclass(kind, torch.nn.Module):
            yield "hidden", value, HiddenState(MODULE, MODULE.read(value))
        elif not hasattr(kind, "__next__"):
            yield from _written_in_object(value)


_WRITING_UNSEEN: Final = sys.stdlib_module_names | {"numpy"}
"""Packages whose code is not interpreted, and writes to the objects of its own classes."""
_TOLD: Final = frozenset({FunctionType, ModuleType})
"""Kinds of Python's own whose attributes code alone writes to, which announces it."""


def _written_in_object(value: Any) -> Iterator[tuple[str, Any, Any]]:
    kind = type(value)
    is_librarys = package_of(kind) in _WRITING_UNSEEN and kind not in _TOLD
    if is_librarys and kind.__dictoffset__ and not issubclass(kind, type):
        yield "attributes", value, None
        held = attributes_of(value).values()
        yield from written_by_native_code(each for each in held if isinstance(each, np.ndarray))
    reading = _reading_of(kind)
    if reading is not None and reading is not SLOTS:
        content = reading.read(value)
        state = CALLED if content is UNKNOWN else HiddenState(reading, content)
        yield "hidden", value, state
        if issubclass(kind, C_DATA):
            yield from written_by_native_code(state.leads_to())


def _owner_of(method: Any) -> tuple[Any, ...]:
    owner = method.__self__
    return () if isinstance(owner, ModuleType | type) else (owner,)
