"""Reaching definitions: which assignments may have given a variable its value at a place.

Law: an instruction is found if there is a way from `start` to `place` on which no other gives the
variable a value after it; where no instruction on the ways does, of those before `jump`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monograph.bytecode.analysis.control_flow_graph import EXIT, flow_of
from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.decoding import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from types import CodeType

    from monograph.bytecode.instructions import Instruction

__all__ = ["assignments"]

_GIVES: Final = frozenset({"DELETE_DEREF", "DELETE_FAST", "STORE_DEREF", "STORE_FAST"})
_PASSES: Final = frozenset({"JUMP"})


def assignments(code: CodeType, name: str, place: int, start: int, jump: int) -> tuple[int, ...]:
    """The offsets of the instructions that gave a variable its value at `place`.

    `name` is "" for what stands on the stack, or is returned: then it is what came last. `start` is
    where the way begins, whose condition is `jump`. Empty: it is the parameter that was given.
    """
    flow, (steps, slots, before) = flow_of(code), _predecessors(code)
    begun, last = flow.same[start], place if place == EXIT else flow.same[place]
    within = _reached(begun, last, flow.successors)
    slot = slots.index(name) if name else None

    def gives(index: int) -> bool:
        kind, of, _ = steps[index]
        return kind not in _PASSES if slot is None else kind in _GIVES and of == slot

    found, is_open = _nearest(last, before, gives, within, begun)
    if is_open and name:
        found |= _nearest(flow.same[jump], before, gives, range(len(steps)), None)[0]
    return tuple(sorted(steps[index].offset for index in found))


@once_per_code
def _predecessors(
    code: CodeType,
) -> tuple[Sequence[Instruction], tuple[str, ...], dict[int, list[int]]]:
    """The instructions and slots of code, and which instructions lead to each."""
    decoded = decode(code)
    return decoded.body, decoded.slots, _backwards(flow_of(code).successors)


def _backwards(successors: Sequence[Sequence[int]]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for index, ways in enumerate(successors):
        for way in ways:
            found.setdefault(way, []).append(index)
    return found


def _reached(start: int, end: int, successors: Sequence[Sequence[int]]) -> set[int]:
    """What the ways from a start pass before they come to an end."""
    seen: set[int] = set()
    waiting = [] if start == end else [start]
    while waiting:
        index = waiting.pop()
        seen.add(index)
        waiting += [way for way in successors[index] if way not in {end, EXIT} and way not in seen]
    return seen


def _nearest(
    place: int,
    before: dict[int, list[int]],
    gives: Callable[[int], bool],
    within: Collection[int],
    begun: int | None,
) -> tuple[set[int], bool]:
    """The instructions that give something last before a place; whether a way has none."""
    found: set[int] = set()
    seen: set[int] = set()
    is_open = not within
    waiting = [place]
    while waiting:
        index = waiting.pop()
        for each in _inside(before.get(index, ()), within, seen):
            seen.add(each)
            if gives(each):
                found.add(each)
                continue
            is_open = is_open or each == begun
            waiting.append(each)
    return found, is_open


def _inside(indexes: Iterable[int], within: Collection[int], seen: set[int]) -> list[int]:
    return [each for each in indexes if each in within and each not in seen]
