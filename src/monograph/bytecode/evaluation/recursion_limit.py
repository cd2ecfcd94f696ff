"""The recursion limit of interpreted code: that of the program, with native room for our frames.

One interpreted call takes several native ones, so while interpreted code runs, the native limit of
its thread is a multiple of the program's. `sys.setrecursionlimit` sets that of all threads, hence
the numbers are written where CPython counts for this one; no other thread sees a change.

`with_room` keeps CPython from asking the system for memory at every call: it takes the frames of
Python functions from chunks of 16 KiB, and gives a chunk back as soon as no frame is in it. Where a
loop calls across the end of a chunk, each call maps memory and unmaps it, 3 microseconds.
"""

from __future__ import annotations

import ctypes
import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["lower", "raise_native", "set_limit", "with_room"]

_NATIVE_PER_CALL = 8
_ROOM = 33_000
"""How many words a frame claims so that its chunk is of 512 KiB, of which it uses next to none.

The frames above it share what it leaves, almost half.
"""

T = TypeVar("T")

_this_thread: Final = ctypes.pythonapi.PyThreadState_Get
_this_thread.restype = ctypes.c_void_p
_this_thread.argtypes = ()

_Numbers: Any = ctypes.c_int * 2
"""How many more calls a thread may make, and its limit: side by side in its `PyThreadState`."""


def _numbers(offset: int) -> Any:
    return _Numbers.from_address(_this_thread() + offset)


def _found() -> int:
    """Where the numbers stand in a thread's state: a call more is one left less."""
    candidates = range(24, 96, 4)

    def read() -> list[tuple[int, int]]:
        return [tuple(_numbers(offset)) for offset in candidates]

    def read_deeper() -> list[tuple[int, int]]:
        return read()

    limit = sys.getrecursionlimit()
    found = [
        offset
        for offset, one, two in zip(candidates, read(), read_deeper(), strict=True)
        if one[1] == two[1] == limit and one[0] - 1 == two[0]
    ]
    assert len(found) == 1, "CPython counts the calls of a thread elsewhere"
    return found[0]


_OFFSET: Final = _found()


def raise_native() -> bool:
    """Make room for interpreted calls in this thread; False where that is done already."""
    return _set(sys.getrecursionlimit() * _NATIVE_PER_CALL)


def lower() -> None:
    """Give this thread the limit of the process again."""
    _set(sys.getrecursionlimit())


def set_limit(deepest: int) -> None:
    """Do what interpreted code wants of `sys.setrecursionlimit`, which counts native calls."""
    numbers = _numbers(_OFFSET)
    n_calls = numbers[1] - numbers[0]
    numbers[0] += n_calls
    try:
        sys.setrecursionlimit(deepest)
        # Written at once: between the two there may be no call left to make.
        numbers[1] = numbers[0] = deepest * _NATIVE_PER_CALL
    finally:
        numbers[0] -= n_calls


def _set(limit: int) -> bool:
    numbers = _numbers(_OFFSET)
    more = limit - numbers[1]
    numbers[0] += more
    numbers[1] += more
    return more != 0


def _claiming(n_words: int) -> Callable[[FunctionType], Any]:
    """Let the frame of a function claim so much of the stack."""

    def made(function: FunctionType) -> FunctionType:
        code = function.__code__.replace(co_stacksize=n_words)
        return FunctionType(code, function.__globals__, function.__name__)

    return made


@_claiming(_ROOM)
def with_room(function: Callable[[], T]) -> T:
    """Call a function; the frames above it lie in one chunk of memory, if they are not too many."""
    return function()
