"""Opaque objects, whose state is in no `__dict__`: how to read it, and put it back.

Generators of random numbers, arrays, iterators, objects with slots, partial functions, containers
of classes of the user's. That a generator function's frame, a counter of itertools or, from Python
3.12 on, a range's iterator has moved can be seen and not be undone.
"""

from __future__ import annotations

import functools
import io
import random
import sys
from contextvars import ContextVar
from threading import Lock, RLock
from types import FunctionType, GeneratorType, MemberDescriptorType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch

from monograph.capture.side_effects.container_contents import (
    CONTAINERS,
    attributes_of,
    content_of,
    refill_content,
    same_content,
)
from monograph.capture.side_effects.native_state import (
    BOUND_TO_C,
    UNKNOWN,
    keeps_state,
    objects_in,
    package_of,
    read_native,
    same_native,
    write_native,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


class Reading(NamedTuple):
    """How the state of one kind of object is read and written, and how two readings compare."""

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], object]
    same: Callable[[Any, Any], bool] = lambda one, other: one == other
    leads_to: Callable[[Any], Iterable[Any]] = lambda _: ()


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

    @property
    def can_be_put_back(self) -> bool:
        """Whether `put_back` restores all of it: of what C keeps, bytes alone."""
        if self.reading is _NATIVE:
            return isinstance(self.content, bytes)
        return self.reading.write is not _stay

    def leads_to(self) -> Iterable[Any]:
        """The objects in it that are watched in their turn."""
        return self.reading.leads_to(self.content)

    def again(self, owner: Any) -> HiddenState:
        """What it holds now, read in the same way."""
        return HiddenState(self.reading, self.reading.read(owner))


# --- iterators -------------------------------------------------------------------------------

_SEQUENCE_ITERATORS: Final = tuple(
    type(each)
    for each in (iter([]), iter(()), iter(""), reversed([]), *map(iter, (range(0), range(1 << 70))))
)


def _position(iterator: Any) -> int | range | None:
    """The index of what comes next, which pickling would keep; None at the end.

    From Python 3.12 on ranges' keep what is left instead.
    """
    _, (owner, *_), *state = iterator.__reduce__()
    return owner if state == [None] else state[0] if state else None


def _set_position(iterator: Any, content: int | range | None) -> None:
    if isinstance(content, int) and _position(iterator) is not None:
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
    return (frame.f_lasti, *held, _Inside([*frame.f_locals.values(), generator.gi_yieldfrom]))


class _Inside(list[Any]):
    """The objects that a generator uses, which are equal whatever they are."""

    __hash__ = None

    def __eq__(self, other: object) -> bool:
        return type(other) is _Inside


def _in_frame(content: tuple[Any, ...]) -> Iterable[Any]:
    return content[-1] if content else ()


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
    return {**held, **attributes_of(owner)}


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


_SLOTS: Final = Reading(_read_slots, _write_slots, _same_slots, dict[str, Any].values)


# --- containers of classes of the user's -----------------------------------------------------


def _read_container(owner: Any) -> tuple[Any, dict[str, Any]]:
    return content_of(owner), dict(attributes_of(owner))


def _write_container(owner: Any, content: tuple[Any, dict[str, Any]]) -> None:
    inside, attributes = content
    refill_content(owner, inside)
    own = attributes_of(owner)
    own.clear()
    own.update(attributes)


