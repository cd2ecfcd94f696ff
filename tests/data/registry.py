"""Programs that look at data: each is called with twenty draws of its inputs, empty ones included.

A program is a function of tensors, or a module class, under `@data(inputs)`. `inputs(k)` makes the
inputs of draw k from torch's generator, which is seeded: draw 0 is the example, draw 1 is `NOTHING`
(no element is chosen, every count is 0), draw 2 is `EVERYTHING`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

from tests.seeding import reseed

DRAWS = 21
NOTHING, EVERYTHING = 1, 2


@dataclass(frozen=True, slots=True)
class DataProgram:
    """One program, how its inputs are made, and what becomes of it."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[int], tuple]
    shapes: Callable | None
    """From the class `Dim` to `dynamic_shapes`."""
    refused: str
    """The diagnostic that `export` gives, "" where it captures."""
    calls_refused: int
    """At how many draws the program may refuse a call that eager answers."""


PROGRAMS: dict[str, DataProgram] = {}


def data(
    inputs: Callable[[int], tuple],
    *,
    shapes: Callable | None = None,
    refused: str = "",
    calls_refused: int = 0,
) -> Callable:
    """Register a function or a module class."""

    def register(what: Callable) -> Callable:
        add(what.__name__, what, inputs, shapes=shapes, refused=refused, calls=calls_refused)
        return what

    return register


def variants(
    inputs: Callable[[int], tuple],
    functions: dict[str, Callable],
    *,
    shapes: Callable | None = None,
    refused: str = "",
    calls_refused: int = 0,
) -> None:
    """Register several functions of the same inputs."""
    for name, function in functions.items():
        add(name, function, inputs, shapes=shapes, refused=refused, calls=calls_refused)


def add(
    name: str, what: Callable, inputs: Callable, *, shapes: object, refused: str, calls: int
) -> None:
    """Enter one program."""
    assert name not in PROGRAMS, f"two programs are called {name}"
    build = what if isinstance(what, type) else lambda: module_of(name, what)
    PROGRAMS[name] = DataProgram(name, build, inputs, shapes, refused, calls)


def module_of(name: str, function: Callable) -> nn.Module:
    """A module that calls a function."""
    return type(name, (nn.Module,), {"forward": staticmethod(function)})()


def inputs_of(program: DataProgram, k: int) -> tuple:
    """The inputs of a draw."""
    reseed(100 + k)
    return program.inputs(k)


# ------------------------------------------------------------------------------- common inputs


def mask(k: int, *shape: int) -> torch.Tensor:
    """A mask: of nothing, of everything, or random, sometimes sparse."""
    if k in (NOTHING, EVERYTHING):
        return torch.full(shape, k == EVERYTHING)
    return torch.rand(shape) < (0.15 if k % 3 == 0 else 0.5)


def count(k: int, upper: int) -> int:
    """A number in [0, upper]: none, all, or random."""
    if k in (NOTHING, EVERYTHING):
        return 0 if k == NOTHING else upper
    return int(torch.randint(0, upper + 1, ()))


def matrix_and_mask(k: int) -> tuple:
    """Give x: [4, 5] and a mask of its shape."""
    return torch.randn(4, 5), mask(k, 4, 5)


def rows_and_mask(k: int) -> tuple:
    """Give x: [6, 4] and a mask of its rows."""
    return torch.randn(6, 4), mask(k, 6)


def vector_and_count(k: int) -> tuple:
    """Give x: [8] and a number in [0, 8]."""
    return torch.randn(8), torch.tensor(count(k, 8) if k else 3)


def matrix_and_count(k: int) -> tuple:
    """Give x: [6, 4] and a number in [0, 6]."""
    return torch.randn(6, 4), torch.tensor(count(k, 6) if k else 2)


def integers(k: int) -> tuple:
    """Give twelve integers in [0, 6)."""
    if k == NOTHING:
        return (torch.zeros(12, dtype=torch.int64),)
    return (torch.randint(0, 6, (12,)),)


def any_integer(k: int) -> tuple:
    """Give x: [8] and a number in [-12, 12]."""
    return torch.randn(8), torch.tensor(int(torch.randint(-12, 13, ())) if k else 3)
