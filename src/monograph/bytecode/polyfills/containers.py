"""C methods that change builtin containers: the hooks are told before they do."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call_native
from monograph.bytecode.polyfills.registry import polyfill
from monograph.bytecode.semantics.items import tell_item
from monograph.bytecode.semantics.iteration import lend_iterable
from monograph.bytecode.semantics.mappings import lend_mapping
from monograph.bytecode.semantics.operators import tell_contents

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState


def _telling(method: Any) -> None:
    """Tell of a change as a whole; what the method is given to iterate over is lent to it."""

    @polyfill(method)
    def told(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if args:
            tell_contents(interpreter, args[0])
        return call_native(interpreter, method, args, kwargs)

    del told


def _taking(method: Any) -> None:
    """As `_telling`, of methods that take iterables."""

    @polyfill(method)
    def told(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if args:
            tell_contents(interpreter, args[0])
        lent = [*args[:1], *(lend_iterable(interpreter, value) for value in args[1:])]
        return call_native(interpreter, method, lent, kwargs)

    del told


for _cls in (list, deque, bytearray):
    for _name in ("append", "clear", "insert", "pop", "remove", "reverse"):
        _telling(_cls.__dict__[_name])
    _taking(_cls.__dict__["extend"])
    for _name in ("__iadd__", "__imul__", "__delitem__"):
        _telling(_cls.__dict__[_name])
for _name in ("appendleft", "popleft", "rotate"):
    _telling(deque.__dict__[_name])
_taking(deque.__dict__["extendleft"])
for _name in ("add", "clear", "discard", "pop", "remove"):
    _telling(set.__dict__[_name])
for _name in (
    *("difference_update", "intersection_update", "symmetric_difference_update", "update"),
    *("__iand__", "__ior__", "__isub__", "__ixor__"),
):
    _taking(set.__dict__[_name])
for _cls in (dict, OrderedDict, defaultdict):
    for _name in ("clear", "pop", "popitem", "__ior__"):
        if _name in _cls.__dict__:
            _telling(_cls.__dict__[_name])
_telling(OrderedDict.__dict__["move_to_end"])


def _updating(method: Any) -> None:
    @polyfill(method)
    def told(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Update a dict from mappings and pairs."""
        if args:
            tell_contents(interpreter, args[0])
        if len(args) == 2:
            has_keys = hasattr(args[1], "keys")
            lend = lend_mapping if has_keys else lend_iterable
            args = [args[0], lend(interpreter, args[1])]
        return call_native(interpreter, method, args, kwargs)

    del told


def _defaulting(method: Any) -> None:
    @polyfill(method)
    def told(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Set an item that is missing."""
        if (
            interpreter.written is not None
            and len(args) > 1
            and not call_native(interpreter, dict.__contains__, args[:2], {})
        ):
            tell_item(interpreter, args[0], args[1])
        return call_native(interpreter, method, args, kwargs)

    del told


def _setting(method: Any) -> None:
    @polyfill(method)
    def told(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """Set an item, past a `__setitem__` in Python."""
        if len(args) == 3:
            tell_item(interpreter, args[0], args[1])
        return call_native(interpreter, method, args, kwargs)

    del told


_updating(dict.__dict__["update"])
_updating(OrderedDict.__dict__["update"])
for _cls in (dict, OrderedDict):
    _defaulting(_cls.__dict__["setdefault"])
for _cls in (list, dict, OrderedDict, deque, bytearray):
    _setting(_cls.__dict__["__setitem__"])
for _cls in (dict, OrderedDict):
    _telling(_cls.__dict__["__delitem__"])
