"""The text of values: `str`, `repr`, `ascii` and `format`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call_function, call_native
from monograph.bytecode.evaluation.native_calls import answering
from monograph.bytecode.evaluation.special_methods import SIMPLE, find_special, lookup

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["as_ascii", "as_repr", "as_text", "formatted"]

_OBJECT_STR, _OBJECT_FORMAT = lookup(object, "__str__"), lookup(object, "__format__")
_str, _repr, _ascii, _format = str, repr, ascii, format


def as_repr(interpreter: ThreadState, value: Any) -> str:
    """Return `repr(value)`."""
    special = find_special(interpreter, type(value), "__repr__")
    if special is not None:
        return native_calls.do(
            _repr, answering("__repr__", call_function(interpreter, special, [value], {}))
        )
    return call_native(interpreter, _repr, [value], {})


def as_text(interpreter: ThreadState, value: Any) -> str:
    """Return `str(value)`."""
    kind = type(value)
    special = find_special(interpreter, kind, "__str__")
    if special is not None:
        return native_calls.do(
            _str, answering("__str__", call_function(interpreter, special, [value], {}))
        )
    if kind not in SIMPLE and lookup(kind, "__str__") is _OBJECT_STR:
        return as_repr(interpreter, value)
    return call_native(interpreter, _str, [value], {})


def as_ascii(interpreter: ThreadState, value: Any) -> str:
    """Return `ascii(value)`."""
    special = find_special(interpreter, type(value), "__repr__")
    if special is not None:
        return native_calls.do(
            _ascii, answering("__repr__", call_function(interpreter, special, [value], {}))
        )
    return call_native(interpreter, _ascii, [value], {})


def formatted(interpreter: ThreadState, value: Any, spec: str) -> str:
    """Return `format(value, spec)`."""
    ask = interpreter.replacement
    if ask is not None:
        other = ask(_format, [value, spec], {}, interpreter.current)
        if other is not None:
            return call_native(interpreter, other, [value, spec], {})
    kind = type(value)
    special = find_special(interpreter, kind, "__format__")
    if special is not None:
        answer = answering("__format__", call_function(interpreter, special, [value, spec], {}))
        return native_calls.do(_format, answer, spec)
    if not spec and kind not in SIMPLE and lookup(kind, "__format__") is _OBJECT_FORMAT:
        return as_text(interpreter, value)
    return call_native(interpreter, _format, [value, spec], {})
