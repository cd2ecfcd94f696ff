"""Evaluation without side effects: what a short stretch of code comes to, without running it.

Only what can have no effect is followed: variables and constants, attributes of modules, branches,
and calls of functions that do no more than that. What values mean is for a `Meaning` to say, which
gives up (`Unsure`) where it would have to do something. So a stretch may be looked at that will not
be run, or before it is.

Law: where `walk` comes by, the code would come by, with these variables and this stack, and with
nothing else changed.
"""

from __future__ import annotations

import os
import sys
from bisect import bisect_left
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import CodeType, FrameType, FunctionType, MappingProxyType, ModuleType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from monograph.bytecode.evaluation.frame import MISSING, NULL, InterpreterFrame
from monograph.bytecode.evaluation.loop import run
from monograph.bytecode.linking import link

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = [
    "Meaning",
    "Method",
    "Standpoint",
    "Unsure",
    "asker",
    "result_of",
    "sides",
    "standpoint",
    "walk",
]

_OURS: Final = f"{Path(__file__).parents[1]}{os.sep}"
_MOST_STEPS = 200
_MOST_CALLS = 4
_NOT_PLAIN: Final = 0x04 | 0x08 | 0x20 | 0x80 | 0x200
"""The flags of `*args`, `**kwargs`, generators and coroutines."""


class Unsure(Exception):  # noqa: N818 - it is an answer
    """The code does something that nothing but running it can tell."""


class Method(NamedTuple):
    """A method that code is about to call."""

    owner: Any
    name: str


class Meaning(Protocol):
    """What values mean. Every method may raise Unsure, and has no effect."""

    def truth(self, value: Any) -> bool:
        """Which side a branch on this value takes."""
        ...

    def operate(self, symbol: str, left: Any, right: Any) -> Any:
        """The result of a comparison or of arithmetic."""
        ...

    def attribute(self, owner: Any, name: str) -> Any:
        """The attribute of anything but a Python module."""
        ...

    def item(self, owner: Any, key: Any) -> Any:
        """What stands under this key or index."""
        ...

    def call(self, callee: Any, args: list[Any]) -> Any:
        """The result of calling a method, or anything but a Python function."""
        ...

    def formatted(self, value: Any, conversion: str, spec: str) -> str:
        """One field of an f-string; the conversion is "", "s", "r" or "a"."""
        ...


@dataclass(slots=True)
class Standpoint:
    """Where code stands: the next instruction, its variables, and the stack as far as it is known.

    `stack` begins where the stretch began: what lies below is not looked at.
    """

    code: CodeType
    ip: int
    variables: dict[str, Any]
    globals: Mapping[str, Any]
    builtins: Mapping[str, Any]
    stack: list[Any] = field(default_factory=list[Any])


def asker(frame: FrameType | None) -> InterpreterFrame | FrameType | None:
    """Who called from here, native or interpreted, past what the interpreter is made of."""
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        if frame.f_code is run.__code__:
            return frame.f_locals["frame"]
        frame = frame.f_back
    return frame


def standpoint(frame: InterpreterFrame | FrameType) -> Standpoint:
    """Where a call in progress stands, its stack left out."""
    return Standpoint(frame.f_code, 0, dict(frame.f_locals), frame.f_globals, frame.f_builtins)


def sides(at: Standpoint, offset: int, condition: Any) -> dict[bool, Standpoint] | None:
    """Where the branch that asks at this offset leads if its condition is true, and if it is false.

    From Python 3.13 on what stands before a jump asks: `TO_BOOL`, which is not decoded, or a
    comparison. None where no branch stands there. `at.ip` and `at.stack` are not looked at.
    """
    body = link(at.code)
    index = bisect_left(body.offsets, offset)
    within_comparison = body.names[index] == "COMPARE_OP"
    jumps_if, keeps = _BRANCHES.get(body.names[index + within_comparison], (None, False))
    if jumps_if is None or (within_comparison and keeps):
        return None
    index += within_comparison
    jumped = replace(at, ip=body.steps[index][1], stack=[condition] if keeps else [])
    return {jumps_if: jumped, not jumps_if: replace(at, ip=index + 1, stack=[])}


_BRANCHES: Final[Mapping[str, tuple[bool, bool]]] = MappingProxyType(
    {
        "POP_JUMP_IF_TRUE": (True, False),
        "POP_JUMP_IF_FALSE": (False, False),
        "JUMP_IF_TRUE_OR_POP": (True, True),
        "JUMP_IF_FALSE_OR_POP": (False, True),
    }
)
"""When it jumps, and whether it leaves the condition on the stack where it does."""


