"""Small programs in plain Python: the corpus that interpreted execution is held against.

A program is a function under `@program`, or under `@called_with(...)` with one tuple of arguments
per call. It returns a value, raises, or prints; all of that, in its order, is compared with what
CPython does when it runs the same function. Nothing here imports anything outside the standard
library, so the same programs run on every version of Python that is found.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["PROGRAMS", "Program", "called_with", "load", "program", "text"]


@dataclass(frozen=True)
class Program:
    """One function and the calls it is tried on."""

    name: str
    function: Callable
    calls: tuple[tuple, ...]


PROGRAMS: dict[str, Program] = {}


def program(function: Callable) -> Callable:
    """Register a function that is called once, without arguments."""
    return called_with(())(function)


def called_with(*calls: tuple) -> Callable[[Callable], Callable]:
    """Register a function that is called once per tuple of arguments."""

    def register(function: Callable) -> Callable:
        area = function.__module__.rpartition(".")[2]
        name = f"{area}.{function.__name__}"
        assert name not in PROGRAMS, f"two programs are called {name}"
        assert calls, f"{name} is never called"
        PROGRAMS[name] = Program(name, function, calls)
        return function

    return register


def text(since: tuple[int, int], name: str, source: str) -> None:
    """Register a program of newer grammar as text that defines `main()`, where Python reads it."""
    if sys.version_info < since:
        return
    module = sys._getframe(1).f_globals["__name__"]
    scope = {"__name__": module}
    exec(compile(source, f"programs/{name}.py", "exec"), scope)
    scope["main"].__name__ = name
    program(scope["main"])


def load() -> dict[str, Program]:
    """Import every file of programs and give all of them by name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # what the compiler advises against
        for path in sorted((Path(__file__).parent / "programs").glob("*.py")):
            importlib.import_module(f"tests.python.programs.{path.stem}")
    return PROGRAMS
