"""From the bytecode of CPython 3.12 to canonical instructions.

Since 3.11: the low bit of `LOAD_ATTR` asks for a method; the comparison of `COMPARE_OP` stands
above four bits of its own use; an exhausted `FOR_ITER` goes past the `END_FOR` it names and `SEND`
to an `END_SEND`; `RETURN_CONST` is two instructions in one, as are subscripts that are slices of
two bounds; comprehensions are inlined, so their variables are put aside by `LOAD_FAST_AND_CLEAR`;
rare instructions became `CALL_INTRINSIC`; a generator turns its own StopIteration into
RuntimeError, in code. Source: the documentation of
`dis` for 3.12, and observed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.bytecode.decoding.python311 import BINARY_SYMBOLS
from monograph.bytecode.decoding.registry import decoder
from monograph.bytecode.decoding.tables import (
    constant,
    dropped,
    fixed,
    flag,
    jump,
    jump_back,
    name,
    number,
    plain,
    translate,
)

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode.decoding.tables import At, Pieces, Reading
    from monograph.bytecode.instructions import Instructions

__all__ = ["COMPARISONS", "SHARED", "decode"]

COMPARISONS = ("<", "<=", "==", "!=", ">", ">=")

_CONVERSIONS = ("", "s", "r", "a")


def _load_attr(at: At) -> Pieces:
    said = "LOAD_METHOD" if at.argument & 1 else "LOAD_ATTR"
    return ((said, at.code.co_names[at.argument >> 1]),)


def _load_super_attr(at: At) -> Pieces:
    """Tell `super(a, b)`, which gives its operands, from `super()`, for which they are found."""
    name = at.code.co_names[at.argument >> 2]
    return (("LOAD_SUPER_ATTR", (name, bool(at.argument & 1), bool(at.argument & 2))),)


def _load_global(at: At) -> Pieces:
    """Give the NULL of a call first, wherever this version has it."""
    if at.argument & 1:
        yield "PUSH_NULL", None
    yield "LOAD_GLOBAL", at.code.co_names[at.argument >> 1]


def _return_const(at: At) -> Pieces:
    return (("LOAD_CONST", at.code.co_consts[at.argument]), ("RETURN_VALUE", None))


def _binary(at: At) -> Pieces:
    return (("BINARY_OP", BINARY_SYMBOLS[at.argument]),)


def _unpack_ex(at: At) -> Pieces:
    return (("UNPACK_EX", (at.argument & 0xFF, at.argument >> 8)),)


def _send(at: At) -> Pieces:
    """Exhausted, SEND takes the iterator away itself, so it goes past the END_SEND it names."""
    return (("SEND", at.target + 1),)


def _yield(at: At) -> Pieces:
    before = at.before
    if before is not None and before.name == "SEND":
        return (("YIELD_VALUE", before.after + before.argument + 1),)
    return (("YIELD_VALUE", None),)


def _pop_top(at: At) -> Pieces:
    """Leave out the pop of the None that CPython sends to start a generator."""
    return () if at.before_is == "RETURN_GENERATOR" else (("POP_TOP", None),)


def _asynchronous(at: At) -> Pieces:
    return (("ASYNC", at.unit.name),)


_NONE = ("LOAD_CONST", None)
_BUILD_SLICE = ("BUILD_SLICE", 2)

_INTRINSICS_1: dict[int, Reading] = {
    1: fixed(("PRINT_EXPR", None), _NONE),
    2: fixed(("IMPORT_STAR", None), _NONE),
    3: fixed(("STOPITERATION_ERROR", None)),
    4: fixed(("ASYNC", "ASYNC_GEN_WRAP")),
    5: fixed(("UNARY_POSITIVE", None)),
    6: fixed(("LIST_TO_TUPLE", None)),
}


def _intrinsic_1(at: At) -> Pieces:
    reading = _INTRINSICS_1.get(at.argument)
    return reading(at) if reading else (("TYPE_INTRINSIC", (1, at.argument)),)


def _intrinsic_2(at: At) -> Pieces:
    if at.argument == 1:
        return (("PREP_RERAISE_STAR", None),)
    return (("TYPE_INTRINSIC", (2, at.argument)),)


SHARED: dict[str, Reading] = {
    **dict.fromkeys(("END_FOR", "NOP", "RESUME", "RETURN_GENERATOR"), dropped),
    **dict.fromkeys(
        (
            "BEFORE_WITH",
            "BINARY_SUBSCR",
            "CHECK_EG_MATCH",
            "CHECK_EXC_MATCH",
            "CLEANUP_THROW",
            "DELETE_SUBSCR",
            "END_SEND",
            "GET_ITER",
            "GET_LEN",
            "GET_YIELD_FROM_ITER",
            "LOAD_ASSERTION_ERROR",
            "LOAD_BUILD_CLASS",
            "LOAD_LOCALS",
            "MATCH_KEYS",
            "MATCH_MAPPING",
            "MATCH_SEQUENCE",
            "POP_EXCEPT",
            "PUSH_EXC_INFO",
            "RETURN_VALUE",
            "SETUP_ANNOTATIONS",
            "STORE_SUBSCR",
            "UNARY_INVERT",
            "UNARY_NEGATIVE",
            "UNARY_NOT",
        ),
        plain,
    ),
    **dict.fromkeys(
        (
            "BUILD_CONST_KEY_MAP",
            "BUILD_LIST",
            "BUILD_MAP",
            "BUILD_SET",
            "BUILD_SLICE",
            "BUILD_STRING",
            "BUILD_TUPLE",
            "COPY",
            "COPY_FREE_VARS",
            "DELETE_DEREF",
            "DELETE_FAST",
            "DICT_MERGE",
            "DICT_UPDATE",
            "LIST_APPEND",
            "LIST_EXTEND",
            "LOAD_DEREF",
            "LOAD_FAST_AND_CLEAR",
            "LOAD_FROM_DICT_OR_DEREF",
            "MAKE_CELL",
            "MAP_ADD",
            "MATCH_CLASS",
            "RAISE_VARARGS",
            "RERAISE",
            "SET_ADD",
            "SET_UPDATE",
            "STORE_DEREF",
            "STORE_FAST",
            "SWAP",
            "UNPACK_SEQUENCE",
        ),
        number,
    ),
    **dict.fromkeys(
        (
            "DELETE_ATTR",
            "DELETE_GLOBAL",
            "DELETE_NAME",
            "IMPORT_FROM",
            "IMPORT_NAME",
            "LOAD_FROM_DICT_OR_GLOBALS",
            "LOAD_NAME",
            "STORE_ATTR",
            "STORE_GLOBAL",
            "STORE_NAME",
        ),
        name,
    ),
    **dict.fromkeys(("CALL_FUNCTION_EX", "CONTAINS_OP", "IS_OP"), flag),
    **dict.fromkeys(("JUMP_BACKWARD", "JUMP_BACKWARD_NO_INTERRUPT"), jump_back),
    **{
        said: jump(said)
        for said in (
            "POP_JUMP_IF_FALSE",
            "POP_JUMP_IF_NONE",
            "POP_JUMP_IF_NOT_NONE",
            "POP_JUMP_IF_TRUE",
        )
    },
    **dict.fromkeys(
        ("BEFORE_ASYNC_WITH", "END_ASYNC_FOR", "GET_AITER", "GET_ANEXT", "GET_AWAITABLE"),
        _asynchronous,
    ),
    "BINARY_OP": _binary,
    "BINARY_SLICE": fixed(_BUILD_SLICE, ("BINARY_SUBSCR", None)),
    "CALL_INTRINSIC_1": _intrinsic_1,
    "CALL_INTRINSIC_2": _intrinsic_2,
    "JUMP_FORWARD": jump("JUMP"),
    "LOAD_ATTR": _load_attr,
    "LOAD_CONST": constant,
    "LOAD_GLOBAL": _load_global,
    "LOAD_SUPER_ATTR": _load_super_attr,
    "POP_TOP": _pop_top,
    "RETURN_CONST": _return_const,
    "SEND": _send,
    "STORE_SLICE": fixed(_BUILD_SLICE, ("STORE_SUBSCR", None)),
    "UNPACK_EX": _unpack_ex,
    "WITH_EXCEPT_START": fixed(("WITH_EXCEPT_START", 4)),
    "YIELD_VALUE": _yield,
}
"""What 3.12 and later read alike."""


def _call(at: At) -> Pieces:
    before = at.before
    named = before is not None and before.name == "KW_NAMES"
    keywords = at.code.co_consts[before.argument] if before is not None and named else ()
    return (("CALL", (at.argument, keywords)),)


def _compare(at: At) -> Pieces:
    return (("COMPARE_OP", COMPARISONS[at.argument >> 4]),)


def _format_value(at: At) -> Pieces:
    return (("FORMAT_VALUE", (_CONVERSIONS[at.argument & 3], bool(at.argument & 4))),)


def _load_fast_check(at: At) -> Pieces:
    return (("LOAD_FAST", at.argument),)


_TABLE: dict[str, Reading] = {
    **SHARED,
    "CALL": _call,
    "COMPARE_OP": _compare,
    "FOR_ITER": jump("FOR_ITER"),
    "FORMAT_VALUE": _format_value,
    "KW_NAMES": dropped,
    "LOAD_CLOSURE": number,
    "LOAD_FAST": number,
    "LOAD_FAST_CHECK": _load_fast_check,
    "MAKE_FUNCTION": number,
    "PUSH_NULL": plain,
}


@decoder(3, 12)
def decode(code: CodeType) -> Instructions:
    """Decode a code object of CPython 3.12."""
    return translate(code, _TABLE)
