"""Instructions that build containers and take them apart."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call_native
from monograph.bytecode.evaluation.special_methods import ATOMIC, MISSING, SIMPLE, lookup
from monograph.bytecode.opcodes.registry import opcode
from monograph.bytecode.semantics.iteration import (
    END,
    advance,
    get_iterator,
    lend_iterable,
)
from monograph.bytecode.semantics.mappings import lend_mapping
from monograph.bytecode.semantics.operators import tell_contents

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame


@opcode
def BUILD_TUPLE(frame: InterpreterFrame, n: int) -> None:
    """Replace n values by a tuple."""
    frame.stack.append(tuple(_pop(frame, n)))


@opcode
def BUILD_LIST(frame: InterpreterFrame, n: int) -> None:
    """Replace n values by a list."""
    frame.stack.append(_pop(frame, n))


@opcode
def BUILD_SET(frame: InterpreterFrame, n: int) -> None:
    """Replace n values by a set."""
    made: set[Any] = set()
    for value in _pop(frame, n):
        _add(frame, made, value)
    frame.stack.append(made)


@opcode
def BUILD_MAP(frame: InterpreterFrame, n: int) -> None:
    """Replace n pairs by a dict."""
    values = _pop(frame, 2 * n)
    made: dict[Any, Any] = {}
    for key, value in zip(values[::2], values[1::2], strict=True):
        _put(frame, made, key, value)
    frame.stack.append(made)


@opcode
def BUILD_CONST_KEY_MAP(frame: InterpreterFrame, n: int) -> None:
    """Replace n values and a tuple of keys by a dict."""
    keys = frame.stack.pop()
    frame.stack.append(dict(zip(keys, _pop(frame, n), strict=True)))


@opcode
def BUILD_SLICE(frame: InterpreterFrame, n: int) -> None:
    """Replace two or three bounds by a slice."""
    frame.stack.append(slice(*_pop(frame, n)))


@opcode
def LIST_APPEND(frame: InterpreterFrame, n: int) -> None:
    """Append to a list that is being built."""
    value = frame.stack.pop()
    _tell_copies(frame, frame.stack[-n])
    frame.stack[-n].append(value)


@opcode
def SET_ADD(frame: InterpreterFrame, n: int) -> None:
    """Add to a set that is being built."""
    value = frame.stack.pop()
    _tell_copies(frame, frame.stack[-n])
    _add(frame, frame.stack[-n], value)


@opcode
def MAP_ADD(frame: InterpreterFrame, n: int) -> None:
    """Put a pair into a dict that is being built."""
    value, key = frame.stack.pop(), frame.stack.pop()
    _tell_copies(frame, frame.stack[-n])
    _put(frame, frame.stack[-n], key, value)


def _add(frame: InterpreterFrame, made: set[Any], value: Any) -> None:
    """Add to a set, for which C calls the value's `__hash__` and `__eq__`."""
    if type(value) in ATOMIC:
        made.add(value)
    else:
        call_native(frame.interpreter, made.add, [value], {})


def _put(frame: InterpreterFrame, made: dict[Any, Any], key: Any, value: Any) -> None:
    """Put a pair into a dict, for which C calls the key's `__hash__` and `__eq__`."""
    if type(key) in ATOMIC:
        made[key] = value
    else:
        call_native(frame.interpreter, made.__setitem__, [key, value], {})


def _tell_copies(frame: InterpreterFrame, owner: Any) -> None:
    """What a comprehension builds is nobody else's, unless this frame is one of two copies."""
    if frame.is_copy:
        tell_contents(frame.interpreter, owner)


@opcode
def LIST_EXTEND(frame: InterpreterFrame, n: int) -> None:
    """Extend a list that is being built."""
    interpreter = frame.interpreter
    iterable = frame.stack.pop()
    kind = type(iterable)
    if kind not in SIMPLE and not _is_iterable(kind):
        raise TypeError(f"Value after * must be an iterable, not {kind.__name__}")
    target = frame.stack[-n]
    call_native(interpreter, target.extend, [lend_iterable(interpreter, iterable)], {})


@opcode
def SET_UPDATE(frame: InterpreterFrame, n: int) -> None:
    """Add several values to a set that is being built."""
    interpreter = frame.interpreter
    iterable = lend_iterable(interpreter, frame.stack.pop())
    call_native(interpreter, frame.stack[-n].update, [iterable], {})


@opcode
def DICT_UPDATE(frame: InterpreterFrame, n: int) -> None:
    """Put a mapping into a dict that is being built."""
    mapping = frame.stack.pop()
    if not isinstance(mapping, dict) and not hasattr(mapping, "keys"):
        raise TypeError(f"'{type(mapping).__name__}' object is not a mapping")
    interpreter = frame.interpreter
    lent = lend_mapping(interpreter, mapping)
    call_native(interpreter, frame.stack[-n].update, [lent], {})


