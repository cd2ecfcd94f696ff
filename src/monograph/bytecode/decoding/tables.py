"""What the decoders of versions with one table of readings share.

A decoder is a table: for each instruction of its version, a reading that gives the canonical ones.
A reading sees its neighbours, because a few instructions only mean something together. Jumps are
written as code units (two bytes) and become indexes at the end.
"""

from __future__ import annotations

import opcode
from typing import TYPE_CHECKING, Any, NamedTuple

from monograph.bytecode.decoding.exception_table import handlers_of
from monograph.bytecode.decoding.short_circuit import has_target, with_short_circuits
from monograph.bytecode.instructions import Instruction, Instructions, slot_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from types import CodeType

    Pieces = Iterable[tuple[str, Any]]
    Reading = Callable[["At"], Pieces]

__all__ = [
    "At",
    "Unit",
    "constant",
    "dropped",
    "fixed",
    "flag",
    "jump",
    "jump_back",
    "name",
    "number",
    "plain",
    "translate",
    "units",
]


class Unit(NamedTuple):
    """One instruction as it stands in `co_code`, its argument folded.

    `after` is the code unit that follows it and its caches: what jumps are relative to.
    """

    name: str
    argument: int
    offset: int
    after: int


class At(NamedTuple):
    """One instruction among its neighbours."""

    code: CodeType
    all: Sequence[Unit]
    here: int

    @property
    def argument(self) -> int:
        """The argument of the instruction."""
        return self.all[self.here].argument

    @property
    def unit(self) -> Unit:
        """The instruction itself."""
        return self.all[self.here]

    @property
    def before(self) -> Unit | None:
        """The instruction before it, as written."""
        return self.all[self.here - 1] if self.here else None

    @property
    def before_is(self) -> str:
        """The name of the instruction before it, or nothing."""
        return self.all[self.here - 1].name if self.here else ""

    @property
    def next_is(self) -> str:
        """The name of the instruction after it, or nothing."""
        return self.all[self.here + 1].name if self.here + 1 < len(self.all) else ""

    @property
    def target(self) -> int:
        """Where it jumps to, forward."""
        return self.unit.after + self.unit.argument


def units(text: bytes) -> list[Unit]:
    """Read `co_code`: fold `EXTENDED_ARG` into what it extends, leave caches out."""
    found: list[Unit] = []
    prefix = 0
    for offset in range(0, len(text), 2):
        spelled = opcode.opname[text[offset]]
        if spelled == "CACHE":
            found[-1] = found[-1]._replace(after=offset // 2 + 1)
            continue
        argument = prefix | text[offset + 1]
        prefix = argument << 8 if spelled == "EXTENDED_ARG" else 0
        if not prefix and spelled != "EXTENDED_ARG":
            found.append(Unit(spelled, argument, offset, offset // 2 + 1))
    return found


def translate(code: CodeType, table: Mapping[str, Reading]) -> Instructions:
    """Read every instruction of a code object by the table.

    Raises: NotImplementedError for an instruction that the table does not have.
    """
    read = units(code.co_code)
    body: list[Instruction] = []
    index_at = [0] * (len(code.co_code) // 2 + 1)
    done = 0
    for index, unit in enumerate(read):
        # Code units up to here that are no instructions (prefixes, caches) lead to this one.
        start = unit.offset // 2 + 1
        index_at[done:start] = [len(body)] * (start - done)
        done = start
        reading = table.get(unit.name)
        if reading is None:
            raise NotImplementedError(f"{unit.name} is not in the decoder's table")
        pieces = reading(At(code, read, index))
        body.extend(Instruction(said, argument, unit.offset) for said, argument in pieces)
    index_at[done:] = [len(body)] * (len(index_at) - done)
    offsets = [instruction.offset for instruction in body]
    handlers = handlers_of(code.co_exceptiontable, offsets, index_at)
    resolved = tuple(_resolved(body, index_at))
    return with_short_circuits(Instructions(code, resolved, handlers, slot_names(code)))


def _resolved(body: list[Instruction], index_at: Sequence[int]) -> Iterator[Instruction]:
    """Turn code units into indexes of instructions."""
    for instruction in body:
        if has_target(instruction):
            yield instruction._replace(argument=index_at[instruction.argument])
        else:
            yield instruction


# ---------------------------------------------------------------- readings that versions share


def dropped(at: At) -> Pieces:
    """Nothing: what only serves CPython's own speed."""
    del at
    return ()


def plain(at: At) -> Pieces:
    """The same instruction, without an argument."""
    return ((at.unit.name, None),)


def number(at: At) -> Pieces:
    """The same instruction and argument: a count, a depth or a slot."""
    return ((at.unit.name, at.argument),)


def flag(at: At) -> Pieces:
    """The same instruction, its argument one bit."""
    return ((at.unit.name, bool(at.argument & 1)),)


def name(at: At) -> Pieces:
    """The same instruction with a name."""
    return ((at.unit.name, at.code.co_names[at.argument]),)


def constant(at: At) -> Pieces:
    """A constant."""
    return (("LOAD_CONST", at.code.co_consts[at.argument]),)


def jump(canonical: str) -> Reading:
    """Read a jump forward as this one."""
    return lambda at: ((canonical, at.target),)


def jump_back(at: At) -> Pieces:
    """An unconditional jump backward."""
    return (("JUMP", at.unit.after - at.argument),)


def fixed(*pieces: tuple[str, Any]) -> Reading:
    """Read as always the same instructions."""
    return lambda _: pieces
