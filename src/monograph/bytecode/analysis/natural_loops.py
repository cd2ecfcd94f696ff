"""Natural loops of control-flow graphs: back edges, by dominators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.bytecode.analysis.dominators import EXIT, dominates, dominators

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Loop", "natural_loops"]


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: where every round begins, and its instructions."""

    header: int
    body: frozenset[int]


def natural_loops(successors: Sequence[tuple[int, ...]], ranks: Sequence[int]) -> tuple[Loop, ...]:
    """Natural loops, those with one header as one; a smaller one is an inner one."""
    count = len(successors)
    backwards: list[list[int]] = [[] for _ in range(count)]
    for index, ways in enumerate(successors):
        for way in ways:
            if way != EXIT:
                backwards[way].append(index)
    start = count  # a node before the first instruction, so that this may be a header

    def tree_from(entries: frozenset[int]) -> dict[int, int | None]:
        return dominators(
            start,
            lambda node: (
                [*entries] if node == start else [way for way in successors[node] if way != EXIT]
            ),
            lambda node: [*backwards[node], start] if node in entries else backwards[node],
        )

    tree = tree_from(frozenset({0}))
    handlers = frozenset(node for node in range(count) if not backwards[node]) - {0}
    among_handlers: dict[int, int | None] | None = None
    bodies: dict[int, set[int]] = {}
    for index, ways in enumerate(successors):
        for header in ways:
            if header == EXIT or ranks[header] > ranks[index]:
                continue  # it does not lead back
            within = tree
            if tree[index] is None and index != 0:  # only exceptions lead here
                within = among_handlers = among_handlers or tree_from(handlers)
            if dominates(header, index, within):
                bodies.setdefault(header, {header}).update(_body(header, index, backwards))
    found = [Loop(header, frozenset(body)) for header, body in bodies.items()]
    return tuple(sorted(found, key=lambda loop: len(loop.body)))


def _body(header: int, last: int, backwards: list[list[int]]) -> set[int]:
    """The instructions between a loop's header and one of its jumps back."""
    found = {header}
    waiting = [last]
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting.extend(backwards[index])
    return found
