"""Iterators whose number of rounds is not known while the program is interpreted.

A watcher hands them out (`Watcher.iterated`, or what it calls in place of `zip`). A `for` over one
asks the watcher to run all rounds at once (`Watcher.repeat`); whoever else takes values out of it
gets those of `source.unrolled()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from monograph.bytecode.evaluation.special_methods import ours

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Rounds", "Source"]


class Source(Protocol):
    """What is iterated over."""

    def unrolled(self) -> Iterator[Any]:
        """The values one by one, which fixes how many there are."""
        ...


@ours
class Rounds:
    """An iterator over a source; `begun` is None until somebody takes a value out of it.

    `peeled` is whether the source is what is left after a round that came by itself.
    """

    __slots__ = ("begun", "peeled", "source")

    def __init__(
        self, source: Source, begun: Iterator[Any] | None = None, *, peeled: bool = False
    ) -> None:
        self.source = source
        self.begun = begun
        self.peeled = peeled

    def __iter__(self) -> Rounds:
        return self

    def __next__(self) -> Any:
        if self.begun is None:
            self.begun = self.source.unrolled()
        return next(self.begun)
