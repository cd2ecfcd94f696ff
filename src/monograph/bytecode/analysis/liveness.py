"""Liveness: which slots are read later, by backward data flow over the control-flow graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monograph.bytecode.analysis.dominators import EXIT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.bytecode.instructions import Instructions

__all__ = ["live_slots"]

_READS: Final = frozenset(
    {"DELETE_FAST", "LOAD_CLOSURE", "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_AND_CLEAR", "MAKE_CELL"}
)
_WRITES: Final = frozenset({"STORE_FAST"})


def live_slots(
    successors: Sequence[tuple[int, ...]], decoded: Instructions, *, suppresses: bool = True
) -> tuple[int, ...]:
    """Which slots are read later; a slot that holds a cell is, wherever the code runs.

    Unless a `with` `suppresses` errors, nothing is read behind it where it is left by one.
    """
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
            before = _before(decoded, index, after, live, suppresses)
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


def _before(
    decoded: Instructions,
    index: int,
    after: int,
    live: list[int],
    suppresses: bool,  # noqa: FBT001 - as `live_slots` has it
) -> int:
    """What lives before an instruction, by what lives after it and where it raises."""
    name, argument, _ = decoded.body[index]
    if name in _WRITES:
        after &= ~(1 << argument)
    elif name in _READS:
        after |= 1 << argument
    handler = decoded.handlers[index]
    if handler is None:
        return after
    is_with = decoded.body[handler.target + 1].name == "WITH_EXCEPT_START"
    return after if is_with and not suppresses else after | live[handler.target]
