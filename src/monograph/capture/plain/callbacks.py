"""Callbacks: user code that C calls, out of the interpreter's sight, watched by call events.

C hashes and compares keys, `re.sub` calls a function, a library calls methods of an object. So a
native call is looked at before it is made: if nothing among what it is given leads to Python of the
user's, nothing of it can run. Else Python tells a listener of the calls that are made meanwhile.
"""

from __future__ import annotations

import functools
import sys
from types import FunctionType, GeneratorType, MethodType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from monograph.abstract.symbolic_text import SymbolicText
from monograph.abstract.tensor import StaticTensor, SymbolicTensor
from monograph.capture.call_events import CALL_EVENTS
from monograph.capture.code_policy import OURS, is_users
from monograph.capture.hidden_state.container_contents import attributes_of
from monograph.capture.hidden_state.native_state import BOUND_TO_C, package_of
from monograph.capture.side_effects.digests import LEAVES
from monograph.host.dispatch import modes, n_dispatch_modes, n_function_modes

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence
    from contextlib import AbstractContextManager

    from monograph.capture.call_events import Listener

_CLOSED: Final = frozenset(
    {
        *(int, float, bool, str, bytes, complex, range, object, ModuleType),
        *(type(None), type(Ellipsis), type(NotImplemented)),
        *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size),
        *(StaticTensor, SymbolicTensor, torch.Tensor, torch.nn.Parameter),
        *(torch.SymInt, torch.SymFloat, torch.SymBool, SymbolicText),
    }
)
"""Kinds of values that lead to no Python of the user's."""
_HOLDING: Final = frozenset({list, tuple, set, frozenset})
_KNOWN_PACKAGES: Final = frozenset({"torch", "numpy", __name__.partition(".")[0]})
"""Whose objects call nobody but what they hold."""
_CALLED_OFTEN: Final = frozenset({"torch", "builtins"})
"""Whose objects, when they are called, call nobody but what they are given."""
_UNWRITTEN: Final = LEAVES | {tuple, type, ModuleType}
"""Kinds of values that C writes nothing to."""
_CALLING_NOBODY: Final = frozenset(
    map(id, (super, callable, type, id, object.__new__, dict.values, dict.keys, dict.items))
)
"""Functions that call nobody, whatever they are given, by identity."""
_MOST: Final = 64
"""So many values of a container are looked at; a longer one may hold anything."""
_DEEPEST: Final = 4


def _nobody(_: object) -> None:
    """Nobody is told."""


def _itself(watching: AbstractContextManager[None]) -> AbstractContextManager[None]:
    return watching


