"""Where the control flow of one code object goes: what joins, what repeats, what is read later.

A graph over the indexes of canonical instructions. Compilers write some of them twice: the test of
a `while` before and at the end of the loop, the last lines of a function at each `break`. So
instructions from which the same is done from then on count as one (see `_merged`), the first of
them. Exceptions are left out of the graph: what a handler
does when a condition is taken apart is decided where it happens. Sources: Cooper, Harvey, Kennedy,
"A Simple, Fast Dominance Algorithm" (2001), for dominators; the textbook for the rest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.decoding import decode
from monograph.bytecode.instructions import JUMPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import CodeType

    from monograph.bytecode.instructions import Instructions

__all__ = ["EXIT", "Flow", "Loop", "flow_of"]

EXIT: Final = -1
"""Where every return goes."""

_ENDS: Final = frozenset({"ASYNC", "RAISE_VARARGS", "RERAISE", "RETURN_VALUE"})
_READS: Final = frozenset(
    {"DELETE_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_AND_CLEAR", "MAKE_CELL"}
)
_WRITES: Final = frozenset({"STORE_FAST"})


@dataclass(frozen=True, slots=True)
class Loop:
    """A natural loop: where every round begins, and its instructions."""

    header: int
    body: frozenset[int]


@dataclass(frozen=True, slots=True)
class Flow:
    """The flow of one code object. Indexes are those of its canonical instructions.

    `successors[i]` are the ways on from instruction i; of a conditional jump, first to the next
    instruction. `joins[i]` is the first instruction that every way on from i to a return passes,
    EXIT if only the return itself, and i itself where no way leads to a return. `live[i]` has bit n
    set where slot n is read before it is written on some way from before instruction i. `loops` are
    the natural loops, inner ones before outer ones. `same[i]` is the instruction as which i counts;
    all the others are about those alone, and `groups` are those that count as each of them.
    `ranks[i]` is i's place in an order in which ways go on, but for those back to where a round of
    a loop begins. `leads[i]` has a bit for each instruction that some way on from i comes to;
    `returns` has one for each that returns, `entered` for each that ways come to from several, or
    from one that has several ways on.
    """

    successors: tuple[tuple[int, ...], ...]
    joins: tuple[int, ...]
    live: tuple[int, ...]
    loops: tuple[Loop, ...]
    same: tuple[int, ...]
    groups: Mapping[int, frozenset[int]]
    ranks: tuple[int, ...]
    leads: tuple[int, ...]
    returns: int
    entered: int

    def loop(self, index: int) -> Loop | None:
        """The innermost loop that an instruction belongs to."""
        return next((loop for loop in self.loops if index in loop.body), None)

    def alike(self, index: int) -> frozenset[int]:
        """The instructions that count as this one."""
        return frozenset() if index == EXIT else self.groups[self.same[index]]


_KNOWN: dict[int, tuple[CodeType, Flow]] = {}


def flow_of(code: CodeType) -> Flow:
    """Return the flow of a code object, worked out when it is first asked for."""
    known = _KNOWN.get(id(code))
    if known is None:
        known = _KNOWN[id(code)] = (code, _analysed(decode(code)))
    return known[1]


def _analysed(decoded: Instructions) -> Flow:
    raw = tuple(_successors(decoded))
    same = _merged(decoded, raw)
    successors = tuple(
        tuple(way if way == EXIT else same[way] for way in ways) if same[index] == index else ()
        for index, ways in enumerate(raw)
    )
    groups: dict[int, set[int]] = {}
    for index, first in enumerate(same):
        groups.setdefault(first, set()).add(index)
    order = _order(successors)
    ranks = _ranks(order)
    return Flow(
        successors,
        _joins(successors),
        _live(successors, decoded),
        _loops(successors, ranks),
        same,
        {first: frozenset(group) for first, group in groups.items()},
        ranks,
        _leads(successors, order),
        sum(1 << node for node, ways in enumerate(successors) if EXIT in ways),
        _entered(successors),
    )


def _merged(decoded: Instructions, successors: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """For each instruction, the first from which the same is done from then on.

    The same: equal instructions of one line, in the reach of one handler, whose ways on lead to
    instructions from which the same is done. Found as states of an automaton are made fewer, by
    splitting classes until none splits.
    """
    lines = dict(_lines_of(decoded))
    labels = [_label(decoded, index, lines) for index in range(len(decoded.body))]
    ways = [_ordered(decoded, index, each) for index, each in enumerate(successors)]
    classes = _numbered(labels)
    while True:
        finer = _numbered(
            [
                (classes[index], *(EXIT if way == EXIT else classes[way] for way in each))
                for index, each in enumerate(ways)
            ]
        )
        if max(finer, default=0) == max(classes, default=0):
            break
        classes = finer
    first: dict[int, int] = {}
    return tuple(first.setdefault(number, index) for index, number in enumerate(classes))


def _numbered(keys: Sequence[Any]) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _lines_of(decoded: Instructions) -> Iterable[tuple[int, int | None]]:
    for offset, position in enumerate(decoded.code.co_positions()):
        yield 2 * offset, position[0]


def _label(decoded: Instructions, index: int, lines: dict[int, int | None]) -> Any:
    """What an instruction does by itself; conditional jumps are alike whichever way they jump."""
    name, argument, offset = decoded.body[index]
    handler, line = decoded.handlers[index], lines.get(offset)
    if name in _EITHER:
        return ("if", handler, line)
    if name in JUMPS:
        return (name, handler, line)
    return (name, type(argument).__name__, repr(argument), handler, line)


_EITHER: Final = {"POP_JUMP_IF_FALSE": False, "POP_JUMP_IF_TRUE": True}
"""The jumps that forget the condition, and with which answer they jump."""


def _ordered(decoded: Instructions, index: int, successors: tuple[int, ...]) -> tuple[int, ...]:
    """The ways on in an order of their own: of a condition, that of True first."""
    if _EITHER.get(decoded.body[index].name) is True:
        return successors[::-1]
    return successors


def _successors(decoded: Instructions) -> Iterable[tuple[int, ...]]:
    for index, (name, argument, _) in enumerate(decoded.body):
        if name == "RETURN_VALUE":
            yield (EXIT,)
        elif name in _ENDS:
            yield ()
        elif name == "JUMP":
            yield (argument,)
        elif name in JUMPS and argument != index + 1:
            yield (index + 1, argument)
        else:
            yield (index + 1,)


# --- dominators ----------------------------------------------------------------------------------


def _joins(successors: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Immediate post-dominators; ways that only raise are no ways."""
    count = len(successors)
    backwards: list[list[int]] = [[] for _ in range(count + 1)]
    for index, ways in enumerate(successors):
        for way in ways:
            backwards[way].append(index)  # EXIT is the last entry
    parents = _dominators(count, backwards.__getitem__, lambda index: successors[index])
    return tuple(_named(parents[index], index, count) for index in range(count))


