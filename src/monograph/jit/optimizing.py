"""Just-in-time compilation: `optimize` as a decorator, a call and a context manager."""

from __future__ import annotations

import functools
import threading
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final, Self
from weakref import WeakKeyDictionary

import torch

from monograph.jit.backends import find_backend
from monograph.jit.code_replacement import replaced_functions
from monograph.jit.optimized_calls import OptimizedFunction
from monograph.jit.optimized_modules import as_module, caller_of
from monograph.jit.point_table import PointTable

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from monograph.jit.segment_code import CompiledSegment

__all__ = ["Optimizer", "optimize"]


def optimize(
    backend: str | Callable[..., Any] = "eager",
    *,
    nopython: bool = False,
    dynamic: bool | None = None,
    cache_size_limit: int = 8,
    debug: bool = False,
) -> Optimizer:
    """Run functions and modules just in time: what can be captured as graphs, the rest as it is.

    The result is applied to a function, method or module, or used as a context manager, within
    which modules and the functions that the block's code names run so:

    >>> import torch
    >>> @optimize("eager")
    ... def double(x):
    ...     print("called")
    ...     return x * 2
    >>> double(torch.ones(2))
    called
    tensor([2., 2.])

    `backend` is called with a `torch.fx.GraphModule` and example inputs, and returns what runs in
    its place; a name is "eager", "monograph", "inductor" or another that torch lists. With
    `nopython`, the first graph break raises. With `dynamic=None`, sizes that Python asks for are
    values of the graph from the second compilation on, so that it serves other sizes, too; with
    True, from the first; with False, never. Only "eager" has such graphs: other backends compile
    for sizes. `cache_size_limit` is how often the code from one place on is compiled before the
    function runs as it is. With `debug`, each graph that is compiled is shown on standard error,
    with its guards and what is done around it.

    Raises: backend-unknown.
    """
    return Optimizer(
        backend, nopython=nopython, dynamic=dynamic, limit=cache_size_limit, debug=debug
    )


_AS_A_DECORATOR: Final = (
    "optimize(backend) was called with what a function takes: as a decorator it is written"
    " @optimize(), since a function without the parentheses is taken for a backend"
)


class Optimizer:
    """What `optimize(...)` returns: it makes optimized functions and modules, and knows them."""

    def __init__(
        self,
        backend: str | Callable[..., Any],
        *,
        nopython: bool,
        dynamic: bool | None,
        limit: int,
        debug: bool = False,
        assumes_data: bool = True,
    ) -> None:
        """Look the backend up. Raises: backend-unknown.

        Without `assumes_data`, graphs end wherever data are asked.
        """
        self.backend = find_backend(backend)
        observe = getattr(self.backend, "observe", None)
        self._new_table = functools.partial(
            PointTable,
            self.backend,
            limit=1 if observe is not None else limit,
            nopython=nopython,
            dynamic=dynamic,
            observe=observe,
            debug=debug,
            assumes_data=assumes_data,
        )
        self._functions: WeakKeyDictionary[Any, OptimizedFunction] = WeakKeyDictionary()
        self._replaced: list[AbstractContextManager[None]] = []

    def __call__(self, target: Any, /, *others: Any, **named: Any) -> Any:
        """Make the optimized form of a function, method, class of modules or module.

        Raises: TypeError, of anything else.
        """
        if others or named or isinstance(target, torch.Tensor):
            raise TypeError(_AS_A_DECORATOR)
        if isinstance(target, torch.nn.Module):
            return as_module(target, self._caller)
        if isinstance(target, OptimizedFunction):
            return self(target.__wrapped__)
        if type(target) is MethodType:
            return MethodType(self(target.__func__), target.__self__)
        if type(target) is FunctionType:
            return self._optimized(target)
        special = vars(type(target)).get("__call__")
        if type(special) is FunctionType:
            return MethodType(self._optimized(special), target)
        raise TypeError(f"optimize() takes functions and modules, not {type(target).__name__}")

    def _optimized(self, function: FunctionType) -> OptimizedFunction:
        found = self._functions.get(function)
        if found is None:
            found = OptimizedFunction(function, self._new_table(name=function.__qualname__))
            self._functions[function] = found
        return found

    def _caller(self, module: torch.nn.Module, n: int) -> OptimizedFunction:
        """What calls a module with n arguments; with any others, where it is negative."""
        by_count = _CALLERS.setdefault(module, {})
        if n not in by_count:
            by_count[n] = caller_of(n)
        return self._optimized(by_count[n])

    # --- as a context manager ---------------------------------------------------------------

    def __enter__(self) -> Self:
        """From now on calls of modules, and of functions that the block names, are optimized."""
        replaced = replaced_functions(self._optimized, self._call_module)
        replaced.__enter__()
        self._replaced.append(replaced)
        return self

    def __exit__(self, *error: object) -> None:
        """As before."""
        self._replaced.pop().__exit__(None, None, None)

    def _call_module(self, call: Any, module: Any, /, *args: Any, **kwargs: Any) -> Any:
        """What `nn.Module.__call__` is within the block: the outermost call is optimized."""
        if _BUSY.is_busy:
            return call(module, *args, **kwargs)
        _BUSY.is_busy = True
        try:
            return self._caller(module, -1 if kwargs else len(args))(module, *args, **kwargs)
        finally:
            _BUSY.is_busy = False

    # --- the cache --------------------------------------------------------------------------

    @property
    def entries(self) -> list[CompiledSegment]:
        """The segments that were compiled, each with its guards, its graph and its hits."""
        return [
            segment
            for function in self._functions.values()
            for point in function.table.points.values()
            for segment in point.segments
        ]

    @property
    def tables(self) -> list[PointTable]:
        """What is known of each function."""
        return [function.table for function in self._functions.values()]

    def reset(self) -> None:
        """Forget what was compiled."""
        for function in self._functions.values():
            function.reset()


class _Busy(threading.local):
    is_busy = False


_BUSY: Final = _Busy()
_CALLERS: Final[WeakKeyDictionary[torch.nn.Module, dict[int, FunctionType]]] = WeakKeyDictionary()
