"""C functions that call special methods: `len`, `str`, `isinstance`, the module `operator`."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call_function, call_native, interpret_always
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.native_calls import answering
from monograph.bytecode.evaluation.special_methods import SIMPLE, find_special, lookup
from monograph.bytecode.polyfills.in_python import is_, is_not
from monograph.bytecode.polyfills.registry import polyfill
from monograph.bytecode.semantics.items import delete_item, get_item, set_item
from monograph.bytecode.semantics.membership import contains
from monograph.bytecode.semantics.operators import (
    BINARY,
    COMPARISONS,
    binary,
    compare,
    truth,
    unary,
)
from monograph.bytecode.semantics.string_conversion import as_ascii, as_repr, as_text, formatted

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState


def _asking(function: Any, *names: str) -> None:
    """Let a C function of one value ask the first of some special methods that is in Python.

    What it answers is handed to the C function itself, which checks it.
    """

    @polyfill(function)
    def asked(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1 and not kwargs and type(args[0]) not in SIMPLE:
            for name in names:
                if lookup(type(args[0]), name) is not MISSING:
                    special = find_special(interpreter, type(args[0]), name)
                    if special is None:
                        break
                    answer = answering(name, call_function(interpreter, special, args, {}))
                    return call_native(interpreter, function, [answer], {})
        return call_native(interpreter, function, args, kwargs)

    del asked


_asking(len, "__len__")
_asking(hash, "__hash__")
_asking(int, "__int__", "__index__", "__trunc__")
_asking(float, "__float__", "__index__")
_asking(complex, "__complex__", "__float__", "__index__")
_asking(operator.index, "__index__")
_asking(bin, "__index__")
_asking(hex, "__index__")
_asking(oct, "__index__")
_asking(bytes, "__bytes__")
_asking(operator.length_hint, "__len__", "__length_hint__")


def _returning(function: Any, name: str) -> None:
    """Let a C function ask a special method whose answer it does not check."""

    @polyfill(function)
    def asked(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if args and not kwargs:
            special = find_special(interpreter, type(args[0]), name)
            if special is not None:
                return call_function(interpreter, special, args, {})
        return call_native(interpreter, function, args, kwargs)

    del asked


_returning(abs, "__abs__")
_returning(reversed, "__reversed__")
_returning(round, "__round__")
_returning(math.trunc, "__trunc__")
_returning(math.floor, "__floor__")
_returning(math.ceil, "__ceil__")


polyfill(str, takes=(1,))(as_text)
polyfill(repr, takes=(1,))(as_repr)
polyfill(ascii, takes=(1,))(as_ascii)


@polyfill(format)
def format_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Format a value."""
    if len(args) not in (1, 2) or kwargs or not isinstance(args[-1] if args[1:] else "", str):
        return call_native(interpreter, format, args, kwargs)
    return formatted(interpreter, args[0], args[1] if len(args) == 2 else "")


@polyfill(print)
def printed(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Print the text of values."""
    return call_native(interpreter, print, [as_text(interpreter, v) for v in args], kwargs)


@polyfill(bool, operator.truth, takes=(1,))
def bool_of(interpreter: ThreadState, value: Any) -> bool:
    """Tell whether a value is true."""
    return truth(interpreter, value)


@polyfill(operator.not_, takes=(1,))
def not_of(interpreter: ThreadState, value: Any) -> bool:
    """Tell whether a value is false."""
    return not truth(interpreter, value)


@polyfill(operator.is_, takes=(2,))
def is_one(interpreter: ThreadState, left: Any, right: Any) -> Any:
    """Tell whether two values are the same object."""
    return interpret_always(interpreter, is_, [left, right])


@polyfill(operator.is_not, takes=(2,))
def is_another(interpreter: ThreadState, left: Any, right: Any) -> Any:
    """Tell whether two values are two objects."""
    return interpret_always(interpreter, is_not, [left, right])


def _checks(interpreter: ThreadState, function: Any, name: str, value: Any, classes: Any) -> bool:
    if isinstance(classes, tuple):
        return any(_checks(interpreter, function, name, value, cls) for cls in classes)
    kind = type(classes)
    if kind is not type and (function is issubclass or type(value) is not classes):
        special = find_special(interpreter, kind, name)
        if special is not None:
            answer = call_function(interpreter, special, [classes, value], {})
            return truth(interpreter, answer)
    return call_native(interpreter, function, [value, classes], {})


@polyfill(isinstance, takes=(2,))
def is_instance(interpreter: ThreadState, value: Any, classes: Any) -> bool:
    """Ask a metaclass that answers in Python."""
    return _checks(interpreter, isinstance, "__instancecheck__", value, classes)


@polyfill(issubclass, takes=(2,))
def is_subclass(interpreter: ThreadState, value: Any, classes: Any) -> bool:
    """Ask a metaclass that answers in Python."""
    return _checks(interpreter, issubclass, "__subclasscheck__", value, classes)


@polyfill(divmod, takes=(2,))
def divided(interpreter: ThreadState, left: Any, right: Any) -> Any:
    """Divide with remainder."""
    for value, other, name in ((left, right, "__divmod__"), (right, left, "__rdivmod__")):
        special = find_special(interpreter, type(value), name)
        if special is not None:
            answer = call_function(interpreter, special, [value, other], {})
            if answer is not NotImplemented:
                return answer
    return call_native(interpreter, divmod, [left, right], {})


@polyfill(pow)
def powered(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Raise to a power."""
    if len(args) == 2 and not kwargs:
        return binary(interpreter, BINARY["**"], *args)
    if args:
        special = find_special(interpreter, type(args[0]), "__pow__")
        if special is not None:
            return call_function(interpreter, special, args, kwargs)
    return call_native(interpreter, pow, args, kwargs)


for _row in BINARY.values():
    polyfill(_row.function, takes=(2,))(
        lambda interpreter, left, right, row=_row: binary(interpreter, row, left, right)
    )
for _symbol, (_function, _, _) in COMPARISONS.items():
    polyfill(_function, takes=(2,))(
        lambda interpreter, left, right, symbol=_symbol: compare(interpreter, symbol, left, right)
    )
for _name in ("neg", "pos", "invert"):
    polyfill(getattr(operator, _name), takes=(1,))(
        lambda interpreter, value, name=f"__{_name}__": unary(interpreter, name, value)
    )
polyfill(operator.getitem, takes=(2,))(get_item)
polyfill(operator.setitem, takes=(3,))(set_item)
polyfill(operator.delitem, takes=(2,))(delete_item)
polyfill(operator.contains, takes=(2,))(contains)
