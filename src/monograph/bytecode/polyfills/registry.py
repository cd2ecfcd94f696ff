"""Stand-ins for C functions that call back, look at their caller, or change containers.

A polyfill is a small function `(interpreter, args, kwargs) -> result`, entered for one or several C
functions, C methods or C classes; it does what they do, with Python that is interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.bytecode.evaluation.frame import Polyfill

__all__ = ["METHOD_NAMES", "POLYFILLS", "polyfill"]

POLYFILLS: dict[int, Polyfill] = {}
"""By identity of the C function: it need not be hashable, and it is kept alive below."""

METHOD_NAMES: set[str] = set()
"""Names of the C functions that have polyfills."""

_TARGETS: list[Any] = []


def polyfill(*targets: Any) -> Callable[[Polyfill], Polyfill]:
    """Enter the function below for C functions. Raises: ValueError on a second one for the same."""

    def enter(function: Polyfill) -> Polyfill:
        for target in targets:
            if id(target) in POLYFILLS:
                raise ValueError(f"{target!r} has two polyfills")
            POLYFILLS[id(target)] = function
            METHOD_NAMES.add(target.__name__)
            _TARGETS.append(target)
        return function

    return enter
