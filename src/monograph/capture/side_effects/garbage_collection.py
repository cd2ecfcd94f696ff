"""Garbage collection: objects made since a moment, by generation 0; its callbacks go unwatched.

An object begins at the end of generation 0, and leaves it in a collection. So those made since are
what comes there after a mark, and what came after it when a collection began. The collector belongs
to the process: nothing is frozen, and it goes on for everybody but a thread that is alone.
What it calls meanwhile (finalisers, weak references, `gc.callbacks`) is not user code's doing: a
thread that captures does not watch it.
"""

from __future__ import annotations

import gc
import weakref
from contextlib import contextmanager
from itertools import chain
from threading import Lock, active_count
from typing import TYPE_CHECKING, Any, Final

from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.installation import THREAD
from monograph.diagnostics import identity

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable

_ASKED: list[weakref.ref[MadeSince]] = []
"""Those that are told of collections, until nobody captures."""
_LOCK = Lock()
_RUNNING: list[object] = []
_UNWATCHED: list[object] = []


class MadeSince:
    """The objects that the collector came to know since this was made, of whatever thread."""

    __slots__ = ("__weakref__", "_made", "_mark")

    def __init__(self) -> None:
        self._made: set[int] = set()
        """By `identity`, which is quick for so many."""
        self._mark: list[Any] = []
        """Generation 0 is in the order in which its objects were made: they come after this one."""
        _ASKED.append(weakref.ref(self))

    def among(self, values: Iterable[Any]) -> set[int]:
        """The identities of those of some objects that are such ones."""
        younger = self._younger(_young())  # first: a collection that this sets off adds to `_made`
        wanted = {identity(each): id(each) for each in values}
        return {wanted[each] for each in wanted.keys() & self._made | wanted.keys() & younger}

    def includes(self, value: Any) -> bool:
        """Whether an object is one of them."""
        if identity(value) not in self._made:
            self.note(_young())
        return identity(value) in self._made

    def note(self, young: list[int]) -> None:
        """These are in the young generation."""
        self._made.update(self._younger(young))

    def _younger(self, young: list[int]) -> list[int]:
        mark = identity(self._mark)
        return young[young.index(mark) + 1 :] if mark in young else young


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


def _young() -> list[int]:
    """The identity of each object of generation 0, in order.

    In one call of C, so that no other thread runs while all is held: a tuple that one is making
    (`tuple(generator)`) fails if there is a second reference to it.
    """
    return list(map(identity, chain.from_iterable(map(gc.get_objects, _YOUNG))))


_YOUNG: Final = (0,)


def _collects(phase: str, info: dict[str, Any]) -> None:
    del info
    if phase == "start":
        young = _young()
        for asked in _ASKED:
            made = asked()
            if made is not None:
                made.note(young)


__all__ = ["MadeSince", "collections_unwatched", "seeing_collections", "uncollected_alone"]
