"""Changes of plain containers from outside: made at once, and written down for replays.

What a container held before its first change is kept, so that whoever reads it later in the segment
guards what it held at the entry.
"""

from __future__ import annotations

from collections import Counter, OrderedDict, defaultdict, deque
from types import MethodDescriptorType, WrapperDescriptorType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.jit.guard_code import ATOMS, CONTAINERS, MAPPINGS, is_constant
from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from monograph.jit.recording import SegmentRecorder

__all__ = ["change", "change_of", "check_change", "fill_missing"]

_BLIND: Final = frozenset(
    {
        *((list, "append"), (list, "extend"), (set, "add"), (deque, "append"), (deque, "extend")),
        (deque, "appendleft"),
        *((kind, "__setitem__") for kind in MAPPINGS),
    }
)
"""What can be done to a container whatever it holds."""
_OF_DICT: Final = frozenset(
    {"__setitem__", "__delitem__", "pop", "popitem", "setdefault", "update", "clear"}
)
_OF_LIST: Final = frozenset(
    {
        *("append", "extend", "insert", "pop", "clear", "reverse", "sort"),
        "__setitem__",
        "__delitem__",
    }
)
_CHANGES: Final[dict[type, frozenset[str]]] = {
    list: _OF_LIST,
    dict: _OF_DICT,
    OrderedDict: _OF_DICT | {"move_to_end"},
    defaultdict: _OF_DICT,
    Counter: _OF_DICT - {"update"},
    set: frozenset({"add", "discard", "remove", "clear", "update"}),
    deque: frozenset(
        {*("append", "appendleft", "extend", "extendleft", "pop", "popleft", "rotate", "clear")}
    ),
}
_CONSUMING: Final = frozenset({"extend", "extendleft", "update"})
_AT_KEYS: Final = frozenset(
    {
        *("insert", "pop", "__setitem__", "__delitem__", "setdefault", "rotate", "move_to_end"),
        *("add", "discard", "remove"),
    }
)
"""Methods whose first argument is a key, an index, or an item of a set."""


def change_of(callee: Any, args: list[Any]) -> tuple[Any, str, list[Any]] | None:
    """The container, method and arguments of a call that changes a container."""
    owner = getattr(callee, "__self__", None)
    if type(callee) in (MethodDescriptorType, WrapperDescriptorType) and args:
        owner, args = args[0], args[1:]
    name = getattr(callee, "__name__", "")
    if name in _CHANGES.get(type(owner), ()):
        return owner, name, args
    return None


def check_change(
    segment: SegmentRecorder, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]
) -> None:
    """Guard what the outcome of a change depends on. Raises: NotRecordable."""
    kind = type(owner)
    _note_attribute(segment, owner, name, args)
    if name not in _CHANGES.get(kind, ()) or (kwargs and name != "update"):
        raise NotRecordable(f"`{kind.__name__}.{name}` of `{segment.guards.label(owner)}`")
    if name in _AT_KEYS and args:
        _check_key(segment, kind, name, args)
    if name == "sort" and not all(type(each) in (int, float, str) for each in owner):
        raise NotRecordable("a list of objects is sorted")
    for value in args if name in _CONSUMING else ():
        _check_consumed(segment, kind, name, value)
    if (kind, name) not in _BLIND:
        segment.touch(owner)


def _note_attribute(segment: SegmentRecorder, table: Any, name: str, args: list[Any]) -> None:
    """What is changed may be the `__dict__` of an object, whose attribute is another then."""
    owner = segment.variables.get(id(table))
    if owner is None:
        return
    if name not in _AT_KEYS or type(args[0]) is not str:
        raise NotRecordable("attributes change through a `__dict__`")
    segment.written.add((id(owner), args[0]))


def _check_key(segment: SegmentRecorder, kind: type, name: str, args: list[Any]) -> None:
    key = args[0]
    if not (type(key) in ATOMS or (is_constant(key) and kind not in (list, deque))):
        raise NotRecordable(f"a key of type `{type(key).__name__}`")
    if type(key) is slice and name == "__setitem__":
        if type(args[1]) not in (list, tuple):
            raise NotRecordable("a slice of a list from outside is set to what is no list")
        segment.touch(args[1])


def _check_consumed(segment: SegmentRecorder, kind: type, name: str, value: Any) -> None:
    if isinstance(value, torch.Tensor) or (name == "update" and type(value) is not dict):
        raise NotRecordable(f"`{kind.__name__}.{name}` with a `{type(value).__name__}`")
    segment.touch(value)
    if kind is set or (kind is not list and type(value) not in CONTAINERS):
        raise NotRecordable(f"`{kind.__name__}.{name}` with objects")


_FACTORIES: Final = (list, dict, set, tuple, int, float, bool, str, deque, OrderedDict)


def fill_missing(segment: SegmentRecorder, owner: Any, key: Any) -> None:
    """Make the item that a `defaultdict` from outside makes where a key is not there.

    Raises: NotRecordable.
    """
    if type(owner) is not defaultdict or key in owner or owner.default_factory is None:
        return
    factory, guards = owner.default_factory, segment.guards
    if factory not in _FACTORIES:
        raise NotRecordable("a `defaultdict` calls what users wrote")
    if not guards.is_known(owner):
        return
    label = f"{guards.label(owner)}.default_factory"
    guards.meet(factory, f"{guards.names[id(owner)]}.default_factory", label)
    check_change(segment, owner, "__setitem__", [key, None], {})
    change(segment, owner, "__setitem__", [key, factory()], {})


def change(
    segment: SegmentRecorder, owner: Any, name: str, args: list[Any], kwargs: dict[str, Any]
) -> Any:
    """Change a container from outside, now and in each replay.

    Raises: what the change raises; NotRecordable, where it is not seen.
    """
    if name == "update":
        args = [dict(*args, **kwargs)]
    elif name in _CONSUMING:
        args = [tuple(args[0])]
    elif name == "__setitem__" and type(args[0]) is slice:
        args = [args[0], tuple(args[1])]
    segment.will_change(owner)
    result = getattr(type(owner), name)(owner, *args)
    given = ", ".join(f"{{{index + 1}}}" for index in range(len(args)))
    segment.write(owner, f"{{0}}.{name}({given})", *args)
    return result
