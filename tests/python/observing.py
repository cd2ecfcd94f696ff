"""What one call did, as text that two ways of executing it can be compared by.

Values are described by type and content, never by address, with a number for everything mutable,
so that `[a, a]` and `[a, b]` differ. An exception is its type, arguments, cause, context, notes
and the lines of its traceback that lie in the programs. What was printed comes in its order.
"""

from __future__ import annotations

import contextlib
import copy
import io
import types
import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["observe"]

ATOMS = (int, float, complex, str, bytes, bool, type(None), type(...), type(NotImplemented), range)
DEEPEST = 12


@dataclass
class Memo:
    """The mutable objects met so far, in order, and how deep the description stands."""

    seen: dict[int, int] = field(default_factory=dict)
    alive: list[object] = field(default_factory=list)
    depth: int = 0

    def number(self, value: object) -> tuple[int, bool]:
        """Number an object, and say whether it was met before."""
        if id(value) in self.seen:
            return self.seen[id(value)], True
        self.alive.append(value)
        self.seen[id(value)] = len(self.seen)
        return self.seen[id(value)], False


def observe(call: Callable, function: Callable, arguments: tuple) -> dict[str, Any]:
    """Run `call(function, *arguments)` on copies of the arguments and describe what it did."""
    arguments = copy.deepcopy(arguments)
    printed = io.StringIO()
    seen: dict[str, Any] = {}
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            seen["value"] = describe(call(function, *arguments), Memo())
        except BaseException as error:  # noqa: BLE001  (programs raise whatever they like)
            seen["raised"] = describe_raised(error, Memo())
    seen["arguments"] = describe(arguments, Memo())
    seen["printed"] = printed.getvalue()
    seen["warned"] = [str(one.message) for one in warned]
    return seen


def describe(value: object, memo: Memo) -> str:
    """Describe a value by type and content."""
    if type(value) in ATOMS:
        return repr(value)
    if memo.depth > DEEPEST:
        return "..."
    memo.depth += 1
    try:
        return describe_object(value, memo)
    finally:
        memo.depth -= 1


def describe_object(value: object, memo: Memo) -> str:
    """Describe what is not an atom: containers, exceptions, classes, functions, plain objects."""
    number, again = memo.number(value)
    name = type(value).__name__
    if again:
        return f"{name}#{number}"
    if isinstance(value, BaseException):
        return f"{name}#{number}{describe(value.args, memo)}"
    if isinstance(value, dict):
        items = [f"{describe(k, memo)}: {describe(v, memo)}" for k, v in dict.items(value)]
        return f"{name}#{number}{{{', '.join(items)}}}"
    if isinstance(value, (set, frozenset)):
        items = sorted(describe(one, memo) for one in value)
        return f"{name}{{{', '.join(items)}}}"
    if isinstance(value, (list, tuple)):
        items = [describe(one, memo) for one in type(value).__iter__(value)]
        return f"{name}#{number}[{', '.join(items)}]"
    return f"{name}#{number}<{describe_inside(value, memo)}>"


def describe_inside(value: Any, memo: Memo) -> str:
    """Describe an object by its names and attributes."""
    match value:
        case type():
            mro = [one.__qualname__ for one in value.__mro__]
            return f"{mro} {sorted(set(vars(value)) - IMPLIED)}"
        case types.FunctionType():
            facts = (value.__name__, value.__qualname__, value.__doc__, value.__module__)
            made = (value.__defaults__, value.__kwdefaults__, value.__dict__)
            return f"{facts} {describe(made, memo)}"
        case types.MethodType():
            return f"{value.__func__.__qualname__} of {describe(value.__self__, memo)}"
        case types.ModuleType():
            return value.__name__
    return describe(getattr(value, "__dict__", None), memo)


# What the class statement adds by itself, differently from version to version.
IMPLIED = {"__dict__", "__weakref__", "__firstlineno__", "__static_attributes__"}


def describe_raised(error: BaseException | None, memo: Memo) -> Any:
    """Describe an exception with all that hangs on it."""
    if error is None:
        return None
    number, again = memo.number(error)
    if again:
        return f"#{number}"
    return {
        "is": describe_arguments(error, memo),
        "lines": list(lines(error.__traceback__)),
        "notes": list(getattr(error, "__notes__", ())),
        "suppressed": error.__suppress_context__,
        "cause": describe_raised(error.__cause__, memo),
        "context": describe_raised(error.__context__, memo),
    }


def describe_arguments(error: BaseException, memo: Memo) -> str:
    """Describe the type and the arguments of an exception."""
    return f"{type(error).__name__}{describe(error.args, memo)}"


def lines(trace: types.TracebackType | None) -> Iterator[str]:
    """Give the lines of a traceback that lie in the programs."""
    while trace is not None:
        code = trace.tb_frame.f_code
        if "programs" in code.co_filename.replace("\\", "/").split("/"):
            yield f"{code.co_name}:{trace.tb_lineno}"
        trace = trace.tb_next
