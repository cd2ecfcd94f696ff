"""Deferred texts of a strict run: where they are made, and what may hold one that is not made.

The interpreter sees every operation on them. Interpreted code, containers, exceptions and what
people read hold them as they are; any other function is given the text, by guards. What reads one
out of a container raises that it is no text: the run is made again, its texts at once.
"""

from __future__ import annotations

import builtins
import copy
import dataclasses
import functools
import logging
import warnings
from collections import deque
from types import (
    ClassMethodDescriptorType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.chosen_object import ChosenObject, refused
from monograph.abstract.symbolic_text import SymbolicText, deferred
from monograph.bytecode import ours
from monograph.capture.code_policy import is_entered
from monograph.capture.hidden_state.native_state import BOUND_TO_C
from monograph.capture.installation import REPLACEMENTS
from monograph.capture.restart import Restart
from monograph.capture.torch_overrides import tensor_text
from monograph.host.flags import SAYING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from monograph.capture.recording.recorder import Recorder

_HOLDING: Final = frozenset({deque, dict, list, tuple, SymbolicText, type})
"""Whose methods in C take anything; a key must be a text, and says so. Of types, `__new__`."""
_READING: Final = frozenset(
    map(
        id,
        (
            *(bytearray, bytes, complex, compile, delattr, eval, exec, float, getattr, hasattr),
            *(int, open, ord, setattr, builtins.__import__),
        ),
    )
)
"""Of Python's builtin functions, those that read letters in C."""
_ASKED_AGAIN: Final = frozenset(
    {
        *(functools.partial, type(functools.lru_cache(lambda: None))),
        *(ClassMethodDescriptorType, MethodDescriptorType, WrapperDescriptorType),
    }
)
"""Kinds of callees that call what is asked about in turn, or say what they do not take."""
_FORMATTING: Final = frozenset({"format", "join"})
_TAKING_ANY: Final = frozenset(
    {copy.__file__, dataclasses.__file__, logging.__file__, tensor_text.__file__}
)
"""Files of functions that read no letter, or look who reads them, as our `print` does."""
_SHOWN: Final = frozenset(map(id, SAYING))
"""Functions whose texts nobody but people reads, by identity."""

ours(SymbolicText)


class DeferredTexts:
    """The texts of one run; `are_any` once there is one."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self.are_any = False

    def text(self, function: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
        """The text that a function in C would make, deferred; see `Hooks.text`."""
        if self._recorder.options.texts_made:
            return NotImplemented
        made = deferred(function, args, kwargs)
        if made is None:
            return NotImplemented
        self.are_any = True
        return made

    def hand_over(
        self, callee: Any, args: list[Any], kwargs: dict[str, Any]
    ) -> Callable[..., Any] | None:
        """What is called in place of a callee; the texts that C would read are made, in place.

        Raises: Restart, what making one refuses.
        """
        if self.are_any and not _takes_any(callee):
            if callee is warnings.warn and args and type(args[0]) is SymbolicText:
                return _warned
            _make(callee, args, kwargs)
        return REPLACEMENTS.get(id(callee))

    def are_in(self, error: BaseException) -> bool:
        """Whether an exception is the module's own, whose words are not made yet.

        Raises: Restart, where C did not take a deferred text for a text.
        """
        if any(type(each) is SymbolicText for each in error.args):
            return True
        if SymbolicText.__name__ in str(error):
            raise Restart("texts")
        return False


def _make(callee: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    shown = id(callee) in _SHOWN
    for n, value in enumerate(args):
        args[n] = _made(value, shown=shown)
    for key, value in kwargs.items():
        kwargs[key] = _made(value, shown=shown)


def _made(value: Any, *, shown: bool) -> Any:
    if type(value) is SymbolicText:
        return value.shown() if shown else value.text()
    if type(value) is ChosenObject:
        refused(value)
    if not shown and _holds(value, 3):
        raise Restart("texts")
    return value


def _holds(value: Any, depth: int) -> bool:
    """Whether a container holds a text that is not made."""
    kind = type(value)
    if kind is dict:
        return _any([*value.values()], depth)
    return (kind is list or kind is tuple) and _any(value, depth)


def _any(values: Iterable[Any], depth: int) -> bool:
    return any(type(each) is SymbolicText or (depth and _holds(each, depth - 1)) for each in values)


def _takes_any(callee: Any) -> bool:
    """Whether a callee may hold a text that is not made: it is interpreted, or reads no letter."""
    kind = type(callee)
    if kind is FunctionType:
        file = callee.__code__.co_filename
        return file in _TAKING_ANY or is_entered(file, callee.__code__.co_name)
    if kind is MethodType:
        return True
    if id(callee) in _READING:
        return False
    if isinstance(callee, type):
        return _is_made_in_python(callee) or callee.__module__ == "builtins"
    if kind not in BOUND_TO_C:
        return kind in _ASKED_AGAIN or type(kind.__call__) is FunctionType
    owner = callee.__self__
    if type(owner) is str:
        return callee.__name__ in _FORMATTING
    return owner is builtins or type(owner) in _HOLDING or isinstance(owner, BaseException)


def _is_made_in_python(cls: type) -> bool:
    return any(type(getattr(cls, name, None)) is FunctionType for name in ("__init__", "__new__"))


def _warned(message: SymbolicText, *args: Any, **kwargs: Any) -> None:
    """`warnings.warn(message)`; code that catches it, or records it, is given the text."""
    is_shown = tensor_text.are_warnings_for_people()
    said = message.shown() if is_shown else message.text()
    try:
        warnings.warn(said, *args, **kwargs)
    except Warning as error:
        error.args = (message,)
        raise


__all__ = ["DeferredTexts"]
