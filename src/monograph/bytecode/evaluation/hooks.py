"""Hooks of the interpreter: what its user may watch and decide; each does nothing by default.

A hook that a subclass does not override costs nothing: the interpreter fetches the overridden ones
once, when it is made. Hooks run natively, between two instructions of the frame they are given;
what they raise is raised by the instruction.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import FunctionType

    from monograph.bytecode.evaluation.frame import InterpreterFrame
    from monograph.bytecode.evaluation.symbolic_iterators import SymbolicIterator

    Place = Literal["attribute", "cell", "contents", "global", "hidden", "item"]

__all__ = ["Hooks"]


class Hooks:
    """A policy. Subclass it and override what matters.

    `uncatchable` are the exceptions that user code cannot swallow: no `except` matches them, no
    `with` and no `finally` keeps them, though the code of `finally` and `__exit__` runs.
    """

    uncatchable: tuple[type[BaseException], ...] = ()

    def enters(self, function: FunctionType) -> bool:
        """Whether to interpret this function; if not, it runs natively, as an island.

        The answer goes for all functions of the same code: it is asked once for each.
        """
        del function
        return True

    def island(self, function: FunctionType, reason: str) -> None:
        """Learn of a Python function that is about to run natively."""

    def replacement(
        self, callee: Any, args: list[Any], kwargs: dict[str, Any], frame: InterpreterFrame | None
    ) -> Callable[..., Any] | None:
        """What to call in place of `callee`, natively and with the same arguments, or None.

        Asked for every call that interpreted code makes, but for methods in C of what is `ours`. A
        bound method of Python comes as its function, `self` the first of `args`; a class, a C
        function and a bound C method come as they are. `frame` makes the call; None if the call
        comes from outside.
        """
        del callee, args, kwargs, frame
        return None

    def natively(
        self, callee: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> AbstractContextManager[Any] | None:
        """What to have around a native call, or None.

        Asked for every operation that C carries out and that may call Python back: functions,
        operators, look-ups of keys that are not texts or numbers.
        """
        del callee, args, kwargs
        return None

    def aside(self) -> AbstractContextManager[Any]:
        """What to have around the code of debuggers and other trace functions."""
        return nullcontext()

    def raised(self, frame: InterpreterFrame, error: BaseException) -> None:
        """Learn of an exception that leaves an instruction, before any `except` sees it."""

    def read_global(self, frame: InterpreterFrame, name: str, value: Any) -> Any:
        """What the program sees of a global of its module; builtins are not told."""
        del frame, name
        return value

    def read_attribute(self, frame: InterpreterFrame, owner: Any, name: str, value: Any) -> Any:
        """What the program sees of an attribute that it read."""
        del frame, owner, name
        return value

    def read_cell(self, frame: InterpreterFrame, name: str, value: Any) -> Any:
        """What the program sees of a variable of an enclosing function."""
        del frame, name
        return value

    def written(
        self, kind: Place, owner: Any, key: Any, old: Any, frame: InterpreterFrame | None
    ) -> None:
        """Learn of a write before it happens; `old` is MISSING where there is no value yet.

        attribute  owner.key, in its own `__dict__` or slot
        cell       owner is the cell, key the name of the variable
        contents   any change of a list, dict, set, deque, bytearray as a whole: copy it now
        global     owner is the module's dictionary
        hidden     owner is an interpreted generator, which is about to go on or to end
        item       owner[key] of a list or a dict; `old` is MISSING where the key is new
        """

    def compared(self, frame: InterpreterFrame, left: Any, right: Any) -> Any:
        """What `left is right` is, neither of them None; NotImplemented: as Python has it."""
        del frame, left, right
        return NotImplemented

    def alike(self, left: Any, right: Any) -> Any:
        """What `left == right` of two lists or two tuples is; NotImplemented: as Python has it."""
        del left, right
        return NotImplemented

    def text(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """What a function in C that makes text returns; NotImplemented: as Python has it.

        `str`, `repr`, `ascii`, `format`, `str.format`, `str.join` and `%`, of what is not all texts
        and numbers. Whoever answers with what is `ours` answers for it wherever it goes.
        """
        del function, args, kwargs
        return NotImplemented

    def truth(self, frame: InterpreterFrame | None, value: Any) -> Any:
        """True or False: what a condition on this value means; NotImplemented: as Python has it.

        Asked where code branches on a value that is not None, a bool, number, string or container.
        """
        del frame, value
        return NotImplemented

    def fork(self, frame: InterpreterFrame, value: Any) -> Any:
        """True or False: which way a conditional jump goes; NotImplemented: as `truth` says.

        Asked before `truth`, and only where code jumps. Whoever goes both ways by itself (see
        `bytecode.branches`) answers with what `move` or `finish` returned.
        """
        del frame, value
        return NotImplemented

    def chosen_item(self, owner: Any, key: Any) -> Any:
        """`owner[key]` for a key that is `ours`; NotImplemented: as Python has it."""
        del owner, key
        return NotImplemented

    def inverted(self, value: Any) -> Any:
        """What `not value` is; NotImplemented: the opposite of what `truth` says."""
        del value
        return NotImplemented

    def iterated(self, value: Any) -> Any:
        """The iterator of a value that is `ours`; NotImplemented: what its `__iter__` returns."""
        del value
        return NotImplemented

    def repeat(self, frame: InterpreterFrame, rounds: SymbolicIterator) -> Any:
        """What a `for` over these rounds does; NotImplemented: one round after the other.

        The frame stands in the `for`, the rounds on top of its stack. Whoever runs them answers
        with what `move` returned.
        """
        del frame, rounds
        return NotImplemented

    def strange_item(self, owner: list[Any], key: Any) -> Any:
        """`owner[key]` of a list in `Interpreter.strange`; NotImplemented: as Python has it."""
        del owner, key
        return NotImplemented

    def strange_call(self, callee: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """A native call while there are lists in `Interpreter.strange`; NotImplemented: by C."""
        del callee, args, kwargs
        return NotImplemented

    def strange_use(self, owner: Any, use: str) -> None:
        """Learn that items are about to be taken out of what may be in `Interpreter.strange`."""

    def strange_truth(self, owner: Any) -> Any:
        """What is asked for whether a list or tuple has items, perhaps of `Interpreter.strange`."""
        return owner
