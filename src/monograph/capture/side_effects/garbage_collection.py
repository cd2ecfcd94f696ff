"""Garbage collection: objects made since a moment, by generation 0; its callbacks go unwatched.

An object begins in generation 0, and leaves it in a collection. So those made since are what is
there now and was not, and what was there when a collection began. The collector belongs to the
process: nothing is frozen, and it goes on for everybody but a thread that is alone.
What it calls meanwhile (finalisers, weak references, `gc.callbacks`) is not user code's doing: a
thread that captures does not watch it.
"""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from threading import Lock, active_count
from typing import TYPE_CHECKING, Any

from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.installation import THREAD

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

_ASKED: list[weakref.ref[MadeSince]] = []
"""Those that are told of collections, until nobody captures."""
_LOCK = Lock()
_RUNNING: list[object] = []
_UNWATCHED: list[object] = []


class MadeSince:
    """The objects that the collector came to know since this was made, of whatever thread."""

    __slots__ = ("__weakref__", "_before", "_made", "_objects")

    def __init__(self) -> None:
        self._objects = gc.get_objects(generation=0)
        """Those before, kept, so that none of their identities is given to a new object."""
        self._before: set[int] | None = None
        self._made: set[int] = set()
        _ASKED.append(weakref.ref(self))

    def among(self, values: Iterable[Any]) -> set[int]:
        """The identities of those of some objects that are such ones."""
        wanted = set(map(id, values))
        young = wanted.intersection(map(id, gc.get_objects(generation=0)))
        return (young | wanted & self._made).difference(map(id, self._objects))

    def includes(self, value: Any) -> bool:
        """Whether an object is one of them."""
        if self._before is None:
            self._before = set(map(id, self._objects))
        if id(value) in self._before:
            return False
        if id(value) not in self._made:
            self.note(_young())
        return id(value) in self._made

    def note(self, young: set[int]) -> None:
        """These are in the young generation."""
        self._made |= young


@contextmanager
def seeing_collections() -> Generator[None]:
    """Tell every `MadeSince` what a collection is about to age; whoever makes one is in here."""
    with _LOCK:
        _RUNNING.append(None)
        if len(_RUNNING) == 1:
            gc.callbacks.append(_collects)
    try:
        yield
    finally:
        with _LOCK:
            _RUNNING.pop()
            if not _RUNNING:
                _ASKED.clear()
                gc.callbacks.remove(_collects)


@contextmanager
def uncollected_alone() -> Generator[None]:
    """Put collections off, if no other thread would notice: they cost a quarter of a capture."""
    puts_off = gc.isenabled() and active_count() == 1
    if puts_off:
        gc.disable()
    try:
        yield
    finally:
        if puts_off:
            gc.enable()


@contextmanager
def collections_unwatched() -> Generator[None]:
    """What a collection runs in this thread is no business of the capture."""
    with _LOCK:
        _UNWATCHED.append(None)
        if len(_UNWATCHED) == 1:
            gc.callbacks.insert(0, _look_away)
            gc.callbacks.append(_look_again)
    try:
        yield
    finally:
        with _LOCK:
            _UNWATCHED.pop()
            if not _UNWATCHED:
                gc.callbacks.remove(_look_away)
                gc.callbacks.remove(_look_again)


def _look_away(phase: str, info: dict[str, Any]) -> None:
    """First of all callbacks."""
    del info
    if phase == "start" and THREAD.is_capturing:
        THREAD.looked_away = (THREAD.recorder, THREAD.watched, CALL_EVENTS.look_away())
        THREAD.recorder = THREAD.watched = None


def _look_again(phase: str, info: dict[str, Any]) -> None:
    """Last of all callbacks."""
    del info
    if phase == "stop" and THREAD.looked_away is not None:
        (THREAD.recorder, THREAD.watched, told), THREAD.looked_away = THREAD.looked_away, None
        if told is not None:
            CALL_EVENTS.tell(told)


def _young() -> set[int]:
    return set(map(id, gc.get_objects(generation=0)))


def _collects(phase: str, info: dict[str, Any]) -> None:
    del info
    if phase == "start":
        young = _young()
        for asked in _ASKED:
            made = asked()
            if made is not None:
                made.note(young)


__all__ = ["MadeSince", "collections_unwatched", "seeing_collections", "uncollected_alone"]
