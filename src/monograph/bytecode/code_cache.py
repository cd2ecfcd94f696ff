"""Memoisation per code object, which keeps no code alive.

Code objects compare by value, and hashing one reads all of it, hence their identity is the key. An
entry goes when its code does; where no callback could run then, other code is not taken for it.
"""

from __future__ import annotations

import weakref
from functools import wraps
from typing import TYPE_CHECKING, TypeVar

from monograph.diagnostics import identity

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType

__all__ = ["once_per_code"]

T = TypeVar("T")


def once_per_code(function: Callable[[CodeType], T]) -> Callable[[CodeType], T]:
    """Remember what a function returns, which must not hold the code, while the code lives.

    >>> count = once_per_code(lambda code: [code.co_argcount])
    >>> count(once_per_code.__code__) is count(once_per_code.__code__)
    True
    """
    known: dict[int, tuple[T, weakref.ref[CodeType]]] = {}

    @wraps(function)
    def remembered(code: CodeType) -> T:
        key = identity(code)
        found = known.get(key)
        if found is None or found[1]() is not code:  # no callback could run
            made = function(code)
            found = known[key] = (made, weakref.ref(code, lambda _: known.pop(key, None)))
        return found[0]

    return remembered
