"""Dominators and post-dominators of control-flow graphs.

Source: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm" (2001).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["EXIT", "dominates", "dominators", "post_dominators", "postorder"]

EXIT: Final = -1
"""Where every return goes."""


def post_dominators(successors: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Immediate post-dominators; ways that only raise are no ways."""
    count = len(successors)
    backwards: list[list[int]] = [[] for _ in range(count + 1)]
    for index, ways in enumerate(successors):
        for way in ways:
            backwards[way].append(index)  # EXIT is the last entry
    parents = dominators(count, backwards.__getitem__, lambda index: successors[index])
    return tuple(_named(parents[index], index, count) for index in range(count))


def _named(join: int | None, index: int, count: int) -> int:
    if join is None:
        return index
    return EXIT if join == count else join


def dominators(
    root: int,
    onwards: Callable[[int], Sequence[int]],
    before: Callable[[int], Sequence[int]],
) -> dict[int, int | None]:
    """Immediate dominators of what can be reached from `root`; None for what cannot, and of root.

    `onwards` and `before` are the edges from and to a node; EXIT in either stands for the root.
    """
    order = postorder(root, onwards)
    rank = {node: place for place, node in enumerate(order)}
    parents: dict[int, int] = {root: root}
    changed = True
    while changed:
        changed = False
        for node in reversed(order[:-1]):
            known = [
                way
                for way in (root if each == EXIT else each for each in before(node))
                if way in parents
            ]
            parent = known[0]
            for other in known[1:]:
                parent = _meet(parent, other, parents, rank)
            if parents.get(node) != parent:
                parents[node] = parent
                changed = True
    found: dict[int, int | None] = dict.fromkeys(range(root + 1))
    found.update({node: parent for node, parent in parents.items() if node != root})
    return found


def _meet(one: int, other: int, parents: dict[int, int], rank: dict[int, int]) -> int:
    """The nearest node that dominates both."""
    while one != other:
        while rank[one] < rank[other]:
            one = parents[one]
        while rank[other] < rank[one]:
            other = parents[other]
    return one


def postorder(root: int, onwards: Callable[[int], Sequence[int]]) -> list[int]:
    """What can be reached from a root, each node after those that it leads to first."""
    order: list[int] = []
    seen = {root}
    stack = [(root, iter(onwards(root)))]
    while stack:
        node, ways = stack[-1]
        way = next((each for each in ways if each not in seen), None)
        if way is None:
            order.append(node)
            stack.pop()
        else:
            seen.add(way)
            stack.append((way, iter(onwards(way))))
    return order


def dominates(one: int, other: int, dominators: dict[int, int | None]) -> bool:
    """Whether every way to one node passes another."""
    if dominators[other] is None:
        return False  # it is never reached but by an exception
    step: int | None = other
    while step is not None:
        if step == one:
            return True
        step = dominators[step]
    return False
