"""Exception handlers that complete: whether what an instruction raises may be caught.

A handler catches only if some way through it drops the exception (`POP_EXCEPT`). That of `finally`
raises it again, unless it returns; one that ends by raising something else hands that on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.bytecode.analysis.control_flow_graph import successors_of
from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.decoding import decode
from monograph.bytecode.decoding.exception_table import entries

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType

    from monograph.bytecode.instructions import Handler, Instruction, Instructions

__all__ = ["is_tried"]


def is_tried(code: CodeType, offset: int) -> bool:
    """Whether what the instruction there raises may be caught in its function by `except`.

    >>> is_tried(entries.__code__, 0)
    False
    """
    table = entries(code.co_exceptiontable)
    seen: set[int] = set()
    at: int | None = offset
    while at is not None and at not in seen:  # what ends a handler is within those around it
        seen.add(at)
        at = next((each.target for each in table if each.start <= at < each.end), None)
        if at is not None and at in _completing(code):
            return True
    return False


@once_per_code
def _completing(code: CodeType) -> frozenset[int]:
    """The offsets of the handlers that may drop an exception; not those that end a `with`."""
    decoded, ways = decode(code), successors_of(code)
    handlers = {each for each in decoded.handlers if each is not None}
    dropping = [each.target for each in handlers if _drops(decoded, ways, each)]
    return frozenset(decoded.body[target].offset for target in dropping)


def _drops(decoded: Instructions, ways: Sequence[tuple[int, ...]], handler: Handler) -> bool:
    """Whether some way through a handler drops its exception; handlers within drop others."""
    body, waiting, seen = decoded.body, [(handler.target, 0)], set[tuple[int, int]]()
    if not _begins(body, handler) or body[handler.target + 1].name == "WITH_EXCEPT_START":
        return False
    while waiting:
        at, depth = step = waiting.pop()
        if at < 0 or step in seen:
            continue
        seen.add(step)
        depth += (body[at].name == "PUSH_EXC_INFO") - (body[at].name == "POP_EXCEPT")
        if body[at].name == "POP_EXCEPT" and not depth:
            return True
        within = decoded.handlers[at]
        if within is not None and within.depth > handler.depth and _begins(body, within):
            waiting.append((within.target, depth))
        waiting += [(way, depth) for way in ways[at] if depth]
    return False


def _begins(body: Sequence[Instruction], handler: Handler) -> bool:
    """Whether it is a handler of the code, not the end of one that raised."""
    return body[handler.target].name == "PUSH_EXC_INFO"