def _named(join: int | None, index: int, count: int) -> int:
    if join is None:
        return index
    return EXIT if join == count else join


def _dominators(
    root: int,
    onwards: Callable[[int], Sequence[int]],
    before: Callable[[int], Sequence[int]],
) -> dict[int, int | None]:
    """Immediate dominators of what can be reached from `root`; None for what cannot, and of root.

    `onwards` and `before` are the edges from and to a node; EXIT in either stands for the root.
    """
    order = _postorder(root, onwards)
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


def _postorder(root: int, onwards: Callable[[int], Sequence[int]]) -> list[int]:
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


# --- what leads where ----------------------------------------------------------------------------


def _order(successors: Sequence[tuple[int, ...]]) -> list[int]:
    """All instructions, each before those that it leads to, but for ways back in loops."""
    count = len(successors)
    start = count  # a node before all: what only exceptions lead to comes first

    def onwards(node: int) -> Sequence[int]:
        if node == start:
            return range(count)
        return [way for way in successors[node] if way != EXIT]

    return _postorder(start, onwards)[-2::-1]


def _ranks(order: Sequence[int]) -> tuple[int, ...]:
    ranks = [0] * len(order)
    for rank, node in enumerate(order):
        ranks[node] = rank
    return tuple(ranks)


def _entered(successors: Sequence[tuple[int, ...]]) -> int:
    counts = [0] * len(successors)
    for ways in successors:
        inside = [way for way in ways if way != EXIT]
        for way in inside:
            counts[way] += len(inside)
    return sum(1 << node for node, count in enumerate(counts) if count > 1)


