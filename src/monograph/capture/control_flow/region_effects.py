"""Effects of a region: what one side of a branch, or a round of a loop, wrote to from outside.

Interpreted code tells of its writes. Of what it gives to C in the region, everything that C may
write to is read before (`written_by_native_code`), and compared when the region ends.
"""

from __future__ import annotations

import gc
import operator
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from monograph.bytecode.branches.frame_copies import relatives
from monograph.capture.hidden_state.native_state import BOUND_TO_C
from monograph.capture.hidden_state.opaque_objects import CALLED, written_by_native_code
from monograph.capture.restart import Restart
from monograph.capture.side_effects.garbage_collection import MadeSince
from monograph.capture.side_effects.iterator_advances import IteratorAdvances, is_native_iterator
from monograph.capture.side_effects.tracking import Effects, WriteTarget, chain_of
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from monograph.bytecode import Interpreter, InterpreterFrame
    from monograph.bytecode.evaluation.generators import InterpretedGenerator
    from monograph.capture.recording.scopes import Scopes

_SHARED: Final = "from outside"
"""What messages call an iterator that both sides of a branch can ask."""


class RegionEffects(Effects):
    """The writes of a part of a run. Nothing is put back: that is left to the run's own.

    But for `take`, which keeps what was written, and puts back what was there.
    """

    def __init__(
        self,
        tell: Callable[[WriteTarget], None],
        advances: IteratorAdvances,
        *,
        tracks_objects: bool = True,
    ) -> None:
        """`tell` announces that a place is about to be written to.

        One that does not track objects has no notion of which objects there were before, which
        costs as much as there are: it asks for a restart where it has to know.
        """
        super().__init__(())
        self.tell = tell
        self.advances = advances
        self.tracks_objects = tracks_objects
        self._made = MadeSince() if tracks_objects else None
        self.taken: list[WriteTarget] = []
        """The places from before that it changed."""

    def __enter__(self) -> Self:
        """What there is now was there before this part."""
        return self

    def __exit__(self, *_: object) -> None:
        """What is made from now on was not made in this part, but nobody asks for it any more."""

    def written(
        self, kind: str, owner: Any, key: Any, old: Any, frame: InterpreterFrame | None
    ) -> None:
        """Something is about to change; what is no container of Python's, in all that it holds."""
        super().written(kind, owner, key, old, frame)
        if kind == "item":
            self.given((owner,), frame)

    def given(self, values: Iterable[Any], frame: InterpreterFrame | None) -> None:
        """C may write to these.

        Raises: Restart (while it is undone, nobody could say that what is new was changed).
        """
        for kind, owner, before in written_by_native_code(values):
            is_left = before is None or (kind == "hidden" and not before.can_be_put_back)
            if is_left and not self.tracks_objects:
                raise Restart("track objects")
            if kind == "context":
                self.written(kind, owner, owner.name, None, frame)
            else:
                self.within_reach(kind, owner, chain_of(frame), before)

    def differing(self) -> list[WriteTarget]:
        """The places that are not as they were, of attributes each by itself."""
        found: dict[tuple[int, str], WriteTarget] = {}
        for place in super().differing():
            for each in place.by_name():
                self.add(each)
                found[each.key] = self._places[each.key]
        return [*found.values()]

    def appended(self) -> list[tuple[list[Any], list[Any]]]:
        """The lists from before that hold what they held and more at an end, each with that."""
        found: list[tuple[list[Any], list[Any]]] = []
        for place in self._find_lasting():
            now, before = place.now(), place.before
            if place.kind == "contents" and type(now) is list:
                news = added(now, before)
                if news:
                    found.append((now, news))
        return found

    def undo(self) -> None:
        """Put back what was there before this part."""
        self.advances.forget()
        for place in reversed(self._find_lasting()):
            place.put_back()
            if place.kind == "hidden" and not place.is_as_before():
                self.advances.spend(place.owner)
        self.advances.end()

    def take(self) -> None:
        """Keep what this part left where something was before, and put that back.

        Raises: Restart.
        """
        moved = self._moved()
        self.advances.end()
        places = self._find_lasting()
        self.taken = [replace(place, after=place.as_now().before) for place in places]
        for place in reversed(places):
            place.put_back()
        self.taken += moved

    def forget(self) -> None:
        """Put back what was in every place, in objects that it made too."""
        self.advances.forget()
        self.advances.end()
        for place in reversed(self._places.values()):
            if not place.is_as_before():
                place.put_back()

    def lasting(self) -> list[WriteTarget]:
        """What was there before and is different now; iterators, too."""
        for owner, by in self.advances.moved():
            key = id(owner), "hidden"
            self._places[key] = WriteTarget(
                "hidden", owner, _SHARED, CALLED, gc.is_tracked(owner), by
            )
        return [*self._moved(), *super().lasting()]

    def _moved(self) -> list[WriteTarget]:
        """The generators from before that it advanced."""
        return [
            WriteTarget("hidden", owner, _SHARED, before, True, by, after=before.of(owner))
            for owner, before, by in self.advances.moved_generators()
        ]


class SharedIterators:
    """The iterators of one run: which are used, and which a side has advanced."""

    def __init__(self, scopes: Scopes, interpreter: Interpreter, kept: list[list[Any]]) -> None:
        """`kept` are lists of what others keep alive for the sake of the run's record."""
        self._scopes, self._interpreter, self._kept = scopes, interpreter, kept
        self.parts: list[RegionEffects] = []
        """Those that the run is in."""
        self.spent = interpreter.stale
        """Those that a side of a branch has advanced, or a copy of which, by identity."""

    def region(self, tell: Callable[[WriteTarget], None], *, tracks_objects: bool) -> RegionEffects:
        """A part that begins now."""
        part = RegionEffects(tell, IteratorAdvances(self.spent), tracks_objects=tracks_objects)
        part.kept = self._kept
        return part

    def given(self, values: Iterable[Any], frame: InterpreterFrame | None) -> None:
        """C may write to these, or advance them. Raises: branch-side-effect."""
        for part in self.parts:
            part.given(values, frame)
        if self.parts or self.spent or self._interpreter.clones:
            owners = [each.__self__ if type(each) in BOUND_TO_C else each for each in values]
            used = [each for each in owners if is_native_iterator(each) or id(each) in self.spent]
            self._used(used, frame)

    def resumed(self, generator: InterpretedGenerator, by: InterpreterFrame | None) -> None:
        """It goes on, or ends. Raises: branch-side-effect."""
        frame = generator.frame
        if frame is not None and (self.parts or self.spent or self._interpreter.clones):
            held = filter(is_native_iterator, (*frame.stack, *frame.slots))
            self._used([generator, *held], by)

    def _used(self, iterators: Sequence[Any], frame: InterpreterFrame | None) -> None:
        if any(id(each) in self.spent for each in iterators):
            raise problem(
                "branch-side-effect",
                at=self._scopes.user_frames(sys._getframe()),
                operator="if",
                kind="hidden",
                name="from outside",
                reason="one of them has advanced it",
            )
        left = {id(o): o for each in iterators for o in relatives(self._interpreter, each)}
        for part in self.parts:
            part.advances.left_behind |= left.keys() - self.spent.keys()
            for each in iterators:
                part.advances.note(each, chain_of(frame))
        self.spent.update(left)


def added(now: list[Any], before: list[Any]) -> list[Any] | None:
    """What a list holds beside what it held, at its end or else at its front; None otherwise."""
    n = len(now) - len(before)
    if n >= 0 and all(map(operator.is_, now, before)):
        return now[len(before) :]
    return now[:n] if n > 0 and all(map(operator.is_, now[n:], before)) else None
