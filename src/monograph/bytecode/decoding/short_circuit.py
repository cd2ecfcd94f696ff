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
    """The same code, with one jump for each copy, jump and pop that nothing else jumps into."""
    body, handlers = read.body, read.handlers
    entered = {step.argument for step in body if has_target(step)}
    entered.update(handler.target for handler in handlers if handler)
    begun = {
        at
        for at in range(len(body) - 2)
        if body[at][:2] == ("COPY", 1)
        and body[at + 1].name in _FUSED
        and body[at + 2].name == "POP_TOP"
        and not entered & {at + 1, at + 2}
    }
    if not begun:
        return read
    kept = [at for at in range(len(body)) if not begun & {at - 1, at - 2}]
    index_of = {at: index for index, at in enumerate(kept)}
    steps: list[Instruction] = []
    for at in kept:
        step = body[at]
        if at in begun:
            step = body[at + 1]._replace(name=_FUSED[body[at + 1].name])
        moved = has_target(step)
        steps.append(step._replace(argument=index_of[step.argument]) if moved else step)
    found = (handlers[at] for at in kept)
    return replace(
        read,
        body=tuple(steps),
        handlers=tuple(each and each._replace(target=index_of[each.target]) for each in found),
    )
