"""From the arguments of a call to the slots of a frame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.frame import MISSING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType, FunctionType

    from monograph.bytecode.evaluation.frame import Body

__all__ = ["bind"]

_VARARGS = 0x04
_VARKEYWORDS = 0x08


def bind(
    function: FunctionType, body: Body, args: list[Any], kwargs: Mapping[str, Any]
) -> list[Any]:
    """Return the slots of a new frame. Raises: TypeError where the arguments do not fit."""
    slots = body.empty.copy()
    if not kwargs and len(args) == body.n_plain:
        slots[: len(args)] = args
        return slots
    code = function.__code__
    fits = _positional(code, slots, args)
    if kwargs or code.co_flags & _VARKEYWORDS:
        fits = _keywords(code, body, slots, kwargs) and fits
    if not (fits and _defaults(function, code, slots)):
        native_calls.refuse_arguments(function, args, kwargs)
        raise AssertionError("CPython takes the arguments that we refuse")
    return slots


def _positional(code: CodeType, slots: list[Any], args: list[Any]) -> bool:
    n_positional = code.co_argcount
    has_rest = bool(code.co_flags & _VARARGS)
    if has_rest:
        slots[n_positional + code.co_kwonlyargcount] = tuple(args[n_positional:])
    n_given = min(len(args), n_positional)
    slots[:n_given] = args[:n_given]
    return has_rest or len(args) <= n_positional


def _keywords(code: CodeType, body: Body, slots: list[Any], kwargs: Mapping[str, Any]) -> bool:
    rest: dict[str, Any] | None = None
    if code.co_flags & _VARKEYWORDS:
        n_named = code.co_argcount + code.co_kwonlyargcount
        rest = slots[n_named + bool(code.co_flags & _VARARGS)] = {}
    for name, value in kwargs.items():
        slot = body.parameters.get(name)
        if slot is None:
            if rest is None:
                return False
            rest[name] = value
        elif slots[slot] is not MISSING:
            return False
        else:
            slots[slot] = value
    return True


def _defaults(function: FunctionType, code: CodeType, slots: list[Any]) -> bool:
    n_positional = code.co_argcount
    defaults = function.__defaults__ or ()
    first = n_positional - len(defaults)
    for slot in range(n_positional):
        if slots[slot] is MISSING:
            if slot < first:
                return False
            slots[slot] = defaults[slot - first]
    if code.co_kwonlyargcount:
        named = function.__kwdefaults__ or {}
        for slot in range(n_positional, n_positional + code.co_kwonlyargcount):
            if slots[slot] is MISSING:
                name = code.co_varnames[slot]
                if name not in named:
                    return False
                slots[slot] = named[name]
    return True
