"""Readings of hidden state: how what one kind of object keeps to itself is read and written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


class Reading(NamedTuple):
    """How the state of one kind of object is read and written, and how two readings compare.

    `leads_to` gives the objects in what was read, `can_write` whether all of it can be written.
    """

    read: Callable[[Any], Any]
    write: Callable[[Any, Any], object]
    same: Callable[[Any, Any], bool] = lambda one, other: one == other
    leads_to: Callable[[Any], Iterable[Any]] = lambda _: ()
    can_write: Callable[[Any], bool] = lambda _: True


class HiddenState(NamedTuple):
    """What an object held when it was read."""

    reading: Reading
    content: Any

    def is_still_in(self, owner: Any) -> bool:
        """Whether the object holds it now."""
        return self.reading.same(self.reading.read(owner), self.content)

    def put_back(self, owner: Any) -> None:
        """Let the object hold it again, where that can be done."""
        if not self.is_still_in(owner):
            self.reading.write(owner, self.content)

    @property
    def can_be_put_back(self) -> bool:
        """Whether `put_back` restores all of it: of what C keeps, bytes alone."""
        return self.reading.write is not stay and self.reading.can_write(self.content)

    def leads_to(self) -> Iterable[Any]:
        """The objects in it that are watched in their turn."""
        return self.reading.leads_to(self.content)

    def again(self, owner: Any) -> HiddenState:
        """What it holds now, read in the same way."""
        return HiddenState(self.reading, self.reading.read(owner))


def stay(_owner: Any, _content: Any) -> None:
    """Leave an object as it is: there is no way back."""


def identity(value: Any) -> Any:
    """What tells a value from others: itself, of a number or text."""
    return value if type(value) in {int, float, str, bool} else id(value)
