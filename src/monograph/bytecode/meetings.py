"""Where two ways meet again, if those that leave for good are left out.

A `return` under two `if`s has nothing after it that every way passes, so post-dominators only say
that all meet in returning. But what follows the outer `if` is one place, which every way that does
not return comes to: it need not be run once for each of them. The same goes for `break`.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from monograph.bytecode.flow import EXIT

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from monograph.bytecode.flow import Flow

__all__ = ["Meeting", "later_joins", "meeting", "nearer"]


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where the ways on from a jump meet: EXIT if only in returning.

    `outs` are where ways come to what follows that leave the loop around both before they meet.
    """

    place: int
    outs: frozenset[int]


_KNOWN: dict[tuple[int, int], tuple[Flow, Meeting]] = {}


def meeting(flow: Flow, index: int) -> Meeting:
    """The nearest place that every way on from a conditional jump passes, or leaves for good."""
    key = (id(flow), index)
    if key not in _KNOWN:
        _KNOWN[key] = (flow, _meeting(flow, index))  # the flow is kept, so that it stays that
    return _KNOWN[key][1]


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


def _meeting(flow: Flow, index: int) -> Meeting:
    join = flow.joins[index]
    regions = [loop.body for loop in flow.loops if index in loop.body]
    if join not in (EXIT, index) and (not regions or join in regions[0]):
        return Meeting(join, frozenset())
    for region in (*regions, range(len(flow.successors))):
        place = _within(flow.successors, index, region)
        if place is not None:
            return Meeting(place, _outs(flow.successors, index, place, region))
    return Meeting(EXIT, frozenset())


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
