"""Programs with state and side effects: each is called three times, on other inputs every time.

A program is a function that makes a module, or a module and a witness: a function that tells what
the module left behind outside of itself. What a program file has as globals is watched anyway.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch


def vector() -> tuple:
    """Give a vector."""
    return (torch.randn(3),)


@dataclass(frozen=True, slots=True)
class StateProgram:
    """One program and what is expected of it."""

    name: str
    make: Callable
    inputs: Callable[[], tuple]
    refused: tuple[str, ...]
    """The diagnostics one of which `export` gives; none where it must be captured and agree."""

    @property
    def is_branch(self) -> bool:
        """Whether only plain Python is refused, which does not see its branches on data.

        What such a branch returns is a copy, also of an input that eager code returns as it is.
        """
        return "data-dependent-branch" in self.refused


PROGRAMS: dict[str, StateProgram] = {}
OUTSIDE: dict[str, StateProgram] = {}
"""Programs that are right or refused, whichever; `ALLOWED_OUTSIDE` are captured."""
ALLOWED_OUTSIDE: set[str] = set()


def state(
    *refused: str,
    inputs: Callable[[], tuple] = vector,
) -> Callable:
    """Register what makes a module, or a module class."""

    def register(make: Callable) -> Callable:
        name = make.__name__
        assert name not in PROGRAMS, f"two programs are called {name}"
        PROGRAMS[name] = StateProgram(name, make, inputs, refused)
        return make

    return register
