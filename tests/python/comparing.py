"""Programs run twice, natively and interpreted, and every way in which they differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.bytecode import interpret
from tests.python.observing import observe

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.python.registry import Program

__all__ = ["differences"]


def natively(function: Callable, *args: Any) -> Any:
    """Call as CPython does."""
    return function(*args)


def differences(program: Program) -> list[str]:
    """Make every call of a program both ways and say what is not the same."""
    found: list[str] = []
    for arguments in program.calls:
        native = observe(natively, program.function, arguments)
        interpreted = observe(interpret, program.function, arguments)
        found.extend(
            f"{program.name}{arguments}: {key}\n"
            f"  native      {native.get(key)}\n  interpreted {interpreted.get(key)}"
            for key in sorted(native.keys() | interpreted.keys())
            if native.get(key) != interpreted.get(key)
        )
    return found
