"""Interception: within `with optimize(...)`, calls of modules and of functions the block names.

A function is intercepted by its code, whoever holds the function: while the block runs, its code
is one that calls the optimized function, which has the code as it was.
"""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from inspect import CO_ASYNC_GENERATOR, CO_COROUTINE, CO_GENERATOR
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.capture.code_policy import is_users

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

__all__ = ["replaced_by", "replaced_functions"]

_SUSPENDED: Final = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR
_LOCK: Final = threading.Lock()


@contextmanager
def replaced_functions(
    optimized: Callable[[FunctionType], Any], call_module: Callable[..., Any]
) -> Generator[None]:
    """Let calls of functions that the caller's block names go to their optimized form."""
    block = sys._getframe(3)
    thread = threading.get_ident()
    before = torch.nn.Module.__call__

    def call(module: Any, /, *args: Any, **kwargs: Any) -> Any:
        if threading.get_ident() != thread:
            return before(module, *args, **kwargs)
        return call_module(before, module, *args, **kwargs)

    replaced: list[tuple[FunctionType, CodeType]] = []
    with _LOCK:
        for function in _named(block):
            twin = _twin(function)
            replaced.append((function, function.__code__))
            function.__code__ = _calling(optimized(twin), function.__code__)
        torch.nn.Module.__call__ = call
    try:
        yield
    finally:
        with _LOCK:
            torch.nn.Module.__call__ = before
            for function, code in replaced:
                function.__code__ = code


def _named(block: FrameType) -> list[FunctionType]:
    """The user's functions that the code of a frame names."""
    names = block.f_code.co_names
    found: dict[int, FunctionType] = {}
    for is_local, scope in ((False, block.f_globals), (True, block.f_locals)):
        for name, value in list(scope.items()):
            if type(value) is FunctionType and (is_local or name in names):
                found[id(value)] = value
            elif type(value) is ModuleType and name in names:
                for part in names:
                    inner = vars(value).get(part)
                    if type(inner) is FunctionType:
                        found[id(inner)] = inner
    return [each for each in found.values() if _is_fit(each)]


def _is_fit(function: FunctionType) -> bool:
    code = function.__code__
    return not code.co_flags & _SUSPENDED and is_users(code.co_filename)


def _twin(function: FunctionType) -> FunctionType:
    """The same function once more, which keeps the code that the function has now."""
    twin = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__qualname__ = function.__qualname__
    twin.__module__ = function.__module__
    return twin


def _call(*args: Any, **kwargs: Any) -> Any:
    target: Any = 4711  # stands for the optimized function
    return target(*args, **kwargs)


def _calling(target: Any, code: CodeType) -> CodeType:
    consts = tuple(target if const == 4711 else const for const in _call.__code__.co_consts)
    return _call.__code__.replace(
        co_consts=consts, co_freevars=code.co_freevars, co_name=code.co_name
    )


def replaced_by(function: FunctionType) -> Any:
    """The optimized function that a function calls for now, or None."""
    code = function.__code__
    if code.co_filename != __file__ or code.co_code != _call.__code__.co_code:
        return None
    return next((each for each in code.co_consts if hasattr(each, "monograph_plain")), None)