def walk(start: Standpoint, meaning: Meaning) -> Iterator[Standpoint]:
    """Where the code stands before each instruction, until it returns or nobody can tell."""
    walker = _Walker(start, meaning, calls=0)
    while not walker.has_returned:
        yield replace(start, ip=walker.ip, variables=walker.variables, stack=walker.stack)
        try:
            walker.step()
        except Unsure:
            return


def result_of(function: FunctionType, meaning: Meaning) -> Any:
    """What a function without parameters returns. Raises: Unsure."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    try:
        variables = {name: cell.cell_contents for name, cell in cells}
    except ValueError as error:
        raise Unsure from error
    return _Walker(_start(function, variables), meaning, calls=0).returned()


def _start(function: FunctionType, variables: dict[str, Any]) -> Standpoint:
    builtins: Any = function.__builtins__
    return Standpoint(function.__code__, 0, variables, function.__globals__, builtins)


class _Walker:
    """One walk through the code of one call."""

    def __init__(self, start: Standpoint, meaning: Meaning, calls: int) -> None:
        self.ip = start.ip
        self.variables = start.variables
        self.stack = start.stack
        self.has_returned = False
        self._start = start
        self._meaning = meaning
        self._calls = calls
        self._body = link(start.code)
        self._steps = 0

    def step(self) -> None:
        """Follow one instruction. Raises: Unsure."""
        self._steps += 1
        self.variables, self.stack = dict(self.variables), list(self.stack)
        name, argument = self._body.names[self.ip], self._body.steps[self.ip][1]
        self.ip += 1
        follow = _FOLLOWED.get(name)
        if follow is None or self._steps > _MOST_STEPS:
            raise Unsure
        try:
            follow(self, argument)
        except Unsure:
            raise
        except Exception as error:
            raise Unsure from error

    def returned(self) -> Any:
        """What the call returns. Raises: Unsure."""
        while not self.has_returned:
            self.step()
        return self.stack[-1]

    # --- one method for each kind of instruction ---------------------------------------------

    def load_constant(self, value: Any) -> None:
        """A constant."""
        self.stack.append(value)

    def load_variable(self, slot: int) -> None:
        """A variable, of an enclosing function too."""
        self.stack.append(self.variables[self._body.slots[slot]])

    def store_variable(self, slot: int) -> None:
        """A variable of this call alone."""
        value = self.stack.pop()
        if value is MISSING:
            raise Unsure
        self.variables[self._body.slots[slot]] = value

    def load_global(self, name: str) -> None:
        """A variable of the module, or a builtin."""
        start = self._start
        found = start.globals.get(name, MISSING)
        self.stack.append(start.builtins[name] if found is MISSING else found)

    def import_name(self, name: str) -> None:
        """A module that was imported before."""
        level, names = self.stack[-2], self.stack[-1]
        if level or names:
            raise Unsure
        self.stack[-2:] = [sys.modules[name.partition(".")[0]]]

    def load_attribute(self, name: str) -> None:
        """An attribute."""
        self.stack[-1] = self._attribute(self.stack[-1], name)

    def load_method(self, name: str) -> None:
        """What is about to be called."""
        owner = self.stack.pop()
        is_module = isinstance(owner, ModuleType)
        found = self._attribute(owner, name) if is_module else Method(owner, name)
        self.stack += [NULL, found]

    def _attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, ModuleType):
            return vars(owner)[name]
        return self._meaning.attribute(owner, name)

    def nothing(self, _: Any) -> None:
        """What makes closures ready, which they are."""

    def pop(self, _: Any) -> None:
        """Forget the top."""
        self.stack.pop()

    def push_null(self, _: Any) -> None:
        """A call begins."""
        self.stack.append(NULL)

    def copy(self, n: int) -> None:
        """Once more the n-th from the top."""
        self.stack.append(self.stack[-n])

    def swap(self, n: int) -> None:
        """The top, and the n-th from it."""
        self.stack[-1], self.stack[-n] = self.stack[-n], self.stack[-1]

    def operate(self, symbol: str) -> None:
        """Arithmetic and comparisons."""
        right, left = self.stack.pop(), self.stack.pop()
        self.stack.append(self._meaning.operate(symbol, left, right))

    def item(self, _: Any) -> None:
        """What stands in a container."""
        key, owner = self.stack.pop(), self.stack.pop()
        self.stack.append(self._meaning.item(owner, key))

    def same(self, negated: Any) -> None:
        """Whether two values are one object."""
        right, left = self.stack.pop(), self.stack.pop()
        self.stack.append((left is right) is not bool(negated))

    def negate(self, _: Any) -> None:
        """The other truth."""
        self.stack[-1] = not self._meaning.truth(self.stack[-1])

    def jump(self, target: int) -> None:
        """Go on there."""
        self.ip = target

    def jump_if_none(self, target: int) -> None:
        """Go on there, where the top is None."""
        if self.stack.pop() is None:
            self.ip = target

    def jump_if_not_none(self, target: int) -> None:
        """Go on there, where the top is not None."""
        if self.stack.pop() is not None:
            self.ip = target

    def branch(self, target: int) -> None:
        """Go on there, or not."""
        jumps_if, keeps = _BRANCHES[self._body.names[self.ip - 1]]
        value = self.stack.pop()
        if self._meaning.truth(value) is jumps_if:
            self.ip = target
            if keeps:
                self.stack.append(value)

    def call(self, argument: tuple[int, tuple[str, ...]]) -> None:
        """A call without names."""
        n, names = argument
        if names or len(self.stack) < n + 2:
            raise Unsure
        args = self.stack[len(self.stack) - n :]
        del self.stack[len(self.stack) - n :]
        second, first = self.stack.pop(), self.stack.pop()
        if NULL not in (first, second):
            raise Unsure
        callee = second if first is NULL else first
        if isinstance(callee, FunctionType):
            self.stack.append(self._returned_by(callee, args))
        else:
            self.stack.append(self._meaning.call(callee, args))

    def _returned_by(self, function: FunctionType, args: list[Any]) -> Any:
        code = function.__code__
        is_plain = not (code.co_flags & _NOT_PLAIN or code.co_cellvars or code.co_freevars)
        is_plain = is_plain and code.co_argcount == len(args) and not code.co_kwonlyargcount
        if not is_plain or self._calls >= _MOST_CALLS:
            raise Unsure
        variables = dict(zip(code.co_varnames, args, strict=False))
        return _Walker(_start(function, variables), self._meaning, self._calls + 1).returned()

    def format_value(self, argument: tuple[str, bool] | None) -> None:
        """One field of an f-string."""
        conversion, has_spec = argument or ("", False)
        spec = self.stack.pop() if has_spec else ""
        self.stack[-1] = self._meaning.formatted(self.stack[-1], conversion, spec)

    def format_with(self, _: Any) -> None:
        """One field of an f-string, with a format."""
        self.format_value(("", True))

    def convert(self, conversion: str) -> None:
        """`!r` and its like."""
        self.format_value((conversion, False))

    def build_string(self, n: int) -> None:
        """The parts of an f-string."""
        self.stack[len(self.stack) - n :] = ["".join(self.stack[len(self.stack) - n :])]

    def return_value(self, _: Any) -> None:
        """The call is over."""
        self.has_returned = True


_FOLLOWED: Final[Mapping[str, Callable[[_Walker, Any], None]]] = MappingProxyType(
    {
        "BINARY_OP": _Walker.operate,
        "BINARY_SUBSCR": _Walker.item,
        "BUILD_STRING": _Walker.build_string,
        "CALL": _Walker.call,
        "COMPARE_OP": _Walker.operate,
        "CONVERT_VALUE": _Walker.convert,
        "COPY": _Walker.copy,
        "COPY_FREE_VARS": _Walker.nothing,
        "FORMAT_SIMPLE": _Walker.format_value,
        "FORMAT_VALUE": _Walker.format_value,
        "FORMAT_WITH_SPEC": _Walker.format_with,
        "IMPORT_NAME": _Walker.import_name,
        "IS_OP": _Walker.same,
        "JUMP": _Walker.jump,
        "LOAD_ATTR": _Walker.load_attribute,
        "LOAD_CONST": _Walker.load_constant,
        "LOAD_DEREF": _Walker.load_variable,
        "LOAD_FAST": _Walker.load_variable,
        "LOAD_GLOBAL": _Walker.load_global,
        "LOAD_METHOD": _Walker.load_method,
        "POP_JUMP_IF_NONE": _Walker.jump_if_none,
        "POP_JUMP_IF_NOT_NONE": _Walker.jump_if_not_none,
        "POP_TOP": _Walker.pop,
        "PUSH_NULL": _Walker.push_null,
        "RETURN_VALUE": _Walker.return_value,
        "STORE_FAST": _Walker.store_variable,
        "SWAP": _Walker.swap,
        "UNARY_NOT": _Walker.negate,
        **dict.fromkeys(_BRANCHES, _Walker.branch),
    }
)
