"""Join points of branches, where the sides that leave for good are left out.

A `return` under two `if`s has nothing after it that every way passes, so post-dominators only say
that all meet in returning. But what follows the outer `if` is one place, which every way that does
not return comes to: it need not be run once for each of them. The same goes for `break`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from monograph.bytecode.analysis.control_flow_graph import EXIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from monograph.bytecode.analysis.control_flow_graph import Flow

__all__ = ["JoinPoint", "join_point", "later_joins", "nearer"]


@dataclass(frozen=True, slots=True)
class JoinPoint:
    """Where the ways on from a jump meet: EXIT if only in returning.

    `outs` are where ways come to what follows that leave the loop around both before they meet.
    """

    place: int
    outs: frozenset[int]


def join_point(flow: Flow, index: int) -> JoinPoint:
    """The nearest place that every way on from a conditional jump passes, or leaves for good."""
    if index not in flow.memo:
        flow.memo[index] = _join_point(flow, index)
    return flow.memo[index]


def later_joins(flow: Flow, place: int, most: int) -> list[int]:
    """Where ways meet again that are kept apart where they have met: `most` places, then EXIT."""
    found: list[int] = []
    step = place
    while len(found) < most and step != EXIT and flow.joins[step] != step:
        if len(flow.successors[step]) > 1 and flow.joins[step] != EXIT:
            found.append(flow.joins[step])
        step = flow.joins[step]
    return [*found, EXIT]


def nearer(flow: Flow, one: int, other: int) -> int | None:
    """Which of two places leads to the other; the one in the inner loop, if each does."""
    if one == other or EXIT in (one, other):
        return other if one == EXIT else one
    leads = [bool(flow.leads[start] >> end & 1) for start, end in ((one, other), (other, one))]
    if leads[0] is not leads[1]:
        return one if leads[0] else other
    if not leads[0]:
        return None
    loops = (flow.loop(one), flow.loop(other))
    sizes = [len(flow.successors) if each is None else len(each.body) for each in loops]
    return one if sizes[0] < sizes[1] else other


def _join_point(flow: Flow, index: int) -> JoinPoint:
    join = flow.joins[index]
    regions = [loop.body for loop in flow.loops if index in loop.body]
    if join not in (EXIT, index) and (not regions or join in regions[0]):
        return JoinPoint(join, frozenset())
    if not regions:
        return JoinPoint(_ahead(flow, index), frozenset())
    for region in (*regions, range(len(flow.successors))):
        place = _within(flow.successors, index, region)
        if place is not None:
            return JoinPoint(place, _outs(flow.successors, index, place, region))
    return JoinPoint(EXIT, frozenset())


def _ahead(flow: Flow, index: int) -> int:
    """Where ways meet from a jump in no loop, found without looking further than there.

    Goes on from both ways in the order in which they lead on. A place where both are is one where
    they meet if no way that has not come there yet returns where ways from there do.
    """
    starts = [way for way in flow.successors[index] if way != EXIT]
    one, other = (_onwards(flow, starts[:1]), _onwards(flow, starts[1:]))
    both = one & other & flow.entered
    waiting = [(flow.ranks[way], way) for way in starts]
    heapify(waiting)
    seen, done, found = {*starts}, 0, list[int]()
    while waiting and both:
        node = heappop(waiting)[1]
        others, later = _onwards(flow, [way for _, way in waiting]), _onwards(flow, [node])
        if both >> node & 1 and later & flow.returns:
            if later & done or others >> node & 1:  # a loop: what comes before it may come after
                return _anywhere(flow, index)
            if not others & later & flow.returns:
                found.append(node)
                both &= others & ~later
                continue
        done |= 1 << node
        for way in flow.successors[node]:
            if way != EXIT and way not in seen:
                seen.add(way)
                heappush(waiting, (flow.ranks[way], way))
    return max(found, key=lambda node: flow.leads[node].bit_count(), default=EXIT)


def _onwards(flow: Flow, places: Iterable[int]) -> int:
    """A bit for each of some places, and for each instruction that they lead to."""
    found = 0
    for place in places:
        found |= flow.leads[place] | 1 << place
    return found


def _anywhere(flow: Flow, index: int) -> int:
    """As `_ahead`, looking at all ways to the end."""
    place = _within(flow.successors, index, range(len(flow.successors)))
    return EXIT if place is None else place


def _outs(
    successors: Sequence[tuple[int, ...]], index: int, place: int, region: Collection[int]
) -> frozenset[int]:
    """Where ways that leave a region before they meet come to what follows where they meet."""
    onwards = {
        node: [way for way in ways if way not in (EXIT, index)]
        for node, ways in enumerate(successors)
    }
    later = _reach([place], onwards)
    until = {node: ways for node, ways in onwards.items() if node in region or node not in later}
    before = _reach([way for way in successors[index] if way != place], until, place)
    return frozenset(way for way in before if way in later and way not in region)


def _within(successors: Sequence[tuple[int, ...]], index: int, region: Iterable[int]) -> int | None:
    """The same, where ways that leave this region are those that leave for good."""
    inside = frozenset(region)
    leaving = {node for node in inside if any(way not in inside for way in successors[node])}
    onwards = {
        node: [way for way in successors[node] if way in inside and way != index] for node in inside
    }
    starts = onwards[index]
    if len(starts) < len(_TWO):
        return None
    entered = Counter(way for ways in onwards.values() for way in ways * len(ways))
    one, other = (_reach([way], onwards) for way in starts)
    after: dict[int, frozenset[int]] = {}
    for place in one:
        if place in other and entered[place] > 1:  # it does not just follow another place
            later = frozenset(_reach([place], onwards))
            before = _reach([way for way in starts if way != place], onwards, place)
            if later & leaving and not any(each in later and each in leaving for each in before):
                after[place] = later
    first = [
        place
        for place in after
        if all(place == each or place not in later for each, later in after.items())
    ]
    return max(first, key=lambda place: len(after[place]), default=None)


_TWO = (True, False)


def _reach(
    starts: Iterable[int], onwards: Mapping[int, Iterable[int]], avoiding: int = EXIT
) -> dict[int, None]:
    """Where one comes to from there, without what is avoided."""
    found = dict.fromkeys(starts)
    waiting = list(found)
    while waiting:
        for way in onwards.get(waiting.pop(), ()):
            if way not in found and way != avoiding:
                found[way] = None
                waiting.append(way)
    return found
