"""The exception table of CPython 3.11 and later: which handler covers which instructions.

Source: `Objects/exception_handling_notes.txt` of CPython: entries of four numbers in a
variable-length code of six bits a byte, the first byte of an entry marked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from monograph.bytecode.instructions import Handler

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["HandlerRange", "entries", "handlers_of"]


class HandlerRange(NamedTuple):
    """Byte offsets from `start` to `end` (excluded) go to `target`."""

    start: int
    end: int
    target: int
    depth: int
    keeps_offset: bool


def entries(table: bytes) -> list[HandlerRange]:
    """Decode `co_exceptiontable`."""
    numbers = iter(table)
    found: list[HandlerRange] = []
    for first in numbers:
        start = _number(first, numbers)
        length = _number(next(numbers), numbers)
        target = _number(next(numbers), numbers)
        depth_and_flag = _number(next(numbers), numbers)
        keeps = bool(depth_and_flag & 1)
        found.append(
            HandlerRange(2 * start, 2 * (start + length), 2 * target, depth_and_flag >> 1, keeps)
        )
    return found


def handlers_of(
    table: bytes, offsets: Sequence[int], index_at: Sequence[int]
) -> tuple[Handler | None, ...]:
    """Give each instruction its handler; `index_at[offset // 2]` is the instruction there."""
    found: list[Handler | None] = [None] * len(offsets)
    for entry in entries(table):
        handler = Handler(index_at[entry.target // 2], entry.depth, entry.keeps_offset)
        for index, offset in enumerate(offsets):
            if entry.start <= offset < entry.end:
                found[index] = handler
    return tuple(found)


def _number(first: int, rest: Iterator[int]) -> int:
    value = first & 63
    while first & 64:
        first = next(rest)
        value = (value << 6) | (first & 63)
    return value
