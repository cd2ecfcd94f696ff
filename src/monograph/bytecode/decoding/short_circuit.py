"""Instruction fusion: the jumps of `and`, `or` and chained comparisons as single instructions.

CPython 3.12 and later write `COPY 1, POP_JUMP_IF_TRUE, POP_TOP`, where 3.11 has
`JUMP_IF_TRUE_OR_POP`. The canonical form is the latter: a branch whose condition stays on the stack
is one instruction, so that nobody takes the copy for a second condition.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from monograph.bytecode.instructions import JUMPS, Instruction, Instructions

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["has_target", "with_short_circuits"]

_FUSED: Final[Mapping[str, str]] = {
    "POP_JUMP_IF_FALSE": "JUMP_IF_FALSE_OR_POP",
    "POP_JUMP_IF_TRUE": "JUMP_IF_TRUE_OR_POP",
}


def has_target(instruction: Instruction) -> bool:
    """Whether the argument of an instruction is a place in the code."""
    if instruction.name == "YIELD_VALUE":
        return instruction.argument is not None
    return instruction.name in JUMPS


def with_short_circuits(read: Instructions) -> Instructions:
    """The same code, with one jump for each copy, jump and pop that nothing else jumps into.

    Where the jump leads to a pop too (`a and b or c` of 3.14), the condition stays nowhere.
    """
    body = read.body
    entered = {step.argument for step in body if has_target(step)}
    entered.update(handler.target for handler in read.handlers if handler)
    begun = [
        at
        for at in range(len(body) - 2)
        if body[at][:2] == ("COPY", 1)
        and body[at + 1].name in _FUSED
        and body[at + 2].name == "POP_TOP"
        and not entered & {at + 1, at + 2}
    ]
    dropped = [at for at in begun if body[body[at + 1].argument].name == "POP_TOP"]
    if dropped:  # what they led to may be part of another one
        steps = {at: body[at + 1]._replace(argument=body[at + 1].argument + 1) for at in dropped}
        return with_short_circuits(_fused(read, steps))
    steps = {at: body[at + 1]._replace(name=_FUSED[body[at + 1].name]) for at in begun}
    return _fused(read, steps) if steps else read


def _fused(read: Instructions, fused: Mapping[int, Instruction]) -> Instructions:
    """The same code with single instructions for the threes that begin at these places."""
    kept = [at for at in range(len(read.body)) if not fused.keys() & {at - 1, at - 2}]
    index_of = {at: index for index, at in enumerate(kept)}
    steps: list[Instruction] = []
    for at in kept:
        step = fused.get(at, read.body[at])
        moved = has_target(step)
        steps.append(step._replace(argument=index_of[step.argument]) if moved else step)
    found = (read.handlers[at] for at in kept)
    return replace(
        read,
        body=tuple(steps),
        handlers=tuple(each and each._replace(target=index_of[each.target]) for each in found),
    )
