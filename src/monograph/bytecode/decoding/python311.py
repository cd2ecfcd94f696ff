"""From the bytecode of CPython 3.11 to canonical instructions.

Jumps are relative and counted in code units of two bytes; caches follow some instructions and do
not count as such; `KW_NAMES` belongs to the `CALL` after it; the low bit of `LOAD_GLOBAL` asks for
the NULL of a call. Source: the documentation of `dis`, and observed.
"""

from __future__ import annotations

import opcode
from typing import TYPE_CHECKING, Any

from monograph.bytecode.decoding.exception_table import handlers_of
from monograph.bytecode.decoding.registry import decoder
from monograph.bytecode.instructions import JUMPS, Instruction, Instructions, slot_names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from types import CodeType

__all__ = ["BINARY_SYMBOLS", "decode"]

_PLAIN = ("+", "&", "//", "<<", "@", "*", "%", "|", "**", ">>", "-", "/", "^")
BINARY_SYMBOLS = (*_PLAIN, *(f"{symbol}=" for symbol in _PLAIN))
"""What the argument of `BINARY_OP` stands for; the same in later versions."""

_COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")
_CONVERSIONS = ("", "s", "r", "a")

_DROPPED = frozenset({"CACHE", "NOP", "PRECALL", "RESUME"})
_ASYNC = frozenset(
    {
        "ASYNC_GEN_WRAP",
        "BEFORE_ASYNC_WITH",
        "END_ASYNC_FOR",
        "GET_AITER",
        "GET_ANEXT",
        "GET_AWAITABLE",
    }
)
_RENAMED = {
    "JUMP_BACKWARD": "JUMP",
    "JUMP_BACKWARD_NO_INTERRUPT": "JUMP",
    "JUMP_FORWARD": "JUMP",
    **{
        f"POP_JUMP_{way}_IF_{what}": f"POP_JUMP_IF_{what}"
        for way in ("BACKWARD", "FORWARD")
        for what in ("FALSE", "TRUE", "NONE", "NOT_NONE")
    },
}
_NAMED = frozenset(
    {
        "DELETE_ATTR",
        "DELETE_GLOBAL",
        "DELETE_NAME",
        "IMPORT_FROM",
        "IMPORT_NAME",
        "LOAD_ATTR",
        "LOAD_METHOD",
        "LOAD_NAME",
        "STORE_ATTR",
        "STORE_GLOBAL",
        "STORE_NAME",
    }
)
_RESOLVED: dict[str, Callable[[int], Any]] = {
    "BINARY_OP": BINARY_SYMBOLS.__getitem__,
    "CALL_FUNCTION_EX": lambda n: bool(n & 1),
    "COMPARE_OP": _COMPARISONS.__getitem__,
    "CONTAINS_OP": bool,
    "FORMAT_VALUE": lambda n: (_CONVERSIONS[n & 3], bool(n & 4)),
    "IS_OP": bool,
    "WITH_EXCEPT_START": lambda _: 4,
    "UNPACK_EX": lambda n: (n & 0xFF, n >> 8),
}

Raw = tuple[str, int, int]
"""Name, folded argument, byte offset."""


@decoder(3, 11)
def decode(code: CodeType) -> Instructions:
    """Decode a code object of CPython 3.11."""
    body: list[Instruction] = []
    index_at = [0] * (len(code.co_code) // 2 + 1)
    done = 0
    keywords: tuple[str, ...] = ()
    is_first_pop = False
    for name, argument, offset in _raw(code.co_code):
        # Offsets up to here that are no instructions (prefixes, caches) lead to this one.
        index_at[done : offset // 2 + 1] = [len(body)] * (offset // 2 + 1 - done)
        done = offset // 2 + 1
        if name in _DROPPED:
            continue
        if name == "KW_NAMES":
            keywords = code.co_consts[argument]
        elif name == "RETURN_GENERATOR":
            is_first_pop = True  # of the None that CPython sends to start the generator
        elif name == "POP_TOP" and is_first_pop:
            is_first_pop = False
        elif name == "CALL":
            body.append(Instruction("CALL", (argument, keywords), offset))
            keywords = ()
        else:
            body.extend(_canonical(code, name, argument, offset))
    index_at[done:] = [len(body)] * (len(index_at) - done)
    offsets = [instruction.offset for instruction in body]
    return Instructions(
        code,
        tuple(_with_indexes(body, index_at)),
        handlers_of(code.co_exceptiontable, offsets, index_at),
        slot_names(code),
    )


def _raw(text: bytes) -> Iterator[Raw]:
    """Read instructions, with the argument of `EXTENDED_ARG` folded into the next."""
    prefix = 0
    for offset in range(0, len(text), 2):
        name = opcode.opname[text[offset]]
        argument = prefix | text[offset + 1]
        if name == "EXTENDED_ARG":
            prefix = argument << 8
            continue
        prefix = 0
        yield name, argument, offset


def _canonical(code: CodeType, name: str, argument: int, offset: int) -> Iterator[Instruction]:
    """Give the instructions that one of 3.11 stands for; jumps still go to code units."""
    if name == "LOAD_GLOBAL":
        if argument & 1:
            yield Instruction("PUSH_NULL", None, offset)
        yield Instruction(name, code.co_names[argument >> 1], offset)
    elif name in _ASYNC:
        yield Instruction("ASYNC", name, offset)
    else:
        yield Instruction(_RENAMED.get(name, name), _resolve(code, name, argument, offset), offset)


def _resolve(code: CodeType, name: str, argument: int, offset: int) -> Any:
    if name in _NAMED:
        return code.co_names[argument]
    if name == "LOAD_CONST":
        return code.co_consts[argument]
    if name in _RESOLVED:
        return _RESOLVED[name](argument)
    if _RENAMED.get(name, name) in JUMPS:
        after = offset // 2 + 1
        return after - argument if "BACKWARD" in name else after + argument
    return argument if opcode.opmap[name] >= opcode.HAVE_ARGUMENT else None


def _with_indexes(body: list[Instruction], index_at: list[int]) -> Iterator[Instruction]:
    """Turn code units into indexes, and tell each yield of `yield from` where its SEND goes."""
    for index, instruction in enumerate(body):
        if instruction.name in JUMPS:
            yield instruction._replace(argument=index_at[instruction.argument])
        elif instruction.name == "YIELD_VALUE" and body[index - 1].name == "SEND":
            yield instruction._replace(argument=index_at[body[index - 1].argument])
        else:
            yield instruction
