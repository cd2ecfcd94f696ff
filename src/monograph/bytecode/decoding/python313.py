"""From the bytecode of CPython 3.13 to canonical instructions.

Since 3.12: the callable of a call stands below its NULL; the names of keywords are on the stack
(`CALL_KW`); conditional jumps take bools only, so `TO_BOOL`, or a bit of `COMPARE_OP`, stands
before them; pairs of loads and stores are fused; cells are loaded as fast locals; f-strings are
three instructions; what a function carries is given to it by `SET_FUNCTION_ATTRIBUTE`, after
`MAKE_FUNCTION`. An exhausted
`FOR_ITER` goes past an `END_FOR` and a `POP_TOP`. Source: the documentation of `dis` for 3.13, and
observed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.bytecode.decoding.python312 import COMPARISONS, SHARED
from monograph.bytecode.decoding.registry import decoder
from monograph.bytecode.decoding.tables import dropped, fixed, number, plain, translate

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode.decoding.tables import At, Pieces, Reading
    from monograph.bytecode.instructions import Instructions

__all__ = ["CONVERSIONS", "TABLE", "decode"]

_AS_BOOL = 16
_MAKES_BOOL_ITSELF = frozenset({"POP_JUMP_IF_FALSE", "POP_JUMP_IF_TRUE", "UNARY_NOT"})
CONVERSIONS = ("", "s", "r", "a")


def _to_bool(at: At) -> Pieces:
    """Leave the question to the jump that follows, which may fork instead of asking."""
    return () if at.next_is in _MAKES_BOOL_ITSELF else (("TO_BOOL", None),)


def _compare(at: At) -> Pieces:
    yield "COMPARE_OP", COMPARISONS[at.argument >> 5]
    if at.argument & _AS_BOOL:
        yield from _to_bool(at)


def _load(code: CodeType, slot: int) -> tuple[str, int]:
    return ("LOAD_FAST" if slot < code.co_nlocals else "LOAD_CLOSURE", slot)


def _load_fast(at: At) -> Pieces:
    return (_load(at.code, at.argument),)


def _load_load(at: At) -> Pieces:
    return (_load(at.code, at.argument >> 4), _load(at.code, at.argument & 15))


def _store_load(at: At) -> Pieces:
    return (("STORE_FAST", at.argument >> 4), _load(at.code, at.argument & 15))


def _store_store(at: At) -> Pieces:
    return (("STORE_FAST", at.argument >> 4), ("STORE_FAST", at.argument & 15))


def _for_iter(at: At) -> Pieces:
    return (("FOR_ITER", at.target + 2),)


def _pop_top(at: At) -> Pieces:
    """Leave out what no canonical instruction leaves behind: a sent None, a finished iterator."""
    return () if at.before_is in {"RETURN_GENERATOR", "END_FOR"} else (("POP_TOP", None),)


def _call(at: At) -> Pieces:
    return (("CALL", (at.argument, ())),)


def _convert(at: At) -> Pieces:
    return (("CONVERT_VALUE", CONVERSIONS[at.argument]),)


def _make_function(at: At) -> Pieces:
    """Take what the function carries from the instructions that follow.

    They stand in the order in which older versions have the values on the stack.
    """
    flags = 0
    for unit in at.all[at.here + 1 :]:
        if unit.name != "SET_FUNCTION_ATTRIBUTE":
            break
        flags |= unit.argument
    return (("MAKE_FUNCTION", flags),)


TABLE: dict[str, Reading] = {
    **SHARED,
    "CALL": _call,
    "CALL_KW": number,
    "COMPARE_OP": _compare,
    "CONVERT_VALUE": _convert,
    "FOR_ITER": _for_iter,
    "FORMAT_SIMPLE": plain,
    "FORMAT_WITH_SPEC": plain,
    "LOAD_FAST": _load_fast,
    "LOAD_FAST_CHECK": _load_fast,
    "LOAD_FAST_LOAD_FAST": _load_load,
    "MAKE_FUNCTION": _make_function,
    "POP_TOP": _pop_top,
    # The NULL below the callable, as older versions have it and messages about calls expect it.
    "PUSH_NULL": fixed(("PUSH_NULL", None), ("SWAP", 2)),
    "SET_FUNCTION_ATTRIBUTE": dropped,
    "STORE_FAST_LOAD_FAST": _store_load,
    "STORE_FAST_STORE_FAST": _store_store,
    "TO_BOOL": _to_bool,
}


@decoder(3, 13)
def decode(code: CodeType) -> Instructions:
    """Decode a code object of CPython 3.13."""
    return translate(code, TABLE)
