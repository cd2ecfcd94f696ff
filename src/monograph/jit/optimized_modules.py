"""Optimized modules: the same attributes, parameters and hooks under another `__call__`."""

from __future__ import annotations

import copy
import operator
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FunctionType

    import torch

    from monograph.jit.optimized_calls import OptimizedFunction

__all__ = ["as_module", "caller_of"]

_CLASSES: Final[dict[Any, type]] = {}


class _OptimizedModule:
    """Mixed into the class of an optimized module."""

    monograph_call: Any
    monograph_calls: dict[int, Any]
    monograph_original: Any

    def __init_subclass__(cls, **_: Any) -> None:
        """No class of the user's: its own `__init_subclass__` is not told."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module."""
        kind: Any = type(self)
        original = kind.monograph_original
        if original.__dict__ is not self.__dict__:
            original = self._original()
        n = -1 if kwargs else len(args)
        call = kind.monograph_calls.get(n)
        if call is None:
            call = kind.monograph_calls[n] = self.monograph_call(original, n)
        return call(original, *args, **kwargs)

    def _original(self) -> Any:
        """The module itself; of a copy, one that shares what the copy has."""
        kind: Any = type(self)
        original = kind.monograph_original
        if original.__dict__ is self.__dict__:
            return original
        other = object.__new__(type(original))
        object.__setattr__(other, "__dict__", self.__dict__)
        kind.monograph_original = other
        kind.monograph_calls.clear()
        return other

    def monograph_plain(self) -> Any:
        """The module itself."""
        return self._original()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        kind: Any = type(self)
        return _shared(copy.deepcopy(self._original(), memo), kind.monograph_call)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickled as the module itself."""
        made = self._original().__reduce_ex__(protocol)
        # By way of another function: pickle compares the class that `__newobj__` is given.
        return (operator.call, (made[0], *made[1]), *made[2:])


def as_module(
    module: torch.nn.Module, caller: Callable[[torch.nn.Module, int], OptimizedFunction]
) -> Any:
    """Make a module that shares everything with another one, and whose calls are optimized."""
    if isinstance(module, _OptimizedModule):
        module = module._original()  # noqa: SLF001 - of this file
    return _shared(module, staticmethod(caller))


def _shared(module: Any, call: Any) -> Any:
    kind = type(module)
    namespace = {
        "monograph_call": call if isinstance(call, staticmethod) else staticmethod(call),
        "monograph_calls": {},
        "monograph_original": module,
        "__module__": kind.__module__,
        "__qualname__": kind.__qualname__,
        "__doc__": kind.__doc__,
    }
    made = object.__new__(type(kind.__name__, (_OptimizedModule, kind), namespace))
    object.__setattr__(made, "__dict__", module.__dict__)
    return made


def caller_of(n: int) -> FunctionType:
    """A function that calls a module with n arguments; if n is negative, with any."""
    names = "*args, **kwargs" if n < 0 else ", ".join(f"input_{index}" for index in range(n))
    scope: dict[str, Any] = {}
    source = f"def call(module, /, {names}): return module({names})" if names else _NOTHING
    exec(compile(source, "<optimized>", "exec"), scope)  # noqa: S102 - the line above
    return scope["call"]


_NOTHING: Final = "def call(module, /): return module()"