def _same_containers(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    return all(map(same_content, one, other))


def _in_container(content: tuple[Any, Any]) -> Iterable[Any]:
    inside, attributes = content
    return [*(inside.values() if isinstance(inside, dict) else inside), *attributes.values()]


_CONTAINER: Final = Reading(_read_container, _write_container, _same_containers, _in_container)


# --- partial functions -------------------------------------------------------------------------


class _Partial(NamedTuple):
    """All that what `functools.partial` made holds, and where it keeps keywords."""

    called: tuple[Any, ...]
    keywords: dict[str, Any]
    attributes: dict[str, Any]
    place: dict[str, Any]


def _read_partial(owner: Any) -> _Partial:
    place = owner.keywords
    return _Partial((owner.func, *owner.args), {**place}, {**attributes_of(owner)}, place)


_PARTIAL: Any = functools.partial


def _write_partial(owner: Any, content: _Partial) -> None:
    (function, *args), keywords, attributes, place = content
    refill_content(place, keywords)
    _PARTIAL.__setstate__(owner, (function, tuple(args), place, attributes or None))


def _same_partial(one: _Partial, other: _Partial) -> bool:
    return all(map(same_content, one[:-1], other[:-1]))


def _in_partial(content: _Partial) -> Iterable[Any]:
    return [*content.called, *content.keywords.values(), *content.attributes.values()]


# --- modules ----------------------------------------------------------------------------------

_TENSOR_TABLES: Final = frozenset({"_parameters", "_buffers"})
"""What a module holds its tensors in, which code sets by name, and so announces."""


def _read_module(module: torch.nn.Module) -> list[tuple[Any, Any]]:
    """The tables and the mode of a module and all in it: what PyTorch's own code changes."""
    found: list[Any] = [module]
    content: list[tuple[Any, Any]] = []
    for each in found:
        held = attributes_of(each)
        content.append((each, held.get("training")))
        for name, table in held.items():
            if isinstance(table, dict) and name not in _TENSOR_TABLES:
                content.append((table, content_of(table)))
        inner = held.get("_modules", {})
        found += [m for m in inner.values() if m is not None and not any(m is o for o in found)]
    return content


def _write_module(_: object, content: list[tuple[Any, Any]]) -> None:
    for owner, held in content:
        if isinstance(owner, torch.nn.Module):
            attributes_of(owner)["training"] = held
        else:
            refill_content(owner, held)


def _same_modules(one: list[tuple[Any, Any]], other: list[tuple[Any, Any]]) -> bool:
    return len(one) == len(other) and all(
        a is b and (same_content(now, before) if isinstance(before, dict) else now is before)
        for (a, now), (b, before) in zip(one, other, strict=True)
    )


_MODULE: Final = Reading(_read_module, _write_module, _same_modules)


# --- all of them -----------------------------------------------------------------------------


class _Array(NamedTuple):
    """All that an array holds."""

    numbers: Any
    layout: tuple[Any, ...]
    attributes: dict[str, Any]
    objects: list[Any]


def _read_array(array: Any) -> _Array:
    plain = array.view(np.ndarray)
    objects = plain.ravel().tolist() if plain.dtype.hasobject else []
    layout = (plain.shape, plain.strides, plain.dtype, plain.flags.writeable)
    return _Array(plain.copy(), layout, dict(attributes_of(array)), objects)


def _write_array(array: Any, content: _Array) -> None:
    shape, _, dtype, is_writeable = content.layout
    if not array.flags.writeable:
        array.flags.writeable = True
    if array.dtype != dtype:
        array.dtype = dtype
    if array.shape != shape:  # by `resize`, which raises where anything refers to it weakly
        np.ndarray.__setstate__(array, content.numbers.__reduce__()[2])
    array.view(np.ndarray)[...] = content.numbers
    if content.attributes:
        attributes_of(array).update(content.attributes)
    if array.flags.writeable != is_writeable:
        array.flags.writeable = is_writeable


def _same_arrays(one: _Array, other: _Array) -> bool:
    return (
        one.layout == other.layout
        and same_content(one.attributes, other.attributes)
        and one.numbers.tobytes() == other.numbers.tobytes()
    )


def _in_array(content: _Array) -> Iterable[Any]:
    return [*content.objects, *content.attributes.values()]


def _write_numpy_generator(generator: Any, content: Any) -> None:
    generator.bit_generator.state = content


def _read_file(file: Any) -> tuple[Any, int] | None:
    """What a file in memory holds, and where it stands; None of one that is closed."""
    kind: Any = io.StringIO if isinstance(file, io.StringIO) else io.BytesIO
    return None if file.closed else (kind.getvalue(file), kind.tell(file))


def _write_file(file: Any, content: tuple[Any, int] | None) -> None:
    if content is None or file.closed:
        return
    kind: Any = io.StringIO if isinstance(file, io.StringIO) else io.BytesIO
    kind.seek(file, 0)
    kind.truncate(file)
    kind.write(file, content[0])
    kind.seek(file, content[1])


def _release(lock: Any, content: str) -> None:
    if content.startswith("<unlocked"):
        lock.release()


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
    (np.ndarray, Reading(_read_array, _write_array, _same_arrays, _in_array)),
    (GeneratorType, Reading(_frame, _stay, leads_to=_in_frame)),
    ((io.StringIO, io.BytesIO), Reading(_read_file, _write_file)),
    ((type(Lock()), type(RLock())), Reading(repr, _release)),
    (_SEQUENCE_ITERATORS, Reading(_position, _set_position)),
    (CONTAINERS, _CONTAINER),
    (functools.partial, Reading(_read_partial, _write_partial, _same_partial, _in_partial)),
)


