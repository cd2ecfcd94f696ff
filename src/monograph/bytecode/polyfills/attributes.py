"""C functions that read, write and delete attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call, call_native
from monograph.bytecode.polyfills.registry import polyfill
from monograph.bytecode.semantics.attributes import (
    delete_attribute,
    delete_plainly,
    get_attribute,
    get_plainly,
    set_attribute,
    set_plainly,
)

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState


def _fits(args: list[Any], kwargs: dict[str, Any], *counts: int) -> bool:
    return len(args) in counts and not kwargs and type(args[1]) is str


@polyfill(getattr)
def got(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Read an attribute, perhaps with a default."""
    if not _fits(args, kwargs, 2, 3):
        return call_native(interpreter, getattr, args, kwargs)
    if len(args) == 2:
        return get_attribute(interpreter, args[0], args[1])
    try:
        return get_attribute(interpreter, args[0], args[1])
    except AttributeError as error:
        if isinstance(error, interpreter.uncatchable):
            raise
        return args[2]


@polyfill(hasattr)
def has(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Tell whether there is an attribute."""
    if not _fits(args, kwargs, 2):
        return call_native(interpreter, hasattr, args, kwargs)
    try:
        get_attribute(interpreter, args[0], args[1])
    except AttributeError as error:
        if isinstance(error, interpreter.uncatchable):
            raise
        return False
    return True


@polyfill(setattr)
def put(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Write an attribute."""
    if not _fits(args, kwargs, 3):
        return call_native(interpreter, setattr, args, kwargs)
    return set_attribute(interpreter, *args)


@polyfill(delattr)
def removed(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Delete an attribute."""
    if not _fits(args, kwargs, 2):
        return call_native(interpreter, delattr, args, kwargs)
    return delete_attribute(interpreter, *args)


@polyfill(object.__setattr__)
def put_plainly(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Write an attribute as plain objects do."""
    if not _fits(args, kwargs, 3) or issubclass(type(args[0]), type):
        return call_native(interpreter, object.__setattr__, args, kwargs)
    return set_plainly(interpreter, *args)


@polyfill(object.__delattr__)
def removed_plainly(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Delete an attribute as plain objects do."""
    if not _fits(args, kwargs, 2) or issubclass(type(args[0]), type):
        return call_native(interpreter, object.__delattr__, args, kwargs)
    return delete_plainly(interpreter, *args)


@polyfill(object.__getattribute__)
def got_plainly(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Read an attribute as plain objects do."""
    if not _fits(args, kwargs, 2) or issubclass(type(args[0]), type):
        return call_native(interpreter, object.__getattribute__, args, kwargs)
    return get_plainly(interpreter, *args)


@polyfill(property.__get__)
def of_property(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Ask a property for its value."""
    if 2 <= len(args) <= 3 and not kwargs and args[1] is not None and args[0].fget is not None:
        return call(interpreter, args[0].fget, [args[1]], {})
    return call_native(interpreter, property.__get__, args, kwargs)
