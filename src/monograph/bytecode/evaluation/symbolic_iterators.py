"""Symbolic iterators: how many iterations they give is not known during interpretation.

Hooks hand them out (`Hooks.iterated`, or what they call in place of `zip`). A `for` over one
asks the hooks to run all rounds at once (`Hooks.repeat`); whoever else takes values out of it
gets those of `source.unrolled()`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from monograph.bytecode.evaluation.special_methods import ours

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["SymbolicIterable", "SymbolicIterator"]


class SymbolicIterable(Protocol):
    """What is iterated over."""

    def unrolled(self) -> Iterator[Any]:
        """The values one by one, which fixes how many there are."""
        ...


@ours
class SymbolicIterator:
    """An iterator over a source; `begun` is None until somebody takes a value out of it.

    `peeled` is whether the source is what is left after a round that came by itself.
    """

    __slots__ = ("begun", "peeled", "source")

    def __init__(
        self, source: SymbolicIterable, begun: Iterator[Any] | None = None, *, peeled: bool = False
    ) -> None:
        self.source = source
        self.begun = begun
        self.peeled = peeled

    def __iter__(self) -> SymbolicIterator:
        return self

    def __next__(self) -> Any:
        if self.begun is None:
            self.begun = self.source.unrolled()
        return next(self.begun)
