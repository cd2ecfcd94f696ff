"""Ways out of a program to other systems, which stand above this folder and enter themselves here.

Law: a method of a program that hands it over does what the function entered under its name does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.program.program import ExportedProgram

Way = TypeVar("Way", bound="Callable[..., Any]")

WAYS: dict[str, Callable[..., Any]] = {}


def way_out(name: str) -> Callable[[Way], Way]:
    """Enter the function that hands a program over."""

    def enter(function: Way) -> Way:
        if name in WAYS:
            raise ValueError(f"there are two ways out called {name!r}")
        WAYS[name] = function
        return function

    return enter


def handed_over(name: str, program: ExportedProgram, *args: Any, **kwargs: Any) -> Any:
    """Give a program to the function that was entered."""
    return WAYS[name](program, *args, **kwargs)


__all__ = ["handed_over", "way_out"]
