"""State that C keeps: read through the buffer protocol or as pickling would, without user code.

Nobody lists the C types there are. An object has such state if it is larger than its slots and its
`__dict__` account for. What can be read neither as bytes nor by `__reduce_ex__`, twice alike, is
opaque: it may be passed around, and whoever calls it changes it.
"""

from __future__ import annotations

import ctypes
import datetime as dt
import enum
import functools
import gc
import re
import struct
import types
import weakref
from contextlib import suppress
from contextvars import ContextVar, Token
from types import MemberDescriptorType
from typing import Any, Final

import numpy as np
import torch

CACHED: Final = type(functools.lru_cache(lambda: None))

_POINTER: Final = object.__basicsize__ // 2
BOUND_TO_C: Final = frozenset(
    {types.BuiltinFunctionType, types.MethodWrapperType, type(re.compile("").match)}
)
"""Kinds of functions in C that know their object, methods and functions of modules."""
FOREIGN_FUNCTION: Final[Any] = ctypes.CFUNCTYPE(None).__base__
"""What ctypes calls functions of libraries in C by: nobody knows what they keep."""
_HAS_NO_STATE: Final = (
    *(type, super, property, staticmethod, classmethod, slice, range, BaseException, enum.Enum),
    *(int, float, complex, str, bytes, np.generic, np.dtype, np.ufunc, functools.cached_property),
    *(types.FunctionType, *BOUND_TO_C, types.MethodType),
    *(types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType),
    *(types.GetSetDescriptorType, types.MemberDescriptorType, types.ModuleType, types.CodeType),
    *(types.CellType, types.FrameType, types.TracebackType, types.MappingProxyType, types.NoneType),
    *(functools.partial, functools.partialmethod, weakref.ReferenceType, *weakref.ProxyTypes),
    *(tuple, frozenset, re.Pattern, re.Match, struct.Struct, ContextVar, Token),
    *(
        type(dt.datetime_CAPI),
        torch.Tensor,
        torch.Generator,
        CACHED,
        type({}.keys()),
    ),
    *(type({}.values()), type({}.items()), types.CoroutineType, types.GenericAlias),
)
"""Values, functions, and what leads to others without changing itself."""
_BUFFERS: Final = (memoryview, bytearray, ctypes.Structure.__base__ or object)
"""Buffers that say they can be hashed, and cannot as long as they can be written to."""
_OF_FUNCTIONS: Final = frozenset({"torch", "pybind11_builtins"})
"""Packages whose objects in C are looked after elsewhere, or are what functions are made of."""
_PYTHON: Final = ("__reduce_ex__", "__reduce__", "__getstate__", "__getnewargs__", "__copy__")
_DEEPEST: Final = 6
_ATOMS: Final = frozenset({int, float, complex, bool, str, bytes, type(None)})
UNKNOWN: Final = object()
"""What is read of an object that is opaque."""


def package_of(kind: type) -> str:
    """The package that a class says it is of; Cython's functions have no text there.

    >>> package_of(dict)
    'builtins'
    """
    module: Any = kind.__module__
    return module.partition(".")[0] if isinstance(module, str) else ""


def keeps_state(kind: type) -> bool:
    """Whether objects of a type hold what is in no `__dict__` and no slot, and may change."""
    package = package_of(kind)
    if package in _OF_FUNCTIONS or issubclass(kind, _HAS_NO_STATE):
        return False
    if issubclass(kind, _BUFFERS):
        return True
    if type(kind.__hash__) is types.WrapperDescriptorType and kind.__hash__ is not object.__hash__:
        return False  # a value
    known = object.__basicsize__ + _POINTER * (
        _n_slots(kind) + (kind.__dictoffset__ > 0) + (kind.__weakrefoffset__ > 0)
    )
    return kind.__basicsize__ > known


def _n_slots(kind: type) -> int:
    return sum(
        type(place) is MemberDescriptorType
        for cls in kind.__mro__
        if "__slots__" in cls.__dict__
        for place in cls.__dict__.values()
    )


