"""Opaque objects, whose state is in no `__dict__`: how to read it, and put it back.

Generators of random numbers, arrays, iterators, objects with slots, containers of classes of the
user's. That a generator function's
frame, or a counter of itertools, has moved can be seen and not be undone.
"""

from __future__ import annotations

import itertools
import random
from types import GeneratorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch

from monograph.capture.side_effects.container_contents import (
    CONTAINERS,
    content_of,
    refill_content,
    same_content,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Reading(NamedTuple):
    """How the state of one kind of object is read and written, and how two readings compare."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], object]
    same: Callable[[Any, Any], bool] = lambda one, other: one == other


class HiddenState(NamedTuple):
    """What an object held when it was read."""

    reading: Reading
    content: Any

    def is_still_in(self, owner: Any) -> bool:
        """Whether the object holds it now."""
        return self.reading.same(self.reading.read(owner), self.content)

    def put_back(self, owner: Any) -> None:
        """Let the object hold it again, where that can be done."""
        if not self.is_still_in(owner):
            self.reading.write(owner, self.content)

    def leads_to(self) -> Iterable[Any]:
        """The objects in it that are watched in their turn."""
        if self.reading is _CONTAINER:
            inside, attributes = self.content
            return [
                *(inside.values() if isinstance(inside, dict) else inside),
                *attributes.values(),
            ]
        return self.content.values() if self.reading is _SLOTS else ()


# --- iterators -------------------------------------------------------------------------------

_SEQUENCE_ITERATORS: Final = tuple(
    type(each) for each in (iter([]), iter(()), iter(range(0)), iter(""), reversed([]))
)


def _position(iterator: Any) -> int | None:
    """The index of what comes next, which pickling would keep; None at the end."""
    _, _, *state = iterator.__reduce__()
    return state[0] if state else None


def _set_position(iterator: Any, content: int | None) -> None:
    if content is not None and _position(iterator) is not None:
        iterator.__setstate__(content)


def _frame(generator: Any) -> tuple[Any, ...]:
    """Where a generator stands, and what its variables are there."""
    frame = generator.gi_frame
    if frame is None:
        return ()
    held = (
        _position(value) if isinstance(value, _SEQUENCE_ITERATORS) else _identity(value)
        for value in frame.f_locals.values()
    )
    return (frame.f_lasti, *held)


def _identity(value: Any) -> Any:
    return value if type(value) in {int, float, str, bool} else id(value)


def _stay(_owner: Any, _content: Any) -> None:
    """There is no way back."""


# --- slots -----------------------------------------------------------------------------------

_MISSING: Final = object()


def _slots(kind: type) -> dict[str, MemberDescriptorType]:
    """The slots of a class by name; what a subclass put in the place of one is not asked."""
    found: dict[str, MemberDescriptorType] = {}
    for cls in kind.__mro__:
        if "__slots__" in cls.__dict__:
            for name, place in cls.__dict__.items():
                if type(place) is MemberDescriptorType:
                    found.setdefault(name, place)
    return found


def _held(owner: Any, place: MemberDescriptorType) -> Any:
    try:
        return place.__get__(owner)
    except AttributeError:
        return _MISSING


def _read_slots(owner: Any) -> dict[str, Any]:
    held = {name: _held(owner, place) for name, place in _slots(type(owner)).items()}
    return {**held, **getattr(owner, "__dict__", {})}


def _write_slots(owner: Any, content: dict[str, Any]) -> None:
    slots = _slots(type(owner))
    for name, place in slots.items():
        value, now = content.get(name, _MISSING), _held(owner, place)
        if value is now:
            continue
        if value is _MISSING:
            place.__delete__(owner)
        else:
            place.__set__(owner, value)
    for name, value in content.items():
        if name not in slots and getattr(owner, name, _MISSING) is not value:
            object.__setattr__(owner, name, value)
    for name in _read_slots(owner).keys() - content.keys():
        object.__delattr__(owner, name)


def _same_slots(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        _identity(one[name]) == _identity(value) for name, value in other.items()
    )


_SLOTS: Final = Reading(_read_slots, _write_slots, _same_slots)


# --- containers of classes of the user's -----------------------------------------------------


def _read_container(owner: Any) -> tuple[Any, dict[str, Any]]:
    return content_of(owner), dict(getattr(owner, "__dict__", {}))


def _write_container(owner: Any, content: tuple[Any, dict[str, Any]]) -> None:
    inside, attributes = content
    refill_content(owner, inside)
    if hasattr(owner, "__dict__"):
        owner.__dict__.clear()
        owner.__dict__.update(attributes)


def _same_containers(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return all(map(same_content, one, other))


_CONTAINER: Final = Reading(_read_container, _write_container, _same_containers)


# --- all of them -----------------------------------------------------------------------------


def _write_array(array: Any, content: Any) -> None:
    array[...] = content


def _same_arrays(one: Any, other: Any) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


def _write_numpy_generator(generator: Any, content: Any) -> None:
    generator.bit_generator.state = content


def _same_text(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


_READINGS: Final[tuple[tuple[Any, Reading], ...]] = (
    (random.Random, Reading(random.Random.getstate, random.Random.setstate)),
    (
        np.random.Generator,
        Reading(lambda g: g.bit_generator.state, _write_numpy_generator, _same_text),
    ),
    (
        np.random.RandomState,
        Reading(
            lambda g: g.get_state(legacy=False), lambda g, state: g.set_state(state), _same_text
        ),
    ),
    (
        torch.Generator,
        Reading(lambda g: g.get_state(), lambda g, state: g.set_state(state), torch.equal),
    ),
    (np.ndarray, Reading(lambda array: array.copy(), _write_array, _same_arrays)),
    (GeneratorType, Reading(_frame, _stay)),
    ((itertools.count, itertools.repeat), Reading(repr, _stay)),
    (_SEQUENCE_ITERATORS, Reading(_position, _set_position)),
    (CONTAINERS, _CONTAINER),
)


_OF_KINDS: Final[WeakKeyDictionary[type, Reading | None]] = WeakKeyDictionary()


def reading_of(value: Any) -> Reading | None:
    """How to read what a value keeps to itself, None if it keeps nothing that is known here."""
    kind: type = type(value)
    try:
        return _OF_KINDS[kind]
    except KeyError:
        return _OF_KINDS.setdefault(kind, _reading_of_kind(kind))


def _reading_of_kind(kind: type) -> Reading | None:
    for kinds, reading in _READINGS:
        if issubclass(kind, kinds):
            return reading
    has_slots = kind.__module__ != "builtins" and bool(_slots(kind))
    return _SLOTS if has_slots else None


def keep(value: Any) -> HiddenState | None:
    """What such a value holds now."""
    reading = reading_of(value)
    return None if reading is None else HiddenState(reading, reading.read(value))
