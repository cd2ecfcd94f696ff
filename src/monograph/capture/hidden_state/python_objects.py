"""State of Python's own kinds of objects: iterators, slots, exceptions, containers, modules.

That a generator function's frame or, from Python 3.12 on, a range's iterator has moved can be seen
and not be undone.
"""

from __future__ import annotations

import decimal
import functools
import io
import operator
import random
import sys
from threading import Lock, RLock, local
from types import GeneratorType, GetSetDescriptorType, MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from xml.etree.ElementTree import Element

import torch

from monograph.capture.hidden_state.container_contents import (
    CONTAINERS,
    attributes_of,
    content_of,
    refill_content,
    same_content,
)
from monograph.capture.hidden_state.readings import Reading, identity, stay

if TYPE_CHECKING:
    from collections.abc import Iterable


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
        _position(value) if isinstance(value, _SEQUENCE_ITERATORS) else identity(value)
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


# --- slots -----------------------------------------------------------------------------------

_MISSING: Final = object()


def slots_of(kind: type) -> dict[str, MemberDescriptorType]:
    """The slots of a class by name; what a subclass put in the place of one is not asked."""
    found: dict[str, MemberDescriptorType] = {}
    for cls in kind.__mro__:
        if "__slots__" in cls.__dict__:
            for name, place in cls.__dict__.items():
                if type(place) is MemberDescriptorType:
                    found.setdefault(name, place)
    return found


def _held(owner: Any, place: MemberDescriptorType | GetSetDescriptorType) -> Any:
    try:
        return place.__get__(owner)
    except AttributeError:
        return _MISSING


def held_in(owner: Any, slots: dict[str, MemberDescriptorType]) -> dict[str, Any]:
    """What an object's slots hold, by name; an empty one has a value of its own."""
    return {name: _held(owner, place) for name, place in slots.items()}


def put_back_slots(
    owner: Any, slots: dict[str, MemberDescriptorType], content: dict[str, Any]
) -> None:
    """Give an object's slots what they held."""
    for name, place in slots.items():
        value, now = content.get(name, _MISSING), _held(owner, place)
        if value is now:
            continue
        if value is _MISSING:
            place.__delete__(owner)
        else:
            place.__set__(owner, value)


def _read_slots(owner: Any) -> dict[str, Any]:
    return {**held_in(owner, slots_of(type(owner))), **attributes_of(owner)}


def _write_slots(owner: Any, content: dict[str, Any]) -> None:
    slots = slots_of(type(owner))
    put_back_slots(owner, slots, content)
    for name, value in content.items():
        if name not in slots and getattr(owner, name, _MISSING) is not value:
            object.__setattr__(owner, name, value)
    for name in _read_slots(owner).keys() - content.keys():
        object.__delattr__(owner, name)


def same_held(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two tables hold the same objects, or equal numbers and texts, by name."""
    return one.keys() == other.keys() and all(
        identity(one[name]) == identity(value) for name, value in other.items()
    )


SLOTS: Final = Reading(_read_slots, _write_slots, same_held, dict[str, Any].values)


# --- exceptions and properties ---------------------------------------------------------------

_OF_ANY_CLASS: Final = frozenset({"__dict__", "__weakref__"})


@functools.cache
def _described(kind: type) -> dict[str, MemberDescriptorType | GetSetDescriptorType]:
    """The places in which C keeps what objects of a class hold, by name."""
    return {
        name: place
        for cls in reversed(kind.__mro__[:-1])
        for name, place in vars(cls).items()
        if isinstance(place, MemberDescriptorType | GetSetDescriptorType)
        and name not in _OF_ANY_CLASS
    }


def _read_described(owner: Any) -> dict[str, Any]:
    held = {name: _held(owner, place) for name, place in _described(type(owner)).items()}
    return {**held, **attributes_of(owner)} if type(owner).__dictoffset__ else held


def _write_described(owner: Any, content: dict[str, Any]) -> None:
    places = _described(type(owner))
    if _is_on_its_way(owner):  # with all that tells where it was raised
        places = {name: place for name, place in places.items() if name not in _OF_RAISING}
    # Whether the context is told changes when the cause is set.
    for name in sorted(places, key="__suppress_context__".__eq__):
        if _held(owner, places[name]) is not content[name]:
            places[name].__set__(owner, content[name])
    if type(owner).__dictoffset__:
        refill_content(
            attributes_of(owner),
            {n: held for n, held in content.items() if n not in _described(type(owner))},
        )


_OF_RAISING: Final = frozenset(
    {"__traceback__", "__context__", "__cause__", "__suppress_context__"}
)


def _is_on_its_way(owner: Any) -> bool:
    """Whether an exception is being handled, or led to the one that is."""
    error, seen = sys.exc_info()[1], set[int]()
    while error is not None and id(error) not in seen:
        if error is owner:
            return True
        seen.add(id(error))
        error = error.__cause__ or error.__context__
    return False


def _read_attributes(owner: Any) -> dict[str, Any]:
    return dict(attributes_of(owner))


def _write_attributes(owner: Any, content: dict[str, Any]) -> None:
    refill_content(attributes_of(owner), content)


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


MODULE: Final = Reading(_read_module, _write_module, _same_modules)


# --- files in memory and locks ------------------------------------------------------------------


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


def _write_context(context: decimal.Context, content: decimal.Context) -> None:
    for name in ("prec", "rounding", "Emin", "Emax", "capitals", "clamp"):
        setattr(context, name, getattr(content, name))
    for now, before in ((context.flags, content.flags), (context.traps, content.traps)):
        for signal, is_set in before.items():
            now[signal] = is_set


def _read_element(element: Element) -> tuple[Any, ...]:
    return element.tag, element.text, element.tail, {**element.attrib}, [*element]


def _write_element(element: Element, content: tuple[Any, ...]) -> None:
    element.tag, element.text, element.tail, attributes, element[:] = content
    refill_content(element.attrib, attributes)


def _same_elements(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return same_content([*one[:3]], [*other[:3]]) and all(map(same_content, one[3:], other[3:]))


READINGS: Final[tuple[tuple[Any, Reading], ...]] = (
    (random.Random, Reading(random.Random.getstate, random.Random.setstate)),
    (
        torch.Generator,
        Reading(lambda g: g.get_state(), lambda g, state: g.set_state(state), torch.equal),
    ),
    (GeneratorType, Reading(_frame, stay, leads_to=_in_frame)),
    ((io.StringIO, io.BytesIO), Reading(_read_file, _write_file)),
    ((type(Lock()), type(RLock())), Reading(repr, _release)),
    (_SEQUENCE_ITERATORS, Reading(_position, _set_position)),
    (
        CONTAINERS,
        Reading(_read_container, _write_container, _same_containers, _in_container),
    ),
    (functools.partial, Reading(_read_partial, _write_partial, _same_partial, _in_partial)),
    (
        (BaseException, property),
        Reading(_read_described, _write_described, same_held, dict[str, Any].values),
    ),
    (
        decimal.Context,
        Reading(decimal.Context.copy, _write_context, lambda one, other: repr(one) == repr(other)),
    ),
    (
        Element,
        Reading(_read_element, _write_element, _same_elements, operator.itemgetter(-1)),
    ),
    (local, Reading(_read_attributes, _write_attributes, same_content, dict[str, Any].values)),
)
"""Classes, and how to read what their objects keep to themselves."""
