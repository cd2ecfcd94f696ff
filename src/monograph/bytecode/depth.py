"""How deep calls may go: the program's own limit, and the native one that leaves room for ours.

One interpreted call takes several native ones, so while interpreted code runs the native limit is
a multiple of the program's. Both are the process's, as the limit is CPython's own.
"""

from __future__ import annotations

import sys

__all__ = ["enter", "leave", "limit", "set_limit"]

_NATIVE_PER_CALL = 8


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
