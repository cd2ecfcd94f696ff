"""Graph isomorphism of what a place held before the call and what it holds after it.

A registry whose state is a value puts an equal one in its place in every call. No later call can
tell them apart, if both lead to the same things in the same way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch.nn import Module

from monograph.capture.hidden_state.container_contents import (
    CONTAINERS,
    attributes_of,
    content_of,
    same,
)
from monograph.capture.hidden_state.opaque_objects import is_opaque, keep
from monograph.capture.side_effects.snapshots import has_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping

_MOST: Final = 10_000
_HEAP_TYPE: Final = 1 << 9
"""The flag of classes that were not made of C at compile time."""


def are_alike(before: Any, now: Any, changed: Mapping[int, Any]) -> bool:
    """Whether one renaming of objects makes these two, and all that they lead to, the same.

    `changed` are the objects, by identity, that do not hold what they held, with the content that
    lists, dicts and sets had; None where what they were like before is not known any more.
    """
    waiting, twins, back = [(before, now)], dict[int, Any](), dict[int, Any]()
    while waiting:
        one, other = waiting.pop()
        if same(one, other):
            continue
        if id(one) in twins or id(other) in back:
            if twins.get(id(one)) is not other or back.get(id(other)) is not one:
                return False
            continue
        was = changed.get(id(one), one)
        inside = None if was is None or len(twins) > _MOST else _parts(one, other, was)
        if inside is None:
            return False
        twins[id(one)], back[id(other)] = other, one
        waiting += inside
    return True


def _parts(one: Any, other: Any, was: Any) -> list[tuple[Any, Any]] | None:
    """What has to be alike for two objects to be; None where they differ, or may.

    `was` is the first, or its content, where that is another one since.
    """
    kind: Any = type(one)
    if kind is not type(other):
        return None
    if kind is tuple:
        return _paired(one, other)
    if kind in {dict, list, set}:
        return _contents(content_of(was), content_of(other))
    if was is not one or issubclass(kind, (*CONTAINERS, Module)):
        return None
    if not _is_open(one) or not _is_open(other):
        return None
    return _contents(dict(attributes_of(one)), dict(attributes_of(other)))


def _contents(one: Any, other: Any) -> list[tuple[Any, Any]] | None:
    if isinstance(one, set):
        return [] if one == other and all(type(each) is str for each in one) else None
    if isinstance(one, list):
        return _paired(one, other)
    keys = _paired(list(one), list(other))
    if keys is None or not all(same(*pair) or _are_same_tuples(*pair) for pair in keys):
        return None
    return _paired(list(one.values()), list(other.values()))


def _are_same_tuples(one: Any, other: Any) -> bool:
    both = type(one) is type(other) is tuple and len(one) == len(other)
    return both and all(map(same, one, other))


def _paired(one: Any, other: Any) -> list[tuple[Any, Any]] | None:
    return list(zip(one, other, strict=True)) if len(one) == len(other) else None


def _is_open(value: Any) -> bool:
    """Whether the attributes of an object are all that it holds."""
    kind: Any = type(value)
    return (
        bool(kind.__dictoffset__)
        and all(base is object or base.__flags__ & _HEAP_TYPE for base in kind.__mro__)
        and not any(vars(base).get("__slots__") for base in kind.__mro__)
        and has_attributes(kind)
        and not is_opaque(value)
        and keep(value) is None
    )


__all__ = ["are_alike"]
