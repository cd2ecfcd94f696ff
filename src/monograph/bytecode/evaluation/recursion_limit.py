"""How deep calls may go: the program's own limit, and the native one that leaves room for ours.

One interpreted call takes several native ones, so while interpreted code runs the native limit is
a multiple of the program's. Both are the process's, as the limit is CPython's own.

`with_room` keeps CPython from asking the system for memory at every call: it takes the frames of
Python functions from chunks of 16 KiB, and gives a chunk back as soon as no frame is in it. Where a
loop calls across the end of a chunk, each call maps memory and unmaps it, 3 microseconds.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["enter", "leave", "limit", "set_limit", "with_room"]

_NATIVE_PER_CALL = 8
_ROOM = 33_000
"""How many words a frame claims so that its chunk is of 512 KiB, of which it uses next to none.

The frames above it share what it leaves, almost half.
"""

T = TypeVar("T")


class _Depth:
    """The limit of the program, and how many outermost frames are running."""

    limit = sys.getrecursionlimit()
    n_running = 0


def limit() -> int:
    """Return how deep the program's calls may go."""
    return _Depth.limit if _Depth.n_running else sys.getrecursionlimit()


def set_limit(deepest: int) -> None:
    """Do what the program wants of `sys.setrecursionlimit`."""
    sys.setrecursionlimit(deepest * _NATIVE_PER_CALL if _Depth.n_running else deepest)
    _Depth.limit = deepest


def enter() -> None:
    """Make room, as an outermost frame starts."""
    if not _Depth.n_running:
        _Depth.limit = sys.getrecursionlimit()
        sys.setrecursionlimit(_Depth.limit * _NATIVE_PER_CALL)
    _Depth.n_running += 1


def leave() -> None:
    """Put the limit back that the program has; one that native code has set meanwhile stays."""
    _Depth.n_running -= 1
    if not _Depth.n_running and sys.getrecursionlimit() == _Depth.limit * _NATIVE_PER_CALL:
        sys.setrecursionlimit(_Depth.limit)


def with_room(function: Callable[[], T]) -> T:
    """Call a function; the frames above it lie in one chunk of memory, if they are not too many."""
    return function()


with_room.__code__ = with_room.__code__.replace(co_stacksize=_ROOM)
