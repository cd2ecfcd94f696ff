"""C functions that call special methods: `len`, `str`, `isinstance`, the module `operator`."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call_function, call_native
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.native_calls import answering
from monograph.bytecode.evaluation.special_methods import SIMPLE, find_special, lookup
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
_returning(round, "__round__")
_returning(math.trunc, "__trunc__")
_returning(math.floor, "__floor__")
_returning(math.ceil, "__ceil__")


def _wording(function: Any, words: Any) -> None:
    """Let a C function that makes text of a value ask Python."""

    @polyfill(function)
    def worded(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if len(args) == 1 and not kwargs:
            return words(interpreter, args[0])
        return call_native(interpreter, function, args, kwargs)

    del worded


_wording(str, as_text)
_wording(repr, as_repr)
_wording(ascii, as_ascii)


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


@polyfill(bool, operator.truth)
def bool_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Tell whether a value is true."""
    if len(args) != 1 or kwargs:
        return call_native(interpreter, bool, args, kwargs)
    return truth(interpreter, args[0])


@polyfill(operator.not_)
def not_of(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Tell whether a value is false."""
    if len(args) != 1 or kwargs:
        return call_native(interpreter, operator.not_, args, kwargs)
    return not truth(interpreter, args[0])


def _checking(function: Any, name: str) -> None:
    """Let `isinstance` and `issubclass` ask a metaclass that answers in Python."""

    @polyfill(function)
    def checked(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if len(args) != 2 or kwargs:
            return call_native(interpreter, function, args, kwargs)
        return _checks(interpreter, function, name, *args)

    del checked


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


_checking(isinstance, "__instancecheck__")
_checking(issubclass, "__subclasscheck__")


@polyfill(divmod)
def divided(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Divide with remainder."""
    if len(args) == 2 and not kwargs:
        for value, other, name in ((args[0], args[1], "__divmod__"), (*args[::-1], "__rdivmod__")):
            special = find_special(interpreter, type(value), name)
            if special is not None:
                answer = call_function(interpreter, special, [value, other], {})
                if answer is not NotImplemented:
                    return answer
    return call_native(interpreter, divmod, args, kwargs)


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


def _two(function: Any, compute: Any) -> None:
    """Let a function of `operator` of two operands do what the instruction does."""

    @polyfill(function)
    def computed(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if len(args) != 2 or kwargs:
            return call_native(interpreter, function, args, kwargs)
        return compute(interpreter, *args)

    del computed


def _binary(row: Any) -> Any:
    return lambda interpreter, left, right: binary(interpreter, row, left, right)


def _comparison(symbol: str) -> Any:
    return lambda interpreter, left, right: compare(interpreter, symbol, left, right)


def _unary(name: str) -> Any:
    return lambda interpreter, value: unary(interpreter, name, value)


for _row in BINARY.values():
    _two(_row.function, _binary(_row))
for _symbol, (_function, _, _) in COMPARISONS.items():
    _two(_function, _comparison(_symbol))
_two(operator.getitem, get_item)
_two(operator.delitem, delete_item)
_two(operator.contains, contains)
for _function, _name in ((operator.neg, "__neg__"), (operator.pos, "__pos__")):
    _wording(_function, _unary(_name))
_wording(operator.invert, _unary("__invert__"))


@polyfill(operator.setitem)
def item_set(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Set an item."""
    if len(args) != 3 or kwargs:
        return call_native(interpreter, operator.setitem, args, kwargs)
    return set_item(interpreter, *args)