def _leads(successors: Sequence[tuple[int, ...]], order: Sequence[int]) -> tuple[int, ...]:
    leads = [0] * len(successors)
    changed = True
    while changed:
        changed = False
        for node in reversed(order):
            found = 0
            for way in successors[node]:
                if way != EXIT:
                    found |= leads[way] | 1 << way
            if found != leads[node]:
                leads[node] = found
                changed = True
    return tuple(leads)


# --- loops ---------------------------------------------------------------------------------------


def _loops(successors: Sequence[tuple[int, ...]], ranks: Sequence[int]) -> tuple[Loop, ...]:
    """Natural loops, those with one header as one; a smaller one is an inner one."""
    count = len(successors)
    backwards: list[list[int]] = [[] for _ in range(count)]
    for index, ways in enumerate(successors):
        for way in ways:
            if way != EXIT:
                backwards[way].append(index)
    start = count  # a node before the first instruction, so that this may be a header
    dominators = _dominators(
        start,
        lambda node: (0,) if node == start else [way for way in successors[node] if way != EXIT],
        lambda node: [*backwards[node], start] if node == 0 else backwards[node],
    )
    bodies: dict[int, set[int]] = {}
    for index, ways in enumerate(successors):
        for header in ways:
            if header == EXIT or ranks[header] > ranks[index]:
                continue  # it does not lead back
            if _dominates(header, index, dominators):
                bodies.setdefault(header, {header}).update(_round(header, index, backwards))
    found = [Loop(header, frozenset(body)) for header, body in bodies.items()]
    return tuple(sorted(found, key=lambda loop: len(loop.body)))


def _dominates(one: int, other: int, dominators: dict[int, int | None]) -> bool:
    if dominators[other] is None:
        return False  # it is never reached but by an exception
    step: int | None = other
    while step is not None:
        if step == one:
            return True
        step = dominators[step]
    return False


def _round(header: int, last: int, backwards: list[list[int]]) -> set[int]:
    """The instructions between a loop's header and one of its jumps back."""
    found = {header}
    waiting = [last]
    while waiting:
        index = waiting.pop()
        if index not in found:
            found.add(index)
            waiting.extend(backwards[index])
    return found


# --- what is read later --------------------------------------------------------------------------


def _live(successors: Sequence[tuple[int, ...]], decoded: Instructions) -> tuple[int, ...]:
    """Which slots are read later; a slot that holds a cell is, wherever the code runs."""
    cells = _cells(decoded)
    live = [cells] * len(decoded.body)
    changed = True
    while changed:
        changed = False
        for index in range(len(live) - 1, -1, -1):
            after = cells
            for way in successors[index]:
                if way != EXIT:
                    after |= live[way]
            before = _before(decoded, index, after, live)
            if before != live[index]:
                live[index] = before
                changed = True
    return tuple(live)


def _cells(decoded: Instructions) -> int:
    """The slots that hold cells, as bits."""
    found = 0
    for name, argument, _ in decoded.body:
        if name == "MAKE_CELL":
            found |= 1 << argument
        elif name == "COPY_FREE_VARS":
            n_slots = len(decoded.slots)
            found |= (1 << n_slots) - (1 << (n_slots - argument))
    return found


def _before(decoded: Instructions, index: int, after: int, live: list[int]) -> int:
    """What lives before an instruction, by what lives after it and where it raises."""
    name, argument, _ = decoded.body[index]
    if name in _WRITES:
        after &= ~(1 << argument)
    elif name in _READS:
        after |= 1 << argument
    handler = decoded.handlers[index]
    return after if handler is None else after | live[handler.target]
