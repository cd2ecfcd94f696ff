"""From the bytecode of CPython 3.14 to canonical instructions.

Since 3.13: an item is a `BINARY_OP`; loads may borrow; small integers and a few builtins have
instructions of their own; a `with` looks its methods up by `LOAD_SPECIAL` and keeps two values on
the stack; `CALL_FUNCTION_EX` always has a place for keywords; annotations are functions; there are
template strings; `all`, `any` and `tuple` of a generator expression are loops where the names stand
for the builtins. Source: the documentation of `dis` for 3.14, and observed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.bytecode.decoding.python311 import BINARY_SYMBOLS
from monograph.bytecode.decoding.python313 import CONVERSIONS, TABLE
from monograph.bytecode.decoding.registry import decoder
from monograph.bytecode.decoding.tables import dropped, fixed, plain, translate

if TYPE_CHECKING:
    from types import CodeType

    from monograph.bytecode.decoding.tables import At, Pieces, Reading
    from monograph.bytecode.instructions import Instructions

__all__ = ["decode"]

_COMMON = (AssertionError, NotImplementedError, tuple, all, any)
_ENTER, _EXIT = 0, 1
_SUBSCRIPT = len(BINARY_SYMBOLS)


def _common_constant(at: At) -> Pieces:
    if at.argument == 0:
        return (("LOAD_ASSERTION_ERROR", None),)
    return () if _asks_for_builtin(at, 1) else (("LOAD_CONST", _COMMON[at.argument]),)


def _asks_for_builtin(at: At, place: int) -> bool:
    """Whether this is that place of `COPY, LOAD_COMMON_CONSTANT, IS_OP, POP_JUMP_IF_FALSE`.

    It asks whether `all` is the builtin, and writes a loop for that case. The other way, a call, is
    right in both, and is what older versions have.
    """
    first = at.here - place
    names = [each.name for each in at.all[max(first, 0) : first + 4]]
    return names == ["COPY", "LOAD_COMMON_CONSTANT", "IS_OP", "POP_JUMP_IF_FALSE"]


def _copy(at: At) -> Pieces:
    if at.next_is == "LOAD_SPECIAL" or _asks_for_builtin(at, 0):
        return ()
    return (("COPY", at.argument),)


def _is_op(at: At) -> Pieces:
    return () if _asks_for_builtin(at, 2) else (("IS_OP", bool(at.argument)),)


def _jump_if_false(at: At) -> Pieces:
    return (("JUMP" if _asks_for_builtin(at, 3) else "POP_JUMP_IF_FALSE", at.target),)


def _special(at: At) -> Pieces:
    """Read what enters a `with` as one: `COPY, LOAD_SPECIAL, SWAP, SWAP, LOAD_SPECIAL, CALL`.

    Its exit is called like anything else, so it has a NULL above it.
    """
    if at.argument == _EXIT:
        return (("BEFORE_WITH", None), ("PUSH_NULL", None), ("SWAP", 2))
    return () if at.argument == _ENTER else (("ASYNC", at.unit.name),)


def _swap(at: At) -> Pieces:
    of_with = at.before_is == "LOAD_SPECIAL" or (
        at.here > 1 and at.before_is == "SWAP" and at.all[at.here - 2].name == "LOAD_SPECIAL"
    )
    return () if of_with else (("SWAP", at.argument),)


def _call(at: At) -> Pieces:
    return () if at.before_is == "LOAD_SPECIAL" else (("CALL", (at.argument, ())),)


def _call_function_ex(at: At) -> Pieces:
    before = at.all[at.here - 1]
    is_empty = before.name == "PUSH_NULL" or (before.name == "LOAD_GLOBAL" and before.argument & 1)
    return (("CALL_FUNCTION_EX", not is_empty),)


def _load_global(at: At) -> Pieces:
    """Read what is handed over as `f(*NAME)` alone, of which the NULL is the place for keywords."""
    loaded = TABLE["LOAD_GLOBAL"](at)
    return tuple(loaded)[-1:] if at.next_is == "CALL_FUNCTION_EX" else loaded


def _push_null(at: At) -> Pieces:
    return () if at.next_is == "CALL_FUNCTION_EX" else TABLE["PUSH_NULL"](at)


def _binary(at: At) -> Pieces:
    if at.argument == _SUBSCRIPT:
        return (("BINARY_SUBSCR", None),)
    return (("BINARY_OP", BINARY_SYMBOLS[at.argument]),)


def _small_int(at: At) -> Pieces:
    return (("LOAD_CONST", at.argument),)


def _pop_iter(at: At) -> Pieces:
    """A finished iterator is gone already; one of a loop that is left is popped."""
    return () if at.before_is == "END_FOR" else (("POP_TOP", None),)


def _interpolation(at: At) -> Pieces:
    return (("BUILD_INTERPOLATION", (CONVERSIONS[at.argument >> 2], bool(at.argument & 1))),)


_TABLE: dict[str, Reading] = {
    **TABLE,
    "BINARY_OP": _binary,
    "BUILD_INTERPOLATION": _interpolation,
    "BUILD_TEMPLATE": plain,
    "CALL": _call,
    "CALL_FUNCTION_EX": _call_function_ex,
    "COPY": _copy,
    "IS_OP": _is_op,
    "LOAD_COMMON_CONSTANT": _common_constant,
    "LOAD_GLOBAL": _load_global,
    "LOAD_FAST_BORROW": TABLE["LOAD_FAST"],
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": TABLE["LOAD_FAST_LOAD_FAST"],
    "LOAD_SMALL_INT": _small_int,
    "LOAD_SPECIAL": _special,
    "NOT_TAKEN": dropped,
    "POP_ITER": _pop_iter,
    "POP_JUMP_IF_FALSE": _jump_if_false,
    "PUSH_NULL": _push_null,
    "SWAP": _swap,
    # Below it stand an offset, the exception handled before, and two values of the exit.
    "WITH_EXCEPT_START": fixed(("WITH_EXCEPT_START", 5)),
}


@decoder(3, 14)
def decode(code: CodeType) -> Instructions:
    """Decode a code object of CPython 3.14."""
    return translate(code, _TABLE)
