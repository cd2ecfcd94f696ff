"""Iterating over what is written in Python, and lending Python to C.

C functions that call back (`map`, `sorted`, `list`) are handed an adapter, so that what they call
is interpreted.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation import native_calls
from monograph.bytecode.evaluation.calling import call, call_function, call_native
from monograph.bytecode.evaluation.frame import MISSING, Mark
from monograph.bytecode.evaluation.special_methods import OURS, SIMPLE, find_special, lookup, ours
from monograph.bytecode.semantics.operators import truth

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode.evaluation.frame import ThreadState

__all__ = [
    "END",
    "Callback",
    "IteratorAdapter",
    "Predicate",
    "advance",
    "ask_length",
    "get_iterator",
    "lend_callable",
    "lend_iterable",
]

END: Final = Mark("end")
"""What `advance` returns when an iterator is exhausted."""


@ours
class SequenceIterator:
    """Iterates over an object that has only a `__getitem__`, in Python."""

    __slots__ = ("index", "interpreter", "sequence")

    def __init__(self, interpreter: ThreadState, sequence: Any) -> None:
        self.interpreter = interpreter
        self.sequence = sequence
        self.index = 0

    def __iter__(self) -> SequenceIterator:
        return self

    def __next__(self) -> Any:
        sequence = self.sequence
        if sequence is None:
            raise StopIteration
        special = lookup(type(sequence), "__getitem__")
        try:
            value = call(self.interpreter, special, [sequence, self.index], {})
        except (IndexError, StopIteration):
            self.sequence = None
        else:
            self.index += 1
            return value
        raise StopIteration


@ours
class IteratorAdapter:
    """An iterator for C, which advances one that is written in Python."""

    __slots__ = ("interpreter", "iterator")

    def __init__(self, interpreter: ThreadState, iterator: Any) -> None:
        self.interpreter = interpreter
        self.iterator = iterator

    def __iter__(self) -> IteratorAdapter:
        return self

    def __next__(self) -> Any:
        iterator = self.iterator
        special = lookup(type(iterator), "__next__")
        return call(self.interpreter, special, [iterator], {})


@ours
class Callback:
    """A callable for C, which interprets the function it stands for."""

    __slots__ = ("function", "interpreter")

    def __init__(self, interpreter: ThreadState, function: Callable[..., Any]) -> None:
        self.interpreter = interpreter
        self.function = function

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function."""
        return call(self.interpreter, self.function, list(args), kwargs)


@ours
class Predicate:
    """A callable for C, which tells whether a condition holds on its argument; None: itself."""

    __slots__ = ("function", "interpreter")

    def __init__(self, interpreter: ThreadState, function: Callable[..., Any] | None) -> None:
        self.interpreter = interpreter
        self.function = function

    def __call__(self, value: Any) -> bool:
        """Tell whether the condition holds."""
        interpreter = self.interpreter
        if self.function is not None:
            value = call(interpreter, self.function, [value], {})
        return truth(interpreter, value)


def get_iterator(interpreter: ThreadState, value: Any) -> Any:
    """Return `iter(value)`."""
    kind = type(value)
    if kind in SIMPLE and not (interpreter.strange and id(value) in interpreter.strange):
        return native_calls.iterate(value)
    if kind in OURS or kind in SIMPLE:
        iterator = NotImplemented if interpreter.iterated is None else interpreter.iterated(value)
        return native_calls.iterate(value) if iterator is NotImplemented else iterator
    special = find_special(interpreter, kind, "__iter__")
    if special is not None:
        iterator = call_function(interpreter, special, [value], {})
        if lookup(type(iterator), "__next__") is MISSING:
            words = f"iter() returned non-iterator of type '{type(iterator).__name__}'"
            native_calls.fail(TypeError(words))
        return iterator
    if lookup(kind, "__iter__") is MISSING:
        special = find_special(interpreter, kind, "__getitem__")
        if special is not None:
            return SequenceIterator(interpreter, value)
    return call_native(interpreter, native_calls.iterate, [value], {})


_PLAIN_ITERATORS = frozenset(
    type(iter(each))
    for each in ([], (), "", range(0), {}, {}.values(), {}.items(), set[int](), reversed([]))
)
"""Exact types of iterators that give what they hold, and ask nobody."""


def advance(interpreter: ThreadState, iterator: Any) -> Any:
    """Return `next(iterator)`, or END."""
    kind = type(iterator)
    if kind in _PLAIN_ITERATORS:
        return native_calls.advance(iterator, END)
    special = find_special(interpreter, kind, "__next__")
    if special is None:
        return call_native(interpreter, native_calls.advance, [iterator, END], {})
    try:
        return call_function(interpreter, special, [iterator], {})
    except StopIteration:
        return END


def lend_iterable(interpreter: ThreadState, value: Any) -> Any:
    """Return an iterable for C with the same values; the same object where no Python is in it."""
    kind = type(value)
    if kind in SIMPLE or kind in OURS:
        return value
    in_python = ("__iter__", "__next__", "__getitem__")
    if not any(type(lookup(kind, name)) is FunctionType for name in in_python):
        return value
    iterator = get_iterator(interpreter, value)
    if find_special(interpreter, type(iterator), "__next__") is None:
        return iterator
    return IteratorAdapter(interpreter, iterator)


def lend_callable(interpreter: ThreadState, function: Any) -> Any:
    """Return a callable for C that does the same; the same object where it is C itself."""
    kind = type(function)
    if kind is FunctionType or kind is MethodType or isinstance(function, type):
        return Callback(interpreter, function)
    if type(lookup(kind, "__call__")) is FunctionType and kind not in OURS:
        return Callback(interpreter, function)
    # Builtins such as `len` call special methods, so they are lent too.
    return Callback(interpreter, function) if callable(function) else function


def ask_length(interpreter: ThreadState, value: Any) -> None:
    """Ask a value how long it is, as C does before it makes a list of it; the answer is not used.

    Raises: what the value raises, except TypeError.
    """
    for name in ("__len__", "__length_hint__"):
        special = find_special(interpreter, type(value), name)
        if special is not None:
            try:
                call_function(interpreter, special, [value], {})
            except TypeError:
                continue
            return
