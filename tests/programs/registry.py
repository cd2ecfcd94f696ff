"""Small programs, each with the inputs it is tried on: the corpus that capture is held against.

A program is a function of tensors, or a module class, under `@program(inputs)`; `inputs` makes
the call's arguments, its parameters are sizes and their defaults are the example's. Every program
is captured at fixed sizes and with every dimension `Dim.AUTO`, then called at sizes and values
unlike the example; what is expected of it otherwise is said by the other arguments.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

SIZES = (0, 1, 2, 3, 4, 5, 8, 11)


@dataclass(frozen=True, slots=True)
class Program:
    """One program and what is expected of it."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable
    refused: str | None = None
    """The diagnostic that static and dynamic capture both give, None where it is captured."""
    refused_dynamic: str | None = None
    raises: type[Exception] | None = None
    """What user code raises, so capture does too."""
    accepts: tuple[dict[str, int], ...] = ()
    """Sizes unlike the example that the dynamic program must accept; by default at least one."""
    fixed: bool = False
    """Whether the dynamic program may accept the example's sizes alone."""
    gradients: bool = True
    placeless: bool = False
    """Whether the refusal concerns the call of `export` and names no line of the program."""

    @property
    def sizes(self) -> dict[str, int]:
        """The example's sizes by name."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.inputs).parameters.items()
        }

    def sweep(self) -> list[dict[str, int]]:
        """Sizes to call at: each alone, then all together."""
        example = self.sizes
        alone = [example | {name: size} for name in example for size in SIZES]
        together = [dict.fromkeys(example, size) for size in SIZES] if len(example) > 1 else []
        more = [{name: size + 3 for name, size in example.items()}]
        found: list[dict[str, int]] = []
        for sizes in [*({**example, **sizes} for sizes in self.accepts), *alone, *together, *more]:
            if sizes not in found and sizes != example:
                found.append(sizes)
        return found


PROGRAMS: dict[str, Program] = {}


def program(inputs: Callable = tuple, **expected: object) -> Callable:
    """Register a function or a module class as a program."""

    def register(what: Callable) -> Callable:
        name = what.__name__
        assert name not in PROGRAMS, f"two programs are called {name}"
        is_class = isinstance(what, type)
        build = (
            what
            if is_class
            else lambda: type(name, (nn.Module,), {"forward": staticmethod(what)})()
        )
        PROGRAMS[name] = Program(name, build, inputs, **expected)
        return what

    return register


def variants(inputs: Callable, cases: dict[str, Callable], **expected: object) -> None:
    """Register many one-line functions: name to function."""
    for name, function in cases.items():
        function.__name__ = name
        program(inputs, **expected)(function)