@opcode
def DICT_MERGE(frame: InterpreterFrame, n: int) -> None:
    """Put a mapping into the keywords of a call, each of which may come once."""
    mapping = frame.stack.pop()
    keywords = frame.stack[-n]
    if not issubclass(type(mapping), dict):
        if not hasattr(mapping, "keys"):
            kind = type(mapping).__name__
            words = f"argument after ** must be a mapping, not {kind}"
            raise TypeError(f"{_callee(frame, n)} {words}")
        mapping = lend_mapping(frame.interpreter, mapping)
    elif not keywords:
        keywords.update(lend_mapping(frame.interpreter, mapping))
        return
    for key, value in lend_mapping(frame.interpreter, mapping).items():
        if key in keywords:
            words = f"got multiple values for keyword argument '{key}'"
            raise TypeError(f"{_callee(frame, n)} {words}")
        keywords[key] = value


def _callee(frame: InterpreterFrame, n: int) -> str:
    """Return how CPython names what a call is about to call, which stands below its arguments."""
    callee = frame.stack[-n - 2]
    name = getattr(callee, "__qualname__", None)
    module = getattr(callee, "__module__", None)
    if name is None:
        return f"{callee!s}()"
    return f"{name}()" if module in (None, "builtins") else f"{module}.{name}()"


@opcode
def LIST_TO_TUPLE(frame: InterpreterFrame, _: None) -> None:
    """Replace a list by a tuple."""
    items = frame.stack[-1]
    strange = frame.interpreter.strange
    is_strange = strange and id(items) in strange
    made = call_native(frame.interpreter, tuple, [items], {}) if is_strange else tuple(items)
    frame.stack[-1] = made


@opcode
def UNPACK_SEQUENCE(frame: InterpreterFrame, n: int) -> None:
    """Replace an iterable by its n values, the first on top."""
    value = frame.stack.pop()
    if frame.interpreter.strange:
        frame.interpreter.strange_use(value, "taking it apart")
    if type(value) is tuple or type(value) is list:
        if len(value) == n:
            frame.stack.extend(reversed(value))
            return
        raise _wrong_count(n, len(value))
    values = _take(frame, value, n, "", n)
    iterator = values.pop()
    if advance(frame.interpreter, iterator) is not END:
        raise _wrong_count(n, len(value) if type(value) is dict else None)
    frame.stack.extend(reversed(values))


@opcode
def UNPACK_EX(frame: InterpreterFrame, argument: tuple[int, int]) -> None:
    """Replace an iterable by its first values, a list, and its last values."""
    before, after = argument
    values = _take(frame, frame.stack.pop(), before, "at least ", before + after)
    interpreter = frame.interpreter
    iterator = lend_iterable(interpreter, values.pop())
    rest = call_native(interpreter, list, [iterator], {})
    if len(rest) < after:
        got = before + len(rest)
        words = f"not enough values to unpack (expected at least {before + after}, got {got})"
        raise ValueError(words)
    split = len(rest) - after
    frame.stack.extend(reversed([*values, rest[:split], *rest[split:]]))


def _take(frame: InterpreterFrame, value: Any, n: int, bound: str, expected: int) -> list[Any]:
    """Return the first n values of an iterable, and then its iterator."""
    interpreter = frame.interpreter
    kind = type(value)
    if not (hasattr(kind, "__iter__") if kind in SIMPLE else _is_iterable(kind)):
        raise TypeError(f"cannot unpack non-iterable {kind.__name__} object")
    iterator = get_iterator(interpreter, value)
    values: list[Any] = []
    for _ in range(n):
        found = advance(interpreter, iterator)
        if found is END:
            words = f"not enough values to unpack (expected {bound}{expected}, got {len(values)})"
            raise ValueError(words)
        values.append(found)
    return [*values, iterator]


_TELLS_COUNT = sys.version_info >= (3, 14)


def _wrong_count(expected: int, got: int | None) -> ValueError:
    """The error for so many values; None is too many."""
    if got is None or got > expected:
        told = f", got {got}" if _TELLS_COUNT and got else ""
        return ValueError(f"too many values to unpack (expected {expected}{told})")
    return ValueError(f"not enough values to unpack (expected {expected}, got {got})")


def _is_iterable(kind: type) -> bool:
    return any(lookup(kind, name) not in (MISSING, None) for name in ("__iter__", "__getitem__"))


def _pop(frame: InterpreterFrame, n: int) -> list[Any]:
    """Take the n values from the top, the top last."""
    if not n:
        return []
    values = frame.stack[-n:]
    del frame.stack[-n:]
    return values
