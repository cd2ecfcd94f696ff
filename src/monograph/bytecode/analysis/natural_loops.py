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
    tree = dominators(
        start,
        lambda node: (0,) if node == start else [way for way in successors[node] if way != EXIT],
        lambda node: [*backwards[node], start] if node == 0 else backwards[node],
    )
    bodies: dict[int, set[int]] = {}
    for index, ways in enumerate(successors):
        for header in ways:
            if header == EXIT or ranks[header] > ranks[index]:
                continue  # it does not lead back
            if dominates(header, index, tree):
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
