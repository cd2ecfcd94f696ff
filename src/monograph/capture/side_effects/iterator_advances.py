"""Iterators from outside that a side of a branch, or a round of a loop, advances.

Those in the slots and on the stack of a frame are copied with it (`frame_copies`). All others
(held by an object, a list, a closure) are shared by both sides. An interpreted generator is put
back to where it was, and what the sides leave of it is merged, if it is the same. An iterator in C
cannot be: whoever uses it after a side has advanced it is refused.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from monograph.bytecode.branches.frame_copies import ITERATORS, are_alike, reduced
from monograph.bytecode.evaluation.generators import SERIAL, InterpretedGenerator
from monograph.capture.hidden_state.container_contents import same

if TYPE_CHECKING:
    from monograph.bytecode import InterpreterFrame
    from monograph.capture.side_effects.tracking import Chain


class GeneratorState(NamedTuple):
    """Where a generator stood, and the exception that it handled."""

    frame: InterpreterFrame | None
    error: BaseException | None

    @classmethod
    def of(cls, generator: InterpretedGenerator) -> GeneratorState:
        """Where it stands now."""
        return cls(_shallow(generator.frame), generator.handling.error)

    def is_still_in(self, owner: InterpretedGenerator) -> bool:
        """Whether it stands there now."""
        return are_alike(owner.frame, self.frame) and owner.handling.error is self.error

    def is_like(self, other: GeneratorState) -> bool:
        """Whether it would go on in the same way."""
        return are_alike(self.frame, other.frame) and self.error is other.error

    def put_back(self, owner: InterpretedGenerator) -> None:
        """Let it stand there again."""
        owner.frame, owner.handling.error = _shallow(self.frame), self.error

    again = of


def _shallow(frame: InterpreterFrame | None) -> InterpreterFrame | None:
    if frame is None:
        return None
    made = frame.copied()
    made.stack, made.slots, made.is_copy = [*frame.stack], [*frame.slots], frame.is_copy
    return made


class IteratorAdvances:
    """Which iterators one part of a run may have advanced, and where they stood before."""

    def __init__(self, spent: dict[int, Any]) -> None:
        """`spent` are those, by identity, that a side has advanced: it is added to."""
        self._spent = spent
        self._begun = next(SERIAL)
        self._generators: dict[int, tuple[InterpretedGenerator, GeneratorState, Chain]] = {}
        self._native: dict[int, tuple[Any, Any, Chain]] = {}
        self.left_behind: set[int] = set()
        """Those, by identity, of which it advanced a copy, or what they are copies of."""

    def note(self, iterator: Any, by: Chain) -> None:
        """It may be advanced from now on."""
        if type(iterator) is not InterpretedGenerator:
            if id(iterator) not in self._native:
                self._native[id(iterator)] = iterator, _position(iterator), by
        elif iterator.serial < self._begun and id(iterator) not in self._generators:
            self._generators[id(iterator)] = iterator, GeneratorState.of(iterator), by

    def moved_generators(self) -> list[tuple[InterpretedGenerator, GeneratorState, Chain]]:
        """The generators that stand elsewhere now, where they stood, and who asked first."""
        return [each for each in self._generators.values() if not each[1].is_still_in(each[0])]

    def moved(self) -> list[tuple[Any, Chain]]:
        """The other iterators that stand elsewhere now and are held by others, who asked first."""
        return [
            (iterator, by)
            for iterator, before, by in self._native.values()
            if sys.getrefcount(iterator) > _HELD_HERE
            and not (before is not None and _is_same(before, _position(iterator)))
        ]

    def spend(self, owner: Any) -> None:
        """It cannot be put back: who uses it is refused."""
        self._spent[id(owner)] = owner

    def forget(self) -> None:
        """What copies made of it does not count: no code goes on from there."""
        for each in self.left_behind:
            self._spent.pop(each, None)

    def end(self) -> None:
        """Put the generators back; whoever uses the others from now on is refused."""
        for generator, before, _ in self.moved_generators():
            before.put_back(generator)
        self._generators.clear()
        self._spent.update((id(each), each) for each, _ in self.moved())
        self._native.clear()


_HELD_HERE: Final = 3  # the tuple, the variable and the argument


def is_native_iterator(value: Any) -> bool:
    """Whether C advances it: an iterator of Python's, or of itertools."""
    kind = type(value)
    return kind in ITERATORS or (kind.__module__ in _PACKAGES and hasattr(kind, "__next__"))


_PACKAGES: Final = frozenset({"builtins", "itertools"})


def _position(iterator: Any) -> list[Any] | None:
    """What an iterator says that is left of it, without what those within it say; None: nothing."""
    made_of = reduced(iterator) if type(iterator) in ITERATORS else None
    if made_of is None:
        return None
    _, parts, *state = made_of
    return [_position(part) if type(part) in ITERATORS else part for part in (*parts, *state)]


def _is_same(one: Any, other: Any) -> bool:
    if type(one) is list and type(other) is list:
        return len(one) == len(other) and all(map(_is_same, one, other))
    return same(one, other) or (type(one) is range and one == other)
