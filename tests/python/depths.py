"""How many values stand on the stack before each canonical instruction, found by following it.

Whoever decodes wrongly gives an instruction two depths, an underflow, a return with something left
over, or a handler that keeps more than there is. So this is the oracle of decoders, and every code
object of the standard library is a test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monograph.bytecode.instructions import Instruction, Instructions

__all__ = ["complaints"]

ENDS = {"RETURN_VALUE", "RERAISE", "RAISE_VARARGS", "ASYNC"}

# Pops and pushes on the way on; a jump's other way is in JUMPING.
FIXED: dict[str, tuple[int, int]] = {
    "BEFORE_WITH": (1, 2),
    "BUILD_TEMPLATE": (2, 1),
    "BINARY_OP": (2, 1),
    "BINARY_SUBSCR": (2, 1),
    "CHECK_EG_MATCH": (2, 2),
    "CHECK_EXC_MATCH": (2, 2),
    "CLEANUP_THROW": (3, 2),
    "COMPARE_OP": (2, 1),
    "CONTAINS_OP": (2, 1),
    "CONVERT_VALUE": (1, 1),
    "COPY_FREE_VARS": (0, 0),
    "DELETE_ATTR": (1, 0),
    "DELETE_DEREF": (0, 0),
    "DELETE_FAST": (0, 0),
    "DELETE_GLOBAL": (0, 0),
    "DELETE_NAME": (0, 0),
    "DELETE_SUBSCR": (2, 0),
    "END_SEND": (2, 1),
    "FORMAT_SIMPLE": (1, 1),
    "FORMAT_WITH_SPEC": (2, 1),
    "FOR_ITER": (1, 2),
    "GET_ITER": (1, 1),
    "GET_LEN": (1, 2),
    "GET_YIELD_FROM_ITER": (1, 1),
    "IMPORT_FROM": (1, 2),
    "IMPORT_NAME": (2, 1),
    "IMPORT_STAR": (1, 0),
    "IS_OP": (2, 1),
    "JUMP": (0, 0),
    "JUMP_IF_FALSE_OR_POP": (1, 0),
    "JUMP_IF_TRUE_OR_POP": (1, 0),
    "LIST_TO_TUPLE": (1, 1),
    "LOAD_ASSERTION_ERROR": (0, 1),
    "LOAD_ATTR": (1, 1),
    "LOAD_BUILD_CLASS": (0, 1),
    "LOAD_CLASSDEREF": (0, 1),
    "LOAD_CLOSURE": (0, 1),
    "LOAD_CONST": (0, 1),
    "LOAD_DEREF": (0, 1),
    "LOAD_FAST": (0, 1),
    "LOAD_FAST_AND_CLEAR": (0, 1),
    "LOAD_FROM_DICT_OR_DEREF": (1, 1),
    "LOAD_FROM_DICT_OR_GLOBALS": (1, 1),
    "LOAD_GLOBAL": (0, 1),
    "LOAD_LOCALS": (0, 1),
    "LOAD_METHOD": (1, 2),
    "LOAD_NAME": (0, 1),
    "MAKE_CELL": (0, 0),
    "MATCH_CLASS": (3, 1),
    "MATCH_KEYS": (2, 3),
    "MATCH_MAPPING": (1, 2),
    "MATCH_SEQUENCE": (1, 2),
    "POP_EXCEPT": (1, 0),
    "POP_JUMP_IF_FALSE": (1, 0),
    "POP_JUMP_IF_NONE": (1, 0),
    "POP_JUMP_IF_NOT_NONE": (1, 0),
    "POP_JUMP_IF_TRUE": (1, 0),
    "POP_TOP": (1, 0),
    "PREP_RERAISE_STAR": (2, 1),
    "PRINT_EXPR": (1, 0),
    "PUSH_EXC_INFO": (1, 2),
    "PUSH_NULL": (0, 1),
    "RETURN_VALUE": (1, 0),
    "SEND": (2, 2),
    "SETUP_ANNOTATIONS": (0, 0),
    "STOPITERATION_ERROR": (1, 1),
    "STORE_ATTR": (2, 0),
    "STORE_DEREF": (1, 0),
    "STORE_FAST": (1, 0),
    "STORE_GLOBAL": (1, 0),
    "STORE_NAME": (1, 0),
    "STORE_SUBSCR": (3, 0),
    "TO_BOOL": (1, 1),
    "UNARY_INVERT": (1, 1),
    "UNARY_NEGATIVE": (1, 1),
    "UNARY_NOT": (1, 1),
    "UNARY_POSITIVE": (1, 1),
    "YIELD_VALUE": (1, 1),
}

COUNTED: dict[str, Callable[[Any], tuple[int, int]]] = {
    "ASYNC": lambda _: (0, 0),
    "BUILD_INTERPOLATION": lambda a: (2 + a[1], 1),
    "BUILD_CONST_KEY_MAP": lambda n: (n + 1, 1),
    "BUILD_LIST": lambda n: (n, 1),
    "BUILD_MAP": lambda n: (2 * n, 1),
    "BUILD_SET": lambda n: (n, 1),
    "BUILD_SLICE": lambda n: (n, 1),
    "BUILD_STRING": lambda n: (n, 1),
    "BUILD_TUPLE": lambda n: (n, 1),
    "CALL": lambda a: (a[0] + 2, 1),
    "CALL_FUNCTION_EX": lambda kwargs: (3 + kwargs, 1),
    "CALL_KW": lambda n: (n + 3, 1),
    "COPY": lambda n: (n, n + 1),
    "DICT_MERGE": lambda n: (n + 1, n),
    "DICT_UPDATE": lambda n: (n + 1, n),
    "FORMAT_VALUE": lambda a: (1 + a[1], 1),
    "LIST_APPEND": lambda n: (n + 1, n),
    "LIST_EXTEND": lambda n: (n + 1, n),
    "LOAD_SUPER_ATTR": lambda a: (3, 1 + a[1]),
    "MAKE_FUNCTION": lambda flags: (1 + int(flags or 0).bit_count(), 1),
    "MAP_ADD": lambda n: (n + 2, n),
    "RAISE_VARARGS": lambda n: (n, 0),
    "RERAISE": lambda n: (n + 1, 0),
    "ROTATE": lambda n: (n, n),
    "SET_ADD": lambda n: (n + 1, n),
    "SET_UPDATE": lambda n: (n + 1, n),
    "SWAP": lambda n: (n, n),
    "TYPE_INTRINSIC": lambda a: (a[0], 1),
    "UNPACK_EX": lambda a: (1, a[0] + 1 + a[1]),
    "UNPACK_SEQUENCE": lambda n: (1, n),
    "WITH_EXCEPT_START": lambda n: (n, n + 1),
}

# What a jump pops and pushes where it differs from going on.
JUMPING: dict[str, tuple[int, int]] = {
    "FOR_ITER": (1, 0),
    "JUMP_IF_FALSE_OR_POP": (1, 1),
    "JUMP_IF_TRUE_OR_POP": (1, 1),
    "SEND": (2, 1),
}


def complaints(decoded: Instructions, jumps: frozenset[str]) -> list[str]:
    """Follow the instructions and give everything that cannot be."""
    found: list[str] = []
    depths: dict[int, int] = {}
    waiting = [(0, 0)]
    while waiting:
        index, depth = waiting.pop()
        if index >= len(decoded.body):
            found.append("runs off the end")
        elif index not in depths:
            depths[index] = depth
            waiting.extend(successors(decoded, index, depth, jumps, found))
        elif depths[index] != depth:
            found.append(f"{index} {decoded.body[index]}: depth {depths[index]} and {depth}")
    return found


def successors(
    decoded: Instructions, index: int, depth: int, jumps: frozenset[str], found: list[str]
) -> Iterator[tuple[int, int]]:
    """Give where execution may go from an instruction, with the depth there."""
    instruction = decoded.body[index]
    popped, pushed = effect(instruction)
    if depth < popped:
        found.append(f"{index} {instruction}: only {depth} on the stack")
        return
    handler = decoded.handlers[index]
    if handler is not None:
        if handler.depth > depth:
            found.append(f"{index} {instruction}: its handler keeps {handler.depth} of {depth}")
        yield handler.target, handler.depth + 1 + handler.keeps_offset
    if instruction.name == "RETURN_VALUE" and depth != 1:
        found.append(f"{index}: returns over {depth - 1} values")
    if instruction.name not in ENDS and instruction.name != "JUMP":
        yield index + 1, depth - popped + pushed
    if instruction.name in jumps:
        popped, pushed = JUMPING.get(instruction.name, (popped, pushed))
        yield instruction.argument, depth - popped + pushed


def effect(instruction: Instruction) -> tuple[int, int]:
    """Give how many values an instruction takes and leaves."""
    if instruction.name in FIXED:
        return FIXED[instruction.name]
    return COUNTED[instruction.name](instruction.argument)
