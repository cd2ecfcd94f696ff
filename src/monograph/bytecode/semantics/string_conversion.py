"""The text of values: `str`, `repr`, `ascii` and `format`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call_function, call_native
from monograph.bytecode.evaluation.native_calls import answering
from monograph.bytecode.evaluation.special_methods import ATOMIC, OURS, SIMPLE, find_special, lookup

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["as_ascii", "as_repr", "as_text", "formatted", "text_of"]

_OBJECT_STR, _OBJECT_FORMAT = lookup(object, "__str__"), lookup(object, "__format__")
_str, _repr, _ascii, _format = str, repr, ascii, format


def text_of(
    interpreter: ThreadState, function: Any, args: list[Any], kwargs: dict[str, Any] | None = None
) -> Any:
    """What a function in C that makes text returns, or what hooks have in its place."""
    ask = interpreter.text
    if ask is not None and not ATOMIC.issuperset(map(type, args)):
        found = ask(function, args, kwargs or {})
        if found is not NotImplemented:
            return found
    return call_native(interpreter, function, args, kwargs or {})


def _answered(function: Any, name: str, answer: Any, *spec: str) -> Any:
    """What a special method in Python answered, checked as C does."""
    return (
        answer
        if type(answer) in OURS
        else native_calls.do(function, answering(name, answer), *spec)
    )


def as_repr(interpreter: ThreadState, value: Any) -> str:
    """Return `repr(value)`."""
    special = find_special(interpreter, type(value), "__repr__")
    if special is not None:
        return _answered(_repr, "__repr__", call_function(interpreter, special, [value], {}))
    return text_of(interpreter, _repr, [value])


def as_text(interpreter: ThreadState, value: Any) -> str:
    """Return `str(value)`."""
    kind = type(value)
    special = find_special(interpreter, kind, "__str__")
    if special is not None:
        return _answered(_str, "__str__", call_function(interpreter, special, [value], {}))
    if kind not in SIMPLE and lookup(kind, "__str__") is _OBJECT_STR:
        return as_repr(interpreter, value)
    return text_of(interpreter, _str, [value])


def as_ascii(interpreter: ThreadState, value: Any) -> str:
    """Return `ascii(value)`."""
    special = find_special(interpreter, type(value), "__repr__")
    if special is not None:
        return _answered(_ascii, "__repr__", call_function(interpreter, special, [value], {}))
    return text_of(interpreter, _ascii, [value])


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
        answer = call_function(interpreter, special, [value, spec], {})
        return _answered(_format, "__format__", answer, spec)
    if not spec and kind not in SIMPLE and lookup(kind, "__format__") is _OBJECT_FORMAT:
        return as_text(interpreter, value)
    return text_of(interpreter, _format, [value, spec])