class Callbacks:
    """Decides which native calls of one run are watched. `watch` makes the listener, once."""

    def __init__(
        self,
        watch: Callable[[], Listener],
        give: Callable[[Iterable[Any]], object] = _nobody,
        beside: Callable[[AbstractContextManager[None]], AbstractContextManager[None]] = _itself,
    ) -> None:
        """`give` is told what C is given that may be changed by it.

        `beside` adds to what is around a call that is watched.
        """
        self._watch = watch
        self._give = give
        self._beside = beside
        self._told: Any = None
        self._before: Any = None
        self._is_watching = False
        self._kinds: dict[type, bool] = {}
        self._of_classes: dict[type, bool] = {}

    def around(
        self, callee: Any, args: Sequence[Any], kwargs: dict[str, Any]
    ) -> AbstractContextManager[Any] | None:
        """What to have around a native call: nothing, if it can call nothing of the user's."""
        if id(callee) in _CALLING_NOBODY:
            return None
        is_open = not _CLOSED.issuperset(map(type, args)) and self._is_given(args)
        if kwargs and not _CLOSED.issuperset(map(type, kwargs.values())):
            is_open = self._is_given(kwargs.values()) or is_open
        kind = type(callee)
        if kind is FunctionType:
            is_open = is_open or _is_users_function(callee)
        elif kind in BOUND_TO_C and type(callee.__self__) not in _CLOSED:
            is_open = self._is_given((callee.__self__,)) or is_open
        elif package_of(kind) not in _CALLED_OFTEN:
            is_open = is_open or self._keeps_users(callee, kind, _DEEPEST)
        if not is_open and n_function_modes() + n_dispatch_modes() > 1:  # the recorder is one
            is_open = any(self._is_users(type(each)) for each in modes())
        if not is_open or self._is_watching:
            return None
        return self._beside(self) if CALL_EVENTS.can_listen else None

    def _is_given(self, values: Collection[Any]) -> bool:
        """Tell what C is given; whether any of it leads to users' code."""
        if not _UNWRITTEN.issuperset(map(type, values)):
            self._give(values)
        return self._any(values, len(values), _DEEPEST)

    def __enter__(self) -> None:
        """Watch what is called from here on."""
        before = self._before = CALL_EVENTS.now()
        if self._told is None:
            self._told = CALL_EVENTS.told(self._watch(), before)
        self._is_watching = True
        CALL_EVENTS.tell(self._told)

    def __exit__(self, *_: object) -> None:
        """Watch no longer."""
        CALL_EVENTS.tell(self._before)
        self._is_watching = False

    def call(self, interpret: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run interpreted code, which is watched in its own way."""
        if not self._is_watching:
            return interpret(*args, **kwargs)
        self._is_watching = False
        CALL_EVENTS.tell(self._before)
        try:
            return interpret(*args, **kwargs)
        finally:
            CALL_EVENTS.tell(self._told)
            self._is_watching = True

    def may_call(self, *values: Any) -> bool:
        """Whether one of some values leads to Python of the user's."""
        return self._any(values, len(values), _DEEPEST)

    def _any(self, values: Iterable[Any], count: int, depth: int) -> bool:
        """Whether any of some values leads to users' code, or there are too many to say."""
        if count > _MOST or not depth:
            return True
        for each in values:
            if type(each) not in _CLOSED and self._leads_to_users(each, depth - 1):
                return True
        return False

    def _leads_to_users(self, value: Any, depth: int) -> bool:
        kind = type(value)
        if kind in _CLOSED:
            return False
        if kind in _HOLDING:
            if len(value) <= _MOST and _CLOSED.issuperset(map(type, value)):
                return False
            return self._any(value, len(value), depth)
        if kind is dict:
            return self._any((*value, *value.values()), len(value), depth)
        return self._is_users(kind) or self._holds_users(value, kind, depth)

    def _is_users(self, kind: type) -> bool:
        """Whether a class or a base of it is the user's."""
        known = self._kinds.get(kind)
        if known is None:
            for base in kind.__mro__:
                if base not in self._of_classes:
                    self._of_classes[base] = _is_users_class(base)
            known = self._kinds[kind] = any(self._of_classes[base] for base in kind.__mro__)
        return known

    def _holds_users(self, value: Any, kind: type, depth: int) -> bool:
        """Whether an object of PyTorch's or Python's own hands calls on to the user's."""
        if kind is FunctionType:
            return _is_users_function(value)
        if isinstance(value, type):
            return self._is_users(value)
        if kind is GeneratorType:
            return is_users(value.gi_code.co_filename)
        if kind is slice:
            return self._any((value.start, value.stop, value.step), 3, depth)
        if kind is MethodType:
            return self._any((value.__func__, value.__self__), 2, depth)
        if kind is functools.partial:
            inside = (value.func, *value.args, *value.keywords.values())
            return self._any(inside, len(inside), depth)
        if kind in BOUND_TO_C:
            return self._any((value.__self__,), 1, depth)
        return self._keeps_users(value, kind, depth)

    def _keeps_users(self, value: Any, kind: type, depth: int) -> bool:
        """Whether an object that is neither a function nor a container may call the user's."""
        package = package_of(kind)
        if package not in _KNOWN_PACKAGES:
            return True
        if isinstance(value, np.ndarray):
            return value.dtype.hasobject
        if kind is np.ufunc:  # only those of `numpy.frompyfunc` take nothing but objects
            return all(each.strip("O") == "->" for each in value.types)
        held = {} if isinstance(value, torch.nn.Module) else attributes_of(value)
        return self._any(held.values(), len(held), depth)


def _is_users_function(function: FunctionType) -> bool:
    """Whether a function is the user's, or may be a cover of one that is."""
    file = function.__code__.co_filename
    if function.__closure__ is None:
        return is_users(file)
    return not file.startswith(OURS)


def _is_users_class(kind: type) -> bool:
    """Whether a class itself is written in a file of the user's, or has a function that is."""
    name = str(kind.__module__)
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if name.partition(".")[0] not in sys.stdlib_module_names and is_users(file or "<unknown>"):
        return True
    return any(
        is_users(each.__code__.co_filename)
        for each in vars(kind).values()
        if type(each) is FunctionType
    )
