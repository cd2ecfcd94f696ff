"""Type parameters and aliases of Python 3.12: made by CPython itself.

Their bounds, defaults and values are computed when first asked for, which no Python constructor
offers; only CPython's intrinsics make them so. An intrinsic is reached through a function of our
own whose one operator is replaced by it.
"""

from __future__ import annotations

import opcode as cpython
from functools import cache
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from monograph.bytecode.opcodes.registry import opcode

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame

__all__ = ["TYPE_INTRINSIC"]


@opcode
def TYPE_INTRINSIC(frame: InterpreterFrame, argument: tuple[int, int]) -> None:
    """Replace values by what CPython's intrinsic of this number makes of them."""
    count, number = argument
    stack = frame.stack
    operands = stack[-count:]
    # CPython reads from the calling frame which module the parameter is of, and imports typing.
    module = {"__name__": frame.globals.get("__name__"), "__builtins__": frame.builtins}
    made = FunctionType(_intrinsic(count, number), module)(*operands)
    stack[-count:] = [made]


@cache
def _intrinsic(count: int, number: int) -> CodeType:
    """Return the code of a function of `count` parameters that is this intrinsic."""
    templates = (lambda a: -a, "UNARY_NEGATIVE"), (lambda a, b: a + b, "BINARY_OP")
    template, operator = templates[count - 1]
    code = template.__code__
    text = bytearray(code.co_code)
    at = next(i for i in range(0, len(text), 2) if cpython.opname[text[i]] == operator)
    text[at : at + 2] = bytes((cpython.opmap[f"CALL_INTRINSIC_{count}"], number))
    for cache_at in range(at + 2, len(text), 2):
        if cpython.opname[text[cache_at]] != "CACHE":
            break
        text[cache_at] = cpython.opmap["NOP"]
    return code.replace(co_code=bytes(text))
