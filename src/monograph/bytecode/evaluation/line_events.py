"""Line events: which lines begin when control goes from one instruction to another.

CPython tells of a line when an instruction of another line than the one before it is reached, and
of every jump backwards. It also stops at instructions that do nothing and that the decoder drops:
`pass`, `try`, `break`.
"""

from __future__ import annotations

import dis
from typing import TYPE_CHECKING

from monograph.bytecode.instructions import JUMPS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

    from monograph.bytecode.evaluation.frame import Body

__all__ = ["Lines"]


class Lines:
    """The lines of one code object, by its instructions: those of CPython, and the linked ones."""

    def __init__(self, code: CodeType, body: Body) -> None:
        """Read the table of lines."""
        self._offsets = body.offsets
        self._names = body.names
        self._lines: dict[int, int | None] = {}
        self._targets: dict[int, int] = {}
        self._start = 0
        kept = set(body.offsets)
        dropped: list[int] = []
        for each in dis.get_instructions(code):
            offset = each.offset
            self._lines[offset] = None if each.positions is None else each.positions.lineno
            if each.opcode in dis.hasjrel or each.opcode in dis.hasjabs:
                self._targets[offset] = each.argval
            if each.opname == "RESUME":
                self._start = self._start or offset + 2
            elif offset not in kept:
                dropped.append(offset)
        self._dropped = dropped

    def between(self, last: int, index: int) -> Iterator[int]:
        """The lines that begin where instruction `index` comes after `last`; -1: as the first."""
        offset = self._offsets[index]
        if last < 0:
            before, begin = None, self._start
        else:
            before = self._offsets[last]
            begin = before + 2 if index == last + 1 else offset
            if self._names[last] in JUMPS and index != last + 1:
                begin = self._targets.get(before, offset)
        line = None if before is None else self._lines[before]
        goes_back = before is not None and begin < before and self._names[last] != "SEND"
        passed = [each for each in self._dropped if begin <= each < offset]
        for each in (*passed, offset):
            at = self._lines[each]
            if at is not None and each >= self._start and (at != line or goes_back):
                yield at
            line, goes_back = at, False
