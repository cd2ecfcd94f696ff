"""The canonical instructions: what every decoder writes, and what the handlers run.

A decoder reads the bytecode of one version of CPython; nothing after it knows versions. It folds
prefixes into the argument, drops what only serves CPython's own speed (`CACHE`, `NOP`, `RESUME`,
`PRECALL`, counters), splits what was fused, and resolves the argument: a constant is the constant,
a name the string, a variable its slot, a jump the index of the instruction it goes to.

Slots: one list of variables per frame, laid out as `slot_names` says: parameters and locals, then
cells that are no locals, then free variables. A slot holds a value, a real cell, or MISSING.

Laws a decoder keeps:
- the first instruction of any code, generators included, finds an empty stack;
- a call stands on the stack as `NULL, callee, args` (or `callee, NULL, args`), or as
  `function, self, args`;
- `FOR_ITER` and `SEND` remove the iterator themselves when it is exhausted, then jump;
- an exception finds its handler through `Handler` entries alone: there is no block stack;
- offsets are those of the real instruction in `co_code`, so that `co_positions` finds its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import CodeType

__all__ = ["CANONICAL", "JUMPS", "Handler", "Instruction", "Instructions", "slot_names"]


class Instruction(NamedTuple):
    """One canonical instruction: its name, its resolved argument, its byte offset in `co_code`."""

    name: str
    argument: Any
    offset: int


class Handler(NamedTuple):
    """Where an exception goes: cut the stack to `depth`, push the offset if asked, push it, jump.

    The offset is what `RERAISE` with an argument finds below its operands.
    """

    target: int
    depth: int
    keeps_offset: bool


@dataclass(frozen=True, slots=True)
class Instructions:
    """The decoded body of one code object; `handlers[i]` is that of instruction i, or None."""

    code: CodeType
    body: tuple[Instruction, ...]
    handlers: tuple[Handler | None, ...]
    slots: tuple[str, ...]


def slot_names(code: CodeType) -> tuple[str, ...]:
    """Return what each slot of a frame of this code is called."""
    local = code.co_varnames
    cells = tuple(name for name in code.co_cellvars if name not in local)
    return (*local, *cells, *code.co_freevars)


JUMPS = frozenset(
    {
        "FOR_ITER",
        "JUMP",
        "JUMP_IF_FALSE_OR_POP",
        "JUMP_IF_TRUE_OR_POP",
        "POP_JUMP_IF_FALSE",
        "POP_JUMP_IF_NONE",
        "POP_JUMP_IF_NOT_NONE",
        "POP_JUMP_IF_TRUE",
        "SEND",
    }
)
"""The instructions whose argument is the index of another one."""


# Name to "argument: stack before -> after (top to the right): what it does".
CANONICAL: Mapping[str, str] = {
    # the stack
    "POP_TOP": "-: a -> : forget the top",
    "PUSH_NULL": "-: -> NULL: mark a call without self",
    "COPY": "n: -> a: push the n-th value from the top, 1 is the top",
    "SWAP": "n: exchange the top with the n-th value from the top",
    "ROTATE": "n: lift the top to be the n-th value from the top (3.10: ROT_TWO is 2)",
    # constants and variables
    "LOAD_CONST": "value: -> value",
    "LOAD_FAST": "slot: -> value: UnboundLocalError if MISSING",
    "LOAD_FAST_AND_CLEAR": "slot: -> value or MISSING: and empty the slot (inlined comprehensions)",
    "STORE_FAST": "slot: value -> : MISSING empties the slot",
    "DELETE_FAST": "slot: empty the slot; UnboundLocalError if it is empty",
    "LOAD_GLOBAL": "name: -> value: the module's, else the builtin",
    "STORE_GLOBAL": "name: value ->",
    "DELETE_GLOBAL": "name:",
    "LOAD_NAME": "name: -> value: of a class body or module: its locals, globals, builtins",
    "STORE_NAME": "name: value ->",
    "DELETE_NAME": "name:",
    "LOAD_LOCALS": "-: -> mapping: the locals of a class body or module",
    "LOAD_FROM_DICT_OR_GLOBALS": "name: mapping -> value: the mapping's, else as LOAD_GLOBAL",
    "MAKE_CELL": "slot: put a new cell around what the slot holds",
    "COPY_FREE_VARS": "n: put the function's closure into the last n slots",
    "LOAD_CLOSURE": "slot: -> cell",
    "LOAD_DEREF": "slot: -> value: what the slot's cell holds",
    "STORE_DEREF": "slot: value ->",
    "DELETE_DEREF": "slot:",
    "LOAD_CLASSDEREF": "slot: -> value: the class body's local of that name, else as LOAD_DEREF",
    "LOAD_FROM_DICT_OR_DEREF": "slot: mapping -> value: the mapping's, else as LOAD_DEREF",
    # attributes and items
    "LOAD_ATTR": "name: owner -> value",
    "LOAD_METHOD": "name: owner -> function, owner; or NULL, value",
    "LOAD_SUPER_ATTR": "(name, is_method, gives): super, class, self -> value; or as LOAD_METHOD",
    "STORE_ATTR": "name: value, owner ->",
    "DELETE_ATTR": "name: owner ->",
    "BINARY_SUBSCR": "-: owner, key -> value",
    "STORE_SUBSCR": "-: value, owner, key ->",
    "DELETE_SUBSCR": "-: owner, key ->",
    # operators
    "UNARY_POSITIVE": "-: a -> +a",
    "UNARY_NEGATIVE": "-: a -> -a",
    "UNARY_INVERT": "-: a -> ~a",
    "UNARY_NOT": "-: a -> not a",
    "TO_BOOL": "-: a -> bool(a): dropped by the decoder where a conditional jump follows",
    "BINARY_OP": "symbol: a, b -> a symbol b: '+', '//', ..., and '+=' in place",
    "COMPARE_OP": "symbol: a, b -> a symbol b: '<', '<=', '==', '!=', '>', '>='",
    "IS_OP": "negated: a, b -> bool: `is`, or `is not`",
    "CONTAINS_OP": "negated: a, b -> bool: `in`, or `not in`",
    # building and taking apart
    "BUILD_TUPLE": "n: n values -> tuple",
    "BUILD_LIST": "n: n values -> list",
    "BUILD_SET": "n: n values -> set",
    "BUILD_MAP": "n: n pairs key, value -> dict",
    "BUILD_CONST_KEY_MAP": "n: n values, tuple of keys -> dict",
    "BUILD_STRING": "n: n strings -> str",
    "BUILD_SLICE": "n: start, stop[, step] -> slice: n is 2 or 3",
    "LIST_APPEND": "n: value -> : to the list at depth n after the pop, 1 is the top",
    "SET_ADD": "n: value -> : as LIST_APPEND",
    "MAP_ADD": "n: key, value -> : as LIST_APPEND",
    "LIST_EXTEND": "n: iterable -> : as LIST_APPEND",
    "SET_UPDATE": "n: iterable -> : as LIST_APPEND",
    "DICT_UPDATE": "n: mapping -> : as LIST_APPEND",
    "DICT_MERGE": "n: mapping -> : of a call's keywords; the callee stands two below the dict",
    "LIST_TO_TUPLE": "-: list -> tuple",
    "UNPACK_SEQUENCE": "n: iterable -> n values, the first on top",
    "UNPACK_EX": "(before, after): iterable -> values, the first on top, with a list between",
    # text
    "FORMAT_VALUE": "(conversion, has_spec): value[, spec] -> str: '', 's', 'r' or 'a'",
    "CONVERT_VALUE": "conversion: value -> str: 's', 'r' or 'a'",
    "FORMAT_SIMPLE": "-: value -> str",
    "FORMAT_WITH_SPEC": "-: value, spec -> str",
    "BUILD_INTERPOLATION": "(conversion, has_spec): value, source[, spec] -> of a template string",
    "BUILD_TEMPLATE": "-: tuple of strings, tuple of interpolations -> template string",
    # jumps
    "JUMP": "target:",
    "POP_JUMP_IF_FALSE": "target: a ->",
    "POP_JUMP_IF_TRUE": "target: a ->",
    "POP_JUMP_IF_NONE": "target: a ->",
    "POP_JUMP_IF_NOT_NONE": "target: a ->",
    "JUMP_IF_FALSE_OR_POP": "target: a -> a if it jumps, else nothing",
    "JUMP_IF_TRUE_OR_POP": "target: a -> a if it jumps, else nothing",
    # iteration and generators
    "GET_ITER": "-: iterable -> iterator",
    "FOR_ITER": "target: iterator -> iterator, value; exhausted: iterator -> , and jump",
    "GET_YIELD_FROM_ITER": "-: iterable -> iterator, or the generator itself",
    "SEND": "target: iterator, sent -> iterator, value; exhausted: -> result, and jump",
    "END_SEND": "-: iterator, result -> result (the way of CLEANUP_THROW to the same place)",
    "CLEANUP_THROW": "-: iterator, sent, error -> None, value: a StopIteration's, or raise it",
    "YIELD_VALUE": "target or None: value -> what is sent: of `yield from`, where its SEND goes",
    "RETURN_VALUE": "-: value ->",
    # exceptions and with
    "PUSH_EXC_INFO": "-: error -> the one handled before, error: which is handled from here on",
    "POP_EXCEPT": "-: the one handled before -> : which is handled from here on",
    "CHECK_EXC_MATCH": "-: error, classes -> error, bool",
    "CHECK_EG_MATCH": "-: error, classes -> rest, match or None: `except*`",
    "PREP_RERAISE_STAR": "-: original, list of errors -> error or None",
    "RERAISE": "n: [offset, n-1 values,] error -> : go on with the error as it is",
    "RAISE_VARARGS": "n: [error[, cause]] -> : n is 0, 1 or 2",
    "STOPITERATION_ERROR": "-: error -> error: a StopIteration becomes the RuntimeError it causes",
    "LOAD_ASSERTION_ERROR": "-: -> AssertionError",
    "BEFORE_WITH": "-: manager -> its bound __exit__, the result of __enter__",
    "WITH_EXCEPT_START": "n: exit, [NULL,] offset, handled before, error -> same, result of exit",
    # functions and classes
    "CALL": "(n, names): two values, n args -> result: the last args have these names",
    "CALL_KW": "n: two values, n args, names -> result",
    "CALL_FUNCTION_EX": "has_kwargs: NULL, callee (either order), args[, kwargs] -> result",
    "MAKE_FUNCTION": "flags: [defaults, kwdefaults, annotations, closure,] code -> function",
    "LOAD_BUILD_CLASS": "-: -> __build_class__",
    "SETUP_ANNOTATIONS": "-: give the class body or module its __annotations__",
    # match
    "GET_LEN": "-: a -> a, len(a)",
    "MATCH_MAPPING": "-: a -> a, bool",
    "MATCH_SEQUENCE": "-: a -> a, bool",
    "MATCH_KEYS": "-: a, keys -> a, keys, tuple of values or None",
    "MATCH_CLASS": "n: a, class, names -> tuple of attributes or None: n of them positional",
    # modules and the rest
    "IMPORT_NAME": "name: level, names -> module",
    "IMPORT_FROM": "name: module -> module, value",
    "IMPORT_STAR": "-: module ->",
    "PRINT_EXPR": "-: a -> : the interactive interpreter's sys.displayhook",
    "ASYNC": "name: refused; what only coroutines and asynchronous generators do",
    "TYPE_INTRINSIC": "(n, number): n values -> value: CPython's own, for type parameters of 3.12",
}
"""Every canonical instruction, with its argument, its effect on the stack and its meaning."""
