"""Version tags of CPython: whether dicts, classes, functions and instances are as they were.

Every change of a dict gives it a new number (PEP 509), every change of a class or of its bases
takes its number away (`tp_version_tag`), and what functions and instances are made of are pointers.
All of them are words of memory, read at once. Where they are (CPython 3.11) is tried out first, on
objects of our own; where it turns out otherwise, nothing is watched.
"""

from __future__ import annotations

import sys
import sysconfig
from functools import cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FunctionType

__all__ = ["MEMORY", "TagList", "tags_are_trusted"]


class _AllWords:
    # From the second word on, since NULL is no address.
    __array_interface__: Final = {
        "data": (8, True),
        "shape": (1 << 44,),
        "typestr": "<u8",
        "version": 3,
    }


MEMORY: Final[Any] = np.asarray(_AllWords())
"""All words of the process, by (address / 8) - 1."""
_CLASS: Final = 8
_ATTRIBUTES: Final = -24
_DICT_TAG: Final = 24
_CLASS_TAG: Final = 384
_FUNCTION: Final = {"__globals__": 16, "__code__": 48, "__defaults__": 56, "__kwdefaults__": 64}


def _word(value: Any, offset: int) -> int:
    return int(MEMORY[((id(value) + offset) >> 3) - 1])


class TagList:
    """What is watched, which is kept alive: `words` says where in MEMORY its tags are."""

    def __init__(self) -> None:
        """Nothing is watched."""
        self._places: dict[tuple[int, int], Any] = {}

    def _watch(self, value: Any, offset: int) -> bool:
        self._places[id(value), offset] = value
        return tags_are_trusted()

    def table(self, value: Any) -> bool:
        """Watch which keys and values a dict has, but not the order of an OrderedDict."""
        return isinstance(value, dict) and self._watch(value, _DICT_TAG)

    def tables(self, *values: Any) -> bool:
        """Watch dicts; whether all of them can be."""
        found = [self.table(each) for each in values]
        return all(found)

    def kind(self, value: type) -> bool:
        """Watch what a class and its bases define."""
        return self._watch(value, _CLASS_TAG)

    def function(self, value: FunctionType) -> bool:
        """Watch the code, globals and defaults of a function, by their identity."""
        for offset in _FUNCTION.values():
            self._watch(value, offset)
        return tags_are_trusted()

    def instance(self, value: Any) -> bool:
        """Watch the class of an object, and which dict its `__dict__` is; whether that can be."""
        if not tags_are_trusted() or id(value.__dict__) != _word(value, _ATTRIBUTES):
            return False
        return self._watch(value, _CLASS) and self._watch(value, _ATTRIBUTES)

    def words(self) -> Any:
        """Where the tags are: an index of MEMORY."""
        return np.array([((at + offset) >> 3) - 1 for at, offset in self._places], dtype=np.intp)

    def are_given(self) -> bool:
        """Whether every class has a tag; one that was changed gets the next when it is used."""
        for (_, offset), value in self._places.items():
            if offset == _CLASS_TAG:
                getattr(value, "__doc__", None)
                if not _word(value, offset) & 0xFFFFFFFF:
                    return False
        return True


class _Base:
    pass


class _Sub(_Base):
    value: int


@cache
def tags_are_trusted() -> bool:
    """Whether tags are where they are thought to be, and tell of every change."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if sys.maxsize < 1 << 32 or sys.version_info >= (3, 13):
        return False
    owner = _Sub()
    return (
        _word(owner, _CLASS) == id(_Sub)
        and id(owner.__dict__) == _word(owner, _ATTRIBUTES)
        and all(_word(_sample, at) == id(getattr(_sample, of)) for of, at in _FUNCTION.items())
        and all(_tells(owner.__dict__, _changes_of_a_dict(owner)))
        and all(_tells(_Sub, _changes_of_a_class()))
    )


def _tells(value: Any, changes: Iterator[None]) -> Iterator[bool]:
    """Whether the tag stays while nothing happens, and is another after each change."""
    offset = _DICT_TAG if isinstance(value, dict) else _CLASS_TAG
    seen: set[int] = set()
    for _ in changes:
        getattr(value, "value", None)
        tag = _word(value, offset)
        table = value if isinstance(value, dict) else vars(value)
        for _ in range(2):
            table.get("value")
        yield tag != 0 and tag not in seen and tag == _word(value, offset)
        seen.add(tag)


def _changes_of_a_dict(owner: _Sub) -> Iterator[None]:
    table = owner.__dict__
    for n in range(40):  # instructions are specialised after some
        owner.value = n
        yield
    for change in (
        lambda: table.update(value=1),
        lambda: table.setdefault("other", 1),
        lambda: table.pop("other"),
        lambda: table.__setitem__("value", 2),
        lambda: table.__ior__({"more": 3}),
        table.popitem,
        lambda: delattr(owner, "value"),
        lambda: setattr(owner, "value", 3),
        table.clear,
    ):
        change()
        yield


def _changes_of_a_class() -> Iterator[None]:
    yield
    for kind in (_Sub, _Base):
        for n in range(3):
            setattr(kind, "tried", n)  # noqa: B010 - a class has no such attribute
            yield
        delattr(kind, "tried")
        yield


def _sample(one: int = 1, *, two: int = 2) -> int:
    return one + two
