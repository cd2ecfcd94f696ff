"""Contents of containers and attributes, read past whatever their classes make of reading.

A class of the user's may make objects when it is asked for an item, load itself when somebody asks
for its class, or be half made: looking runs none of its code and changes nothing.
"""

from __future__ import annotations

import operator
import sys
from collections import OrderedDict, deque
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.special_methods import own_attributes

if TYPE_CHECKING:
    from collections.abc import Iterable

_ATOMS: Final = frozenset({int, float, bool, str, bytes, type(None)})
CONTAINERS: Final = (dict, list, deque, set)
OF_CLASSES: Final = ("__name__", "__qualname__", "__bases__")
_of_class: Final = operator.attrgetter(*OF_CLASSES)
OF_FUNCTIONS: Final = (
    *("__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__", "__doc__"),
    *(("__module__",) if sys.version_info >= (3, 14) else ("__module__", "__annotations__")),
)
"""Annotations may be code, from Python 3.14 on: it is left alone."""

_PLAIN_DICTS: Final = frozenset({dict, MappingProxyType})


def same(one: Any, other: Any) -> bool:
    """Whether two values are one object, or equal numbers or texts."""
    return one is other or (type(one) is type(other) and type(one) in _ATOMS and one == other)


attributes_of = own_attributes


def all_attributes(owner: Any) -> Any:
    """The attributes of an object themselves, or a copy where code of the user's reads them.

    Of classes and functions those that C keeps are among them.
    """
    attributes = attributes_of(owner)
    if issubclass(type(owner), type):
        return {**attributes, **dict(zip(OF_CLASSES, _of_class(owner), strict=True))}
    if type(owner) is FunctionType:
        return {**attributes, **{name: getattr(owner, name) for name in OF_FUNCTIONS}}
    return attributes if type(attributes) in _PLAIN_DICTS else dict(attributes)


def content_of(owner: Any) -> Any:
    """A copy of a container's content, as a plain dict, list or set; None of anything else.

    No key is hashed again, which code of the user's might do, but of classes with an order of their
    own.
    """
    if issubclass(type(owner), dict):
        if type(owner).__iter__ is dict.__iter__:
            return dict.copy(owner)
        return dict((OrderedDict if issubclass(type(owner), OrderedDict) else dict).items(owner))
    if issubclass(type(owner), (list, deque)):
        return list(_kind_of(owner).__iter__(owner))
    return set().union(owner) if issubclass(type(owner), set) else None


def parts_of(owner: tuple[Any, ...] | frozenset[Any]) -> Iterable[Any]:
    """What is in a container that nothing is written to."""
    kind: Any = tuple if issubclass(type(owner), tuple) else frozenset
    return kind.__iter__(owner)


def same_content(one: Any, other: Any) -> bool:
    """Whether two copies of content are of the same objects, in the same order."""
    if len(one) != len(other):
        return False
    if isinstance(one, set):
        return one == other
    if isinstance(other, dict):
        return _same_items(one, other) and _same_items(one.values(), other.values())
    return _same_items(one, other)


def _same_items(one: Iterable[Any], other: Iterable[Any]) -> bool:
    """Nearly always they are the same objects, which is found without a call for each."""
    return all(map(operator.is_, one, other)) or all(map(same, one, other))


def refill_content(owner: Any, content: Any) -> None:
    """Give a container exactly this content."""
    if issubclass(type(owner), OrderedDict):
        OrderedDict.clear(owner)
        for key, value in content.items():
            OrderedDict.__setitem__(owner, key, value)
    elif issubclass(type(owner), dict):
        dict.clear(owner)
        dict.update(owner, content)
    elif issubclass(type(owner), set):
        set.clear(owner)
        set.update(owner, content)
    else:
        kind = _kind_of(owner)
        kind.clear(owner)
        kind.extend(owner, content)


def _kind_of(owner: Any) -> Any:
    """The class of Python's whose methods go straight to the content."""
    return next(kind for kind in (list, deque) if issubclass(type(owner), kind))