def read_native(owner: Any) -> Any:
    """Bytes of a buffer, or what pickling would keep; `UNKNOWN` where neither can be had."""
    if isinstance(owner, FOREIGN_FUNCTION):
        return UNKNOWN
    try:
        with memoryview(owner) as memory:
            return memory.tobytes()
    except (TypeError, ValueError, BufferError):
        pass
    if any(type(getattr(type(owner), name, None)) is types.FunctionType for name in _PYTHON):
        return UNKNOWN
    try:
        one, other = (_frozen(owner.__reduce_ex__(4), _DEEPEST) for _ in range(2))
    except Exception:  # noqa: BLE001 - C may raise anything: then it cannot be pickled
        return UNKNOWN
    return one if same_native(one, other) else UNKNOWN


def write_native(owner: Any, content: Any) -> None:
    """Give a buffer what it held; whatever else C keeps stays as it is.

    While a memoryview looks into a buffer its length cannot change: bytes alone are put back.
    """
    if not isinstance(content, bytes):
        return
    with suppress(BufferError):
        if hasattr(owner, "frombytes"):
            del owner[:]
            owner.frombytes(content)
        elif isinstance(owner, bytearray):
            owner[:] = content
    there = np.frombuffer(owner, np.uint8) if memoryview(owner).nbytes else np.empty(0, np.uint8)
    if there.flags.writeable:
        size = min(there.nbytes, len(content))
        there[:size] = np.frombuffer(content, np.uint8)[:size]


def same_native(one: Any, other: Any) -> bool:
    """Whether two readings hold the same objects, or equal numbers and texts."""
    if one is other:
        return one is not UNKNOWN
    if type(one) is not type(other):
        return False
    if type(one) is tuple:
        return len(one) == len(other) and all(map(same_native, one, other))
    return type(one) in _ATOMS and one == other


def objects_in(content: Any) -> list[Any]:
    """The objects that such a reading leads to."""
    if type(content) is tuple:
        return [found for each in content for found in objects_in(each)]
    return [] if type(content) in _ATOMS or content is UNKNOWN else [content]


def _frozen(value: Any, depth: int) -> Any:
    """A copy of nested lists, tuples and dicts, as tuples."""
    kind = type(value)
    if depth and kind in (list, tuple):
        return tuple([_frozen(each, depth - 1) for each in value])
    if depth and kind is dict:
        return tuple([_frozen(each, depth - 1) for each in value.items()])
    return bytes(value) if kind is bytearray else value


def referent_of(proxy: Any) -> tuple[Any, ...]:
    """The object that a weak proxy stands for, which knows its methods; nothing if it ended."""
    try:
        return (proxy.__reduce_ex__.__self__,)
    except (ReferenceError, AttributeError):
        return ()


def calls_of(cached: Any) -> set[Any]:
    """The calls that a function under `lru_cache` remembers."""
    is_typed = cached.cache_parameters()["typed"]
    return {with_types(cached, _call_of(key, is_typed)) for key in _table_of(cached)[1]}


def results_of_calls(cached: Any) -> list[Any]:
    """What these calls gave; beside it, their arguments."""
    others, table = _table_of(cached)
    is_bounded = cached.cache_parameters()["maxsize"] is not None
    return others if is_bounded else [*table.values()]


def _table_of(cached: Any) -> tuple[list[Any], dict[Any, Any]]:
    """What the collector sees of it: keys and results, where a bound orders them; then the table.

    And after that the function.
    """
    own, found = vars(cached), gc.get_referents(cached)
    last = max((at for at, o in enumerate(found) if type(o) is dict and o is not own), default=None)
    return ([], {}) if last is None else (found[:last], found[last])


def _call_of(key: Any, is_typed: bool) -> tuple[Any, ...]:  # noqa: FBT001
    """The arguments that C made a key of: one number or text, or a tuple with a mark in it."""
    if type(key) is not tuple:
        return (key,), ()
    mark = next((at for at, each in enumerate(key) if type(each) is object), None)
    if mark is None:
        return key[: len(key) // 2] if is_typed else key, ()
    rest = key[mark + 1 :]
    n_named = (len(rest) - mark) // 3 if is_typed else len(rest) // 2
    return key[:mark], tuple(zip(rest[: 2 * n_named : 2], rest[1 : 2 * n_named : 2], strict=True))


def with_types(cached: Any, call: tuple[Any, ...]) -> tuple[Any, ...]:
    """With the classes of the arguments, where the cache tells 1 from 1.0."""
    if not cached.cache_parameters()["typed"]:
        return call
    return (*call, *map(type, call[0]), *(type(each) for _, each in call[1]))
