"""Torch's operators that call functions: where user code reaches them, and their names.

`torch.cond` and its relatives compile their functions unless `torch.compiler.is_dynamo_compiling()`
says that somebody does already; then they flatten their arguments and call the operator below them.
So that is what they are told, they alone, and the operators' `__call__` is replaced. The function
that tells them stays the object it is, with other code meanwhile: where Dynamo is first imported
during a capture, it learns its functions by identity, for good.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._higher_order_ops.associative_scan import associative_scan_op
from torch._higher_order_ops.cond import cond_op
from torch._higher_order_ops.map import map_impl
from torch._higher_order_ops.scan import scan_op
from torch._higher_order_ops.while_loop import while_loop_op

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

COND: Final[Any] = cond_op
MAP: Final[Any] = map_impl
WHILE_LOOP: Final[Any] = while_loop_op
SCAN: Final[Any] = scan_op
ASSOCIATIVE_SCAN: Final[Any] = associative_scan_op

_SCAN_MODULE: Final[Any] = importlib.import_module("torch._higher_order_ops.associative_scan")
generic_associative_scan: Final[Any] = _SCAN_MODULE.generic_associative_scan
"""(operator, leaves, additional_inputs=...): pairs of neighbours, then pairs of these."""


@contextmanager
def operators_answered(
    answer: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any],
    scan: Callable[[Callable[..., Any], list[Any]], Any],
) -> Generator[None]:
    """While user code runs, calls of the five operators are given to `answer`.

    `answer` takes the operator and its arguments, and returns NotImplemented where the call is none
    of its business; `scan` takes what `associative_scan` in its generic mode would take apart.
    """
    asked: Any = torch.compiler.is_dynamo_compiling
    code = asked.__code__
    kinds = {type(op): type(op).__call__ for op in (COND, MAP, WHILE_LOOP, SCAN, ASSOCIATIVE_SCAN)}
    asked.__code__ = _tells_fronts.__code__
    _SCAN_MODULE.generic_associative_scan = _generic(scan)
    for kind, original in kinds.items():
        kind.__call__ = _call(original, answer)
    try:
        yield
    finally:
        for kind, original in kinds.items():
            kind.__call__ = original
        _SCAN_MODULE.generic_associative_scan = generic_associative_scan
        asked.__code__ = code


def _tells_fronts() -> bool:
    """What `is_dynamo_compiling` does meanwhile; its globals are those of `torch.compiler`."""
    import sys  # noqa: PLC0415 - it runs as another module's function

    caller = sys._getframe(1).f_globals.get("__name__", "")
    return caller.startswith("torch._higher_order_ops.")


def _call(original: Any, answer: Callable[..., Any]) -> Any:
    def call(op: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = answer(op, args, kwargs)
        return original(op, *args, **kwargs) if result is NotImplemented else result

    return call


def _generic(scan: Callable[..., Any]) -> Any:
    def generic(operator: Any, leaves: Any, dim: int = 0, additional_inputs: Any = ()) -> Any:
        result = NotImplemented
        if dim == 0 and not additional_inputs:
            result = scan(operator, leaves)
        if result is NotImplemented:
            return generic_associative_scan(operator, leaves, dim, additional_inputs)
        return result

    return generic


def unvectorised(function: Any) -> Any:
    """The function that `torch.vmap` made this of, None if it is not found.

    While compiling, `vmap` leaves no `__wrapped__`; its closure holds the function.
    """
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return next((cell.cell_contents for name, cell in cells if name == "func"), None)


__all__ = [
    "ASSOCIATIVE_SCAN",
    "COND",
    "MAP",
    "SCAN",
    "WHILE_LOOP",
    "generic_associative_scan",
    "operators_answered",
    "unvectorised",
]
