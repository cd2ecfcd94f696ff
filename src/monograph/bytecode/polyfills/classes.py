"""Making classes: bodies are interpreted, metaclasses called as any other callee."""

from __future__ import annotations

import builtins
import types
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call, call_native, construct
from monograph.bytecode.evaluation.frame import MISSING, cell_contents
from monograph.bytecode.polyfills.registry import polyfill
from monograph.bytecode.polyfills.scopes import run_code
from monograph.bytecode.semantics.attributes import get_attribute

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState


@polyfill(builtins.__build_class__)
def build_class(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Do what a `class` statement does."""
    if len(args) < 2 or type(args[0]) is not FunctionType or not isinstance(args[1], str):
        return call_native(interpreter, builtins.__build_class__, args, kwargs)
    body, name, *given = args
    bases = types.resolve_bases(tuple(given))
    kwargs = dict(kwargs)
    meta = kwargs.pop("metaclass", MISSING)
    if meta is MISSING:
        meta = type(bases[0]) if bases else type
    if isinstance(meta, type):
        meta = _most_derived(meta, bases)
    names = _prepared(interpreter, meta, name, bases, kwargs)
    if bases != tuple(given):
        names["__orig_bases__"] = tuple(given)
    closure = body.__closure__
    cell = run_code(interpreter, body.__code__, body.__globals__, names, closure)
    made = call(interpreter, meta, [name, bases, names], kwargs)
    if isinstance(made, type) and isinstance(cell, CellType):
        _check_cell(cell, made, name)
    return made


def _most_derived(meta: type, bases: tuple[Any, ...]) -> type:
    winner = meta
    for base in bases:
        kind = type(base)
        if issubclass(winner, kind):
            continue
        if not issubclass(kind, winner):
            raise TypeError(
                "metaclass conflict: the metaclass of a derived class must be a (non-strict) "
                "subclass of the metaclasses of all its bases"
            )
        winner = kind
    return winner


def _prepared(
    interpreter: ThreadState,
    meta: Any,
    name: str,
    bases: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if not hasattr(meta, "__prepare__"):
        return {}
    prepare = get_attribute(interpreter, meta, "__prepare__")
    names = call(interpreter, prepare, [name, bases], kwargs)
    if not hasattr(type(names), "__getitem__"):
        owner = meta.__name__ if isinstance(meta, type) else "<metaclass>"
        kind = type(names).__name__
        raise TypeError(f"{owner}.__prepare__() must return a mapping, not {kind}")
    return names


def _check_cell(cell: CellType, made: type, name: str) -> None:
    """Raise what CPython raises where a metaclass lost the cell that `super()` needs."""
    held = cell_contents(cell)
    if held is MISSING:
        raise RuntimeError(
            f"__class__ not set defining {name!r} as {made!r}. "
            "Was __classcell__ propagated to type.__new__?"
        )
    if held is not made:
        raise TypeError(f"__class__ set to {held!r} defining {name!r} as {made!r}")


@polyfill(type.__new__)
def new_type(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Make a type; it belongs to the module of the interpreted frame."""
    frame = interpreter.current
    if len(args) == 4 and frame is not None and isinstance(args[3], dict):
        names = args[3]
        module = frame.globals.get("__name__")
        if "__module__" not in names and module is not None:
            args = [*args[:3], {**names, "__module__": module}]
    return call_native(interpreter, type.__new__, args, kwargs)


@polyfill(type)
def type_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return the type of an object, or make one."""
    if len(args) == 3 and isinstance(args[1], tuple):
        winner = _most_derived(type, args[1])
        if winner is not type:
            return construct(interpreter, winner, args, kwargs)
        return new_type(interpreter, [type, *args], kwargs)
    return call_native(interpreter, type, args, kwargs)


@polyfill(type.__call__)
def make(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Make an object of a class, past its metaclass."""
    if not args or not isinstance(args[0], type):
        return call_native(interpreter, type.__call__, args, kwargs)
    return construct(interpreter, args[0], args[1:], kwargs)


@polyfill(FunctionType.__call__)
def called(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call a function."""
    return call(interpreter, args[0], args[1:], kwargs)
