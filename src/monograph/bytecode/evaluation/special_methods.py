"""Special methods, looked up on types: the questions CPython answers with its slots.

Special methods are found on the type, never on the object; a C type's are C functions, which run
natively, so what matters is which of them are Python functions that the policy enters.
"""

from __future__ import annotations

from threading import local
from types import (
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodDescriptorType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, TypeVar

from monograph.bytecode.evaluation.frame import MISSING

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = [
    "ATOMIC",
    "MUTABLE",
    "OURS",
    "SIMPLE",
    "find_c_method",
    "find_special",
    "lookup",
    "ours",
    "own_attributes",
]

Class = TypeVar("Class", bound=type)

SIMPLE: frozenset[type] = frozenset(
    {
        *(bool, bytearray, bytes, complex, dict, float, frozenset, int, list, range, set),
        *(slice, str, tuple, type(None), type(Ellipsis), type(NotImplemented)),
    }
)
"""Exact types none of whose operators is written in Python."""

ATOMIC: frozenset[type] = frozenset(
    {
        *(bool, bytes, complex, float, int, range, str),
        *(type(None), type(Ellipsis), type(NotImplemented)),
    }
)
"""Those of them that hold nothing else: to hash or compare them calls no Python."""

MUTABLE: tuple[type, ...] = (list, dict, set, bytearray)
"""Builtin containers that in-place operators and methods change."""


OURS: set[type] = set()
"""Classes of this package whose objects programs hold: their Python is never interpreted."""


def ours(kind: Class) -> Class:
    """Enter a class into OURS."""
    OURS.add(kind)
    return kind


def lookup(kind: type, name: str) -> Any:
    """Return what a type or one of its bases defines under a name, unbound, or MISSING."""
    if type(kind) is not type:
        return _lookup_past_metaclass(kind, name)
    for base in kind.__mro__:
        namespace = base.__dict__
        if name in namespace:
            return namespace[name]
    return MISSING


# A metaclass may have attributes of these names.
_get_mro = type.__dict__["__mro__"].__get__
_get_dict = type.__dict__["__dict__"].__get__


def _lookup_past_metaclass(kind: type, name: str) -> Any:
    for base in _get_mro(kind):
        namespace = _get_dict(base)
        if name in namespace:
            return namespace[name]
    return MISSING


def own_attributes(owner: Any) -> dict[str, Any]:
    """Return the object's own `__dict__`, whatever its class calls so; an empty one if none.

    Of `threading.local`, this thread's.
    """
    kind = type(owner)
    if issubclass(kind, local):
        return local.__getattribute__(owner, "__dict__")
    for base in _get_mro(kind) if kind.__dictoffset__ else ():
        found = _get_dict(base).get("__dict__")
        if type(found) in _DICTS:
            return found.__get__(owner)
    return {}


_DICTS = frozenset({GetSetDescriptorType, MemberDescriptorType})


def find_special(interpreter: ThreadState, kind: type, name: str) -> FunctionType | None:
    """Return the Python function that a type defines as a special method, if it is to be entered.

    None where there is none, where it is a C function, and where the policy wants it to be native.
    """
    if kind in SIMPLE or kind in OURS:
        return None
    found = lookup(kind, name)
    if type(found) is not FunctionType:
        return None
    if interpreter.stays_outside(found, "a special method that the policy does not enter"):
        return None
    return found


def find_c_method(kind: type, name: str) -> Any:
    """Return the first definition of a method that is written in C, or None."""
    for base in kind.__mro__:
        found = base.__dict__.get(name)
        if type(found) in _C_METHODS:
            return found
    return None


_C_METHODS = frozenset({MethodDescriptorType, WrapperDescriptorType})
