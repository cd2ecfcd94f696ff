"""The control-flow graph of one code object: post-dominators, liveness, loops, reachability.

A graph over the indexes of canonical instructions. Compilers write some of them twice: the test of
a `while` before and at the end of the loop, the last lines of a function at each `break`. So
instructions from which the same is done from then on count as one (see `_merged`), the first of
them. Exceptions are left out of the graph: what a handler does when a condition is taken apart is
decided where it happens.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.analysis.dominators import EXIT, post_dominators, postorder
from monograph.bytecode.analysis.liveness import live_slots
from monograph.bytecode.analysis.natural_loops import Loop, natural_loops
from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.decoding import decode
from monograph.bytecode.instructions import JUMPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from types import CodeType

    from monograph.bytecode.instructions import Instructions

__all__ = ["EXIT", "Flow", "Loop", "flow_of", "live_unless_raised", "successors_of"]

_ENDS: Final = frozenset({"ASYNC", "RAISE_VARARGS", "RERAISE", "RETURN_VALUE"})


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
    from one that has several ways on. `memo` is for what others find out of it, by instruction.
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
    memo: dict[int, Any] = field(default_factory=dict[int, Any], repr=False, compare=False)

    def loop(self, index: int) -> Loop | None:
        """The innermost loop that an instruction belongs to."""
        return next((loop for loop in self.loops if index in loop.body), None)

    def alike(self, index: int) -> frozenset[int]:
        """The instructions that count as this one."""
        return frozenset() if index == EXIT else self.groups[self.same[index]]


@once_per_code
def flow_of(code: CodeType) -> Flow:
    """Return the flow of a code object, worked out when it is first asked for."""
    decoded = decode(code)
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
        post_dominators(successors),
        live_slots(successors, decoded),
        natural_loops(successors, ranks),
        same,
        {first: frozenset(group) for first, group in groups.items()},
        ranks,
        _leads(successors, order),
        sum(1 << node for node, ways in enumerate(successors) if EXIT in ways),
        _entered(successors),
    )


@once_per_code
def live_unless_raised(code: CodeType) -> tuple[int, ...]:
    """As `Flow.live`, where no `with` suppresses an error: by all instructions."""
    decoded = decode(code)
    return live_slots(tuple(_successors(decoded)), decoded, suppresses=False)


def successors_of(code: CodeType) -> tuple[tuple[int, ...], ...]:
    """As `Flow.successors`, of every instruction by itself."""
    return tuple(_successors(decode(code)))


def _merged(decoded: Instructions, successors: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """For each instruction, the first from which the same is done from then on.

    The same: equal instructions of one line, in the reach of one handler, whose ways on lead to
    instructions from which the same is done. Found as states of an automaton are made fewer, by
    splitting classes until none splits. Ways are followed through what only jumps.
    """
    lines = dict(_lines_of(decoded))
    labels = [_label(decoded, index, lines) for index in range(len(decoded.body))]
    ways = [
        tuple(_threaded(decoded, way) for way in _ordered(decoded, index, each))
        for index, each in enumerate(successors)
    ]
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
    same = [first.setdefault(number, index) for index, number in enumerate(classes)]
    entered = {way for index, each in enumerate(successors) if same[index] == index for way in each}
    for index, way in enumerate(_threaded(decoded, index) for index in range(len(same))):
        if index not in entered and same[index] == index:  # only what counts as others leads there
            same[index] = same[way]
    return tuple(same)


def _threaded(decoded: Instructions, index: int) -> int:
    """Where one comes to from an instruction that only jumps: 3.12 jumps back in two steps."""
    seen: set[int] = set()
    while index != EXIT and decoded.body[index].name == "JUMP" and index not in seen:
        seen.add(index)
        index = decoded.body[index].argument
    return index


def _numbered(keys: Sequence[Any]) -> list[int]:
    numbers: dict[Any, int] = {}
    return [numbers.setdefault(key, len(numbers)) for key in keys]


def _lines_of(decoded: Instructions) -> Iterable[tuple[int, int | None]]:
    for offset, position in enumerate(decoded.code.co_positions()):
        yield 2 * offset, position[0]


def _label(decoded: Instructions, index: int, lines: dict[int, int | None]) -> Any:
    """What an instruction does by itself; conditional jumps are alike whichever way they jump.

    So are jumps back to one place: 3.12 writes the way back of a `for` once for each way that ends
    so. One that comes to a loop is none of them, or it would belong to the loop.
    """
    name, argument, offset = decoded.body[index]
    handler, line = decoded.handlers[index], lines.get(offset)
    if name == "JUMP":
        return (name, handler, _threaded(decoded, argument) <= index)
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
            yield (_threaded(decoded, argument),)
        elif name in JUMPS and argument != index + 1:
            yield (index + 1, argument)
        else:
            yield (index + 1,)


def _order(successors: Sequence[tuple[int, ...]]) -> list[int]:
    """All instructions, each before those that it leads to, but for ways back in loops."""
    count = len(successors)
    start = count  # a node before all: what only exceptions lead to comes first

    def onwards(node: int) -> Sequence[int]:
        if node == start:
            return range(count)
        return [way for way in successors[node] if way != EXIT]

    return postorder(start, onwards)[-2::-1]


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
