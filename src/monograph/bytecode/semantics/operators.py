"""Operators on values whose classes define them in Python; where none does, one native call.

`binary`, `compare`, `unary`, `contains` and `truth` follow the rules of the language reference
(section 3.3): which operand is asked first, what NotImplemented means, what is compared when nobody
answers.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NamedTuple

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call_function, call_native
from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import MUTABLE, SIMPLE, find_special, lookup
from monograph.bytecode.semantics.string_conversion import text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = ["BINARY", "COMPARISONS", "Binary", "binary", "compare", "opposite", "truth", "unary"]


class Binary(NamedTuple):
    """An operator: its symbol, the native function, and the methods that define it."""

    symbol: str
    function: Callable[[Any, Any], Any]
    name: str
    reflected: str
    in_place: str | None


def _table() -> dict[str, Binary]:
    words = {
        "+": "add",
        "-": "sub",
        "*": "mul",
        "@": "matmul",
        "/": "truediv",
        "//": "floordiv",
        "%": "mod",
        "**": "pow",
        "<<": "lshift",
        ">>": "rshift",
        "&": "and",
        "|": "or",
        "^": "xor",
    }
    found: dict[str, Binary] = {}
    for symbol, word in words.items():
        name, reflected = f"__{word}__", f"__r{word}__"
        plain, in_place = getattr(operator, name), getattr(operator, f"__i{word}__")
        found[symbol] = Binary(symbol, plain, name, reflected, None)
        found[symbol + "="] = Binary(symbol + "=", in_place, name, reflected, f"__i{word}__")
    return found


BINARY = _table()
"""Every operator of `BINARY_OP`, by its symbol."""

COMPARISONS: dict[str, tuple[Callable[[Any, Any], Any], str, str]] = {
    "<": (operator.lt, "__lt__", "__gt__"),
    "<=": (operator.le, "__le__", "__ge__"),
    "==": (operator.eq, "__eq__", "__eq__"),
    "!=": (operator.ne, "__ne__", "__ne__"),
    ">": (operator.gt, "__gt__", "__lt__"),
    ">=": (operator.ge, "__ge__", "__le__"),
}
"""By symbol: the native function, the method of the left operand, that of the right one."""

UNARY: dict[str, Callable[[Any], Any]] = {
    "__pos__": operator.pos,
    "__neg__": operator.neg,
    "__invert__": operator.invert,
    "__index__": operator.index,
    "__abs__": operator.abs,
}

_SEQUENCES = (list, tuple, str, bytes, bytearray)


def binary(interpreter: ThreadState, row: Binary, left: Any, right: Any) -> Any:
    """Compute `left symbol right`."""
    kind, other = type(left), type(right)
    if not _is_python(interpreter, row, kind, other):
        if row.in_place is not None and interpreter.written is not None:
            tell_contents(interpreter, left)
        if kind is str and row.name == "__mod__":
            return text_of(interpreter, row.function, [left, right])
        return call_native(interpreter, row.function, [left, right], {})
    if row.in_place is not None:
        answer, own = NotImplemented, find_special(interpreter, kind, row.in_place)
        if own is None and _grows(kind, row) and other is not kind:
            answer = _ask(interpreter, other, row.reflected, right, left)
        if answer is NotImplemented:
            answer = _ask(interpreter, kind, row.in_place, left, right)
        if answer is not NotImplemented:
            return answer
    answer = _binary_answer(interpreter, row, left, right)
    if answer is NotImplemented:
        words = "** or pow()" if row.symbol == "**" else row.symbol
        names = f"'{kind.__name__}' and '{other.__name__}'"
        native_calls.fail(TypeError(f"unsupported operand type(s) for {words}: {names}"))
    return answer


def _is_python(interpreter: ThreadState, row: Binary, kind: type, other: type) -> bool:
    if row.in_place is not None and find_special(interpreter, kind, row.in_place) is not None:
        return True
    if find_special(interpreter, kind, row.name) is not None:
        return True
    return other is not kind and find_special(interpreter, other, row.reflected) is not None


def _binary_answer(interpreter: ThreadState, row: Binary, left: Any, right: Any) -> Any:
    kind, other = type(left), type(right)
    name, reflected = row.name, row.reflected
    asks_right = other is not kind
    is_first = is_subtype(other, kind) and lookup(other, reflected) is not lookup(kind, reflected)
    if asks_right and (is_first or _is_sequence(kind, name)):
        answer = _ask(interpreter, other, reflected, right, left)
        if answer is not NotImplemented:
            return answer
        asks_right = False
    answer = _ask(interpreter, kind, name, left, right)
    if answer is NotImplemented and asks_right:
        answer = _ask(interpreter, other, reflected, right, left)
    return answer


def _is_sequence(kind: type, name: str) -> bool:
    """Whether `+` and `*` are those of a C sequence, which CPython asks after all numbers."""
    return issubclass(kind, _SEQUENCES) and name in ("__add__", "__mul__")


def _grows(kind: type, row: Binary) -> bool:
    """Whether a C sequence has the operator in place; of others, `_binary_answer` asks all."""
    return _is_sequence(kind, row.name) and lookup(kind, row.in_place or "") is not MISSING


def is_subtype(kind: type, other: type) -> bool:
    """Whether a type is, or derives from, another; what its metaclass says does not matter here."""
    return any(base is other for base in kind.__mro__)


def _ask(interpreter: ThreadState, kind: type, name: str, *operands: Any) -> Any:
    """Call a special method of a type, in Python or C; NotImplemented where there is none."""
    special = find_special(interpreter, kind, name)
    if special is not None:
        return call_function(interpreter, special, list(operands), {})
    found = lookup(kind, name)
    if found is MISSING:
        return NotImplemented
    if name.startswith("__i"):
        tell_contents(interpreter, operands[0])
    if operands[0] is None:  # to a C descriptor, binding to None is not binding
        return call_native(interpreter, found, list(operands), {})
    bind = getattr(type(found), "__get__", None)
    if bind is None:
        return call_native(interpreter, found, list(operands[1:]), {})
    return call_native(interpreter, bind(found, operands[0], kind), list(operands[1:]), {})


def compare(interpreter: ThreadState, symbol: str, left: Any, right: Any) -> Any:
    """Compute `left symbol right` for a comparison."""
    function, name, reflected = COMPARISONS[symbol]
    kind, other = type(left), type(right)
    if not (
        _compares_in_python(interpreter, kind, name)
        or (other is not kind and _compares_in_python(interpreter, other, reflected))
    ):
        ask = interpreter.alike
        if ask is not None and kind is other and kind in (list, tuple) and symbol in ("==", "!="):
            answer = ask(left, right)
            if answer is not NotImplemented:
                return answer if symbol == "==" else opposite(interpreter, answer)
        return call_native(interpreter, function, [left, right], {})
    asks_right_first = other is not kind and is_subtype(other, kind)
    if asks_right_first:
        answer = _ask_comparison(interpreter, other, reflected, right, left)
        if answer is not NotImplemented:
            return answer
    answer = _ask_comparison(interpreter, kind, name, left, right)
    if answer is NotImplemented and not asks_right_first:
        answer = _ask_comparison(interpreter, other, reflected, right, left)
    if answer is not NotImplemented:
        return answer
    if symbol == "==":
        return left is right
    if symbol == "!=":
        return left is not right
    names = f"'{kind.__name__}' and '{other.__name__}'"
    native_calls.fail(TypeError(f"'{symbol}' not supported between instances of {names}"))
    return None


_OBJECT_NE = lookup(object, "__ne__")


def _compares_in_python(interpreter: ThreadState, kind: type, name: str) -> bool:
    if find_special(interpreter, kind, name) is not None:
        return True
    if name != "__ne__" or kind in SIMPLE or lookup(kind, "__ne__") is not _OBJECT_NE:
        return False
    return find_special(interpreter, kind, "__eq__") is not None


def _ask_comparison(interpreter: ThreadState, kind: type, name: str, one: Any, two: Any) -> Any:
    """Ask one operand; `!=` is the opposite of `==` where a class says only what is equal."""
    if name == "__ne__" and lookup(kind, "__ne__") is _OBJECT_NE:
        answer = _ask(interpreter, kind, "__eq__", one, two)
        if answer is NotImplemented:
            return answer
        return not truth(interpreter, answer)
    return _ask(interpreter, kind, name, one, two)


def unary(interpreter: ThreadState, name: str, value: Any) -> Any:
    """Compute an operator of one operand."""
    special = find_special(interpreter, type(value), name)
    if special is not None:
        return call_function(interpreter, special, [value], {})
    return call_native(interpreter, UNARY[name], [value], {})


def truth(interpreter: ThreadState, value: Any) -> bool:
    """Tell whether a condition on a value holds: the one place where code branches on a value."""
    if interpreter.strange and id(value) in interpreter.strange:
        value = interpreter.strange_truth(value)
    kind = type(value)
    if kind in SIMPLE:
        return native_calls.truth(value)
    hook = interpreter.truth
    if hook is not None:
        answer = hook(interpreter.current, value)
        if answer is not NotImplemented:
            return answer
    for name in ("__bool__", "__len__"):
        special = find_special(interpreter, kind, name)
        if special is not None:
            answer = call_function(interpreter, special, [value], {})
            if name == "__bool__" and not isinstance(answer, bool):
                words = f"__bool__ should return bool, returned {type(answer).__name__}"
                native_calls.fail(TypeError(words))
            return native_calls.truth(answer if name == "__bool__" else native_calls.length(answer))
        if lookup(kind, name) is not MISSING:
            break
    return call_native(interpreter, native_calls.truth, [value], {})


def opposite(interpreter: ThreadState, value: Any) -> Any:
    """Compute `not value`, which hooks may have as something else than True or False."""
    hook = interpreter.inverted
    if interpreter.strange and id(value) in interpreter.strange:
        value = interpreter.strange_truth(value)
    if hook is not None and type(value) not in SIMPLE:
        answer = hook(value)
        if answer is not NotImplemented:
            return answer
    return not truth(interpreter, value)


def tell_contents(interpreter: ThreadState, owner: Any) -> None:
    """Tell the hooks that a builtin container is about to change as a whole."""
    if interpreter.written is not None and issubclass(type(owner), MUTABLE):
        interpreter.written("contents", owner, None, MISSING, interpreter.current)
