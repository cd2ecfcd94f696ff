"""From decoded instructions to what the loop runs: each name replaced by its handler."""

from __future__ import annotations

import abc
import weakref
from typing import TYPE_CHECKING

from monograph.bytecode.decoding import decode
from monograph.bytecode.evaluation.frame import MISSING, Body
from monograph.bytecode.evaluation.tracebacks import is_ours
from monograph.bytecode.instructions import CANONICAL
from monograph.bytecode.opcodes import HANDLERS

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode.instructions import Instructions

__all__ = ["link"]

_NATIVE_FILES = frozenset({abc.ABCMeta.__instancecheck__.__code__.co_filename})
"""Thin covers of C functions, which look at the frames of CPython that call them."""

_SPECIAL_PARAMETERS = 0x04 | 0x08
"""The flags of `*args` and `**kwargs`."""

_MISSING_HANDLERS = CANONICAL.keys() - HANDLERS.keys()
assert not _MISSING_HANDLERS, f"instructions without a handler: {sorted(_MISSING_HANDLERS)}"

# A body depends on its code alone. Hashing a code object reads all of it, hence its identity; the
# entry goes when the code does, before another object can have that identity.
_BODIES: dict[int, Body] = {}
_WATCHED: dict[int, weakref.ref[CodeType]] = {}


def link(code: CodeType) -> Body:
    """Return the body of a code object, decoded when it is first asked for."""
    key = id(code)
    body = _BODIES.get(key)
    if body is None:
        body = _linked(decode(code))
        _WATCHED[key] = weakref.ref(code, lambda _: _forget(key))
        _BODIES[key] = body
    return body


def _forget(key: int) -> None:
    _BODIES.pop(key, None)
    _WATCHED.pop(key, None)


def _linked(decoded: Instructions) -> Body:
    code = decoded.code
    n_named = code.co_argcount + code.co_kwonlyargcount
    is_plain = not (code.co_kwonlyargcount or code.co_flags & _SPECIAL_PARAMETERS)
    return Body(
        steps=[(HANDLERS[name], argument) for name, argument, _ in decoded.body],
        names=tuple(name for name, _, _ in decoded.body),
        handlers=decoded.handlers,
        offsets=[offset for _, _, offset in decoded.body],
        slots=decoded.slots,
        parameters={
            code.co_varnames[slot]: slot for slot in range(code.co_posonlyargcount, n_named)
        },
        n_plain=code.co_argcount if is_plain else -1,
        empty=[MISSING] * len(decoded.slots),
        is_native=code.co_filename in _NATIVE_FILES or is_ours(code),
    )
