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
    from types import CodeType

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
    body, ways = decode(code).body, successors_of(code)
    index_at = {step.offset: index for index, step in enumerate(body)}
    found: set[int] = set()
    for target in {each.target for each in entries(code.co_exceptiontable)}:
        first = index_at[target]
        if [step.name for step in body[first : first + 2]][1:] == ["WITH_EXCEPT_START"]:
            continue
        waiting, seen = [first], set[int]()
        while waiting:
            index = waiting.pop()
            if index < 0 or index in seen:
                continue
            seen.add(index)
            waiting += ways[index]
        is_handler = body[first].name == "PUSH_EXC_INFO"
        if is_handler and any(body[index].name == "POP_EXCEPT" for index in seen):
            found.add(target)
    return frozenset(found)