_NATIVE: Final = Reading(read_native, write_native, same_native, objects_in)
_CALLED: Final = Reading(lambda _: None, _stay, lambda _, __: False)

_OF_NO_USER: Final = frozenset({"builtins", __name__.partition(".")[0]})

_OF_KINDS: Final[WeakKeyDictionary[type, Reading | None]] = WeakKeyDictionary()


def _reading_of(kind: type) -> Reading | None:
    """How to read what objects of a type keep to themselves, None if that is nothing."""
    try:
        return _OF_KINDS[kind]
    except KeyError:
        return _OF_KINDS.setdefault(kind, _reading_of_kind(kind))


def _reading_of_kind(kind: type) -> Reading | None:
    for kinds, reading in _READINGS:
        if issubclass(kind, kinds):
            return reading
    if keeps_state(kind):
        return _NATIVE
    has_slots = package_of(kind) not in _OF_NO_USER and bool(_slots(kind))
    return _SLOTS if has_slots else None


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

    Iterators are looked after elsewhere; slots and attributes code announces, but Python's own.
    """
    for value in values:
        kind = type(value)
        if kind in BOUND_TO_C:
            yield from written_by_native_code(_owner_of(value))
        elif kind is functools.partial:
            yield from written_by_native_code((value.func, *value.args, *value.keywords.values()))
        elif kind is memoryview:
            yield from written_by_native_code((value.obj,))
        elif kind is ContextVar:
            yield "context", value, None
        elif issubclass(kind, CONTAINERS):
            yield "contents", value, content_of(value)
        elif issubclass(kind, torch.nn.Module):
            yield "hidden", value, HiddenState(_MODULE, _read_module(value))
        elif not hasattr(kind, "__next__"):
            yield from _written_in_object(value)


_TOLD: Final = frozenset({FunctionType, ModuleType})
"""Kinds of Python's own whose attributes code alone writes to, which announces it."""


def _written_in_object(value: Any) -> Iterator[tuple[str, Any, Any]]:
    kind = type(value)
    is_pythons = package_of(kind) in sys.stdlib_module_names and kind not in _TOLD
    if is_pythons and kind.__dictoffset__ and not issubclass(kind, type):
        yield "attributes", value, None
    reading = _reading_of(kind)
    if reading is not None and reading is not _SLOTS:
        content = reading.read(value)
        state = CALLED if content is UNKNOWN else HiddenState(reading, content)
        yield "hidden", value, state


def _owner_of(method: Any) -> tuple[Any, ...]:
    owner = method.__self__
    return () if isinstance(owner, ModuleType | type) else (owner,)
