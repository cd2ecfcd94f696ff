"""Stand-ins for C functions that call back, look at their caller, or change containers.

A polyfill is a small function `(interpreter, args, kwargs) -> result`, entered for one or several C
functions, C methods or C classes; it does what they do, with Python that is interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call_native

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode.evaluation.frame import Polyfill, ThreadState

__all__ = ["METHOD_NAMES", "POLYFILLS", "polyfill"]

POLYFILLS: dict[int, Polyfill] = {}
"""By identity of the C function: it need not be hashable, and it is kept alive below."""

METHOD_NAMES: set[str] = set()
"""Names of the C functions that have polyfills."""

_TARGETS: list[Any] = []


def polyfill(*targets: Any, takes: tuple[int, ...] = ()) -> Callable[[Any], Any]:
    """Enter the function below for C functions.

    With `takes`, it is a function `(interpreter, *args)` for calls with so many arguments and no
    keywords; others are native. Raises: ValueError on a second one for the same C function.
    """

    def entered(function: Any) -> Any:
        for target in targets:
            if id(target) in POLYFILLS:
                raise ValueError(f"{target!r} has two polyfills")
            POLYFILLS[id(target)] = _taking(target, function, takes) if takes else function
            METHOD_NAMES.add(target.__name__)
            _TARGETS.append(target)
        return function

    return entered


def _taking(target: Any, function: Any, takes: tuple[int, ...]) -> Polyfill:
    def counted(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs or len(args) not in takes:
            return call_native(interpreter, target, args, kwargs)
        return function(interpreter, *args)

    return counted
