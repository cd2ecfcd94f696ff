"""Threaded code: decoded instructions with each name replaced by its handler."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING

from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.decoding import decode
from monograph.bytecode.evaluation.frame import MISSING, Body
from monograph.bytecode.evaluation.tracebacks import is_ours
from monograph.bytecode.instructions import CANONICAL
from monograph.bytecode.opcodes import HANDLERS
from monograph.bytecode.polyfills.in_python import sum_

if TYPE_CHECKING:
    from types import CodeType

__all__ = ["link"]

_NATIVE_FILES = frozenset({abc.ABCMeta.__instancecheck__.__code__.co_filename})
"""Thin covers of C functions, which look at the frames of CPython that call them."""

_IN_PYTHON = sum_.__code__.co_filename
"""What of ours is interpreted, and may call itself."""

_SPECIAL_PARAMETERS = 0x04 | 0x08
"""The flags of `*args` and `**kwargs`."""

_MISSING_HANDLERS = CANONICAL.keys() - HANDLERS.keys()
assert not _MISSING_HANDLERS, f"instructions without a handler: {sorted(_MISSING_HANDLERS)}"


@once_per_code
def link(code: CodeType) -> Body:
    """Return the body of a code object, decoded when it is first asked for."""
    decoded = decode(code)
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
        is_native=code.co_filename in _NATIVE_FILES
        or (is_ours(code) and code.co_filename != _IN_PYTHON),
    )
