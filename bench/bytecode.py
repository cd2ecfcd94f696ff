"""Measure interpreted Python beside native Python, turn by turn.

    python -m bench.bytecode [--rounds N] [--append]

Processor seconds, medians; both run the same function in one process, by turns. `ns/step` is what
one canonical instruction costs on top of the native run. Models are forwards of `bench.models`, of
which `torch.nn` and the model are interpreted and the rest of torch is native.
"""

import argparse
import gc
import inspect
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import CodeType

import torch

from bench.models import CASES
from bench.results import Results, milliseconds
from monograph.bytecode import Hooks, Interpreter
from monograph.bytecode import linking as links
from monograph.bytecode.decoding import decode

COLUMNS = ("program", "native ms", "interpreted ms", "ratio", "steps", "ns/step")
NATIVE_FILES = str(Path(torch.__file__).parent)
ENTERED_FILES = str(Path(torch.nn.__file__).parent / "modules")


class Torchless(Hooks):
    """Enters everything but torch outside `torch.nn.modules`."""

    def __init__(self) -> None:
        self.known: dict[int, bool] = {}

    def enters(self, function) -> bool:
        code = function.__code__
        known = self.known.get(id(code))
        if known is None:
            file = code.co_filename
            known = file.startswith(ENTERED_FILES) or not file.startswith(NATIVE_FILES)
            self.known[id(code)] = known
        return known


def loop() -> int:
    """Add numbers up."""
    total = 0
    for number in range(20_000):
        total += number & 7
    return total


def calls() -> int:
    """Call a function that calls itself."""

    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    return fibonacci(14)


def objects() -> float:
    """Make objects, read their attributes, call their methods and operators."""

    class Vector:
        def __init__(self, x: float, y: float) -> None:
            self.x = x
            self.y = y

        def __add__(self, other: "Vector") -> "Vector":
            return Vector(self.x + other.x, self.y + other.y)

        def norm(self) -> float:
            return self.x * self.x + self.y * self.y

    total = Vector(0.0, 0.0)
    for n in range(500):
        total = total + Vector(n, 1.0)
    return total.norm()


def generators() -> int:
    """Pass values through generators and comprehensions."""

    def numbers(n: int):
        for value in range(n):  # noqa: UP028  (each value passes by)
            yield value

    return sum([value * 2 for value in numbers(3000) if value % 3])


def exceptions() -> int:
    """Raise and handle."""

    def fail(n: int) -> None:
        raise ValueError(n)

    count = 0
    for n in range(300):
        try:
            fail(n)
        except ValueError as error:
            count += len(error.args)
    return count


def forward(name: str) -> Callable[[], object]:
    """Give one forward of a model."""
    case = CASES[name]()

    def run():
        with torch.no_grad():
            return case.module(**case.kwargs)

    return run


def seconds(function: Callable[[], object]) -> float:
    """Run once, and give processor seconds."""
    gc.collect()
    start = time.process_time()
    function()
    return time.process_time() - start


def n_steps(interpreter: Interpreter, function: Callable[[], object]) -> int:
    """Count the instructions of one interpreted run."""
    count = 0

    def counted(handler):
        def step(frame, argument):
            nonlocal count
            count += 1
            return handler(frame, argument)

        return step

    interpreter.call(function)
    kept = [(body, body.steps) for body in links._BODIES.values()]  # noqa: SLF001  (to count)
    for body, steps in kept:
        body.steps = [(counted(handler), argument) for handler, argument in steps]
    try:
        interpreter.call(function)
    finally:
        for body, steps in kept:
            body.steps = steps
    return count


def measure(name: str, function: Callable[[], object], rounds: int) -> tuple[str, ...]:
    """Alternate native and interpreted runs."""
    interpreter = Interpreter(Torchless())
    steps = n_steps(interpreter, function)
    native: list[float] = []
    interpreted: list[float] = []
    for _ in range(rounds):
        native.append(seconds(function))
        interpreted.append(seconds(lambda: interpreter.call(function)))
    extra = statistics.median(interpreted) - statistics.median(native)
    return (
        name,
        f"{milliseconds(native):.2f}",
        f"{milliseconds(interpreted):.2f}",
        f"{milliseconds(interpreted) / max(milliseconds(native), 1e-3):.1f}x",
        str(steps),
        f"{1e9 * extra / steps:.0f}",
    )


def decoding() -> str:
    """Word what decoding costs, on the modules of the standard library that we import anyway."""
    codes: list[CodeType] = []
    for module in (argparse, inspect, statistics):
        todo = [compile(Path(module.__file__).read_text(encoding="utf-8"), "module", "exec")]
        while todo:
            codes.append(todo.pop())
            todo += [const for const in codes[-1].co_consts if isinstance(const, CodeType)]
    start = time.process_time()
    n_instructions = sum(len(decode(code).body) for code in codes)
    spent = time.process_time() - start
    return (
        f"Decoding: {1e6 * spent / n_instructions:.2f} us per instruction, "
        f"{1e6 * spent / len(codes):.0f} us per code object ({len(codes)} code objects), once each."
    )


def main() -> None:
    """Measure every program and every model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--append", action="store_true", help="keep the table in RESULTS.md")
    options = parser.parse_args()
    torch.manual_seed(0)
    programs = {f.__name__: f for f in (loop, calls, objects, generators, exceptions)}
    programs |= {f"forward of {name}": forward(name) for name in CASES}
    results = Results("Interpreting bytecode", COLUMNS, notes=(decoding(),))
    for name, function in programs.items():
        results.rows.append(measure(name, function, options.rounds))
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
