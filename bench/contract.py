"""Measure what a call costs beside its operators: the checks alone, and all of `module()`.

    python -m bench.contract [--rounds N] [--append]

Microseconds of processor time a call, medians over rounds that alternate. The programs add one to
their first input, so what eager takes for that is taken off; "torch" is torch.export's module of
the same program.
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import torch

import monograph
from bench.results import Results
from monograph.program import compile_checks

CALLS = 300
COLUMNS = ("program", "checks µs", "allowed", "module µs", "unchecked µs", "torch µs", "ratio")


class First(torch.nn.Module):
    """Adds one to the first of its inputs."""

    def forward(self, xs):
        return xs[0] + 1


class Written(torch.nn.Module):
    """Writes to the first of its inputs, and reads the others."""

    def forward(self, xs):
        xs[0].add_(1)
        return xs[0] if len(xs) == 1 else xs[-1] + 1


class Asking(torch.nn.Module):
    """Asks every input for its layout and its sizes."""

    def forward(self, xs):
        for x in xs:
            if not x.is_contiguous() or x.shape[0] < 2:
                return x
        return xs[0] + 1


@dataclass(frozen=True, slots=True)
class Case:
    """A program of a number of inputs."""

    name: str
    module: torch.nn.Module
    count: int
    is_dynamic: bool = False
    lowers: bool = False

    @property
    def allowed(self) -> int:
        """What the checks may take, in microseconds: 15 for 3 tensors, 60 for 100."""
        return 15 if self.count <= 3 else 60

    def inputs(self) -> tuple:
        """One list of small matrices."""
        return ([torch.randn(4, 5) for _ in range(self.count)],)

    def shapes(self, dim: type) -> tuple | None:
        """Every size is dynamic, or none."""
        return ([{0: dim.AUTO, 1: dim.AUTO}] * self.count,) if self.is_dynamic else None


CASES = [
    Case(f"{count} tensors, {what}", module(), count, is_dynamic=dynamic, lowers=lowers)
    for count in (3, 100)
    for what, module, dynamic, lowers in (
        ("fixed sizes", First, False, False),
        ("open sizes", First, True, False),
        ("layouts asked", Asking, True, False),
        ("one written, lowered", Written, False, True),
    )
]


def per_call(function: Callable[[], object]) -> float:
    """Microseconds for one call."""
    start = time.thread_time()
    for _ in range(CALLS):
        function()
    return (time.thread_time() - start) / CALLS * 1e6


def measure(case: Case, rounds: int) -> tuple[str, ...]:
    """Alternate the checks, our module with and without them, torch's, and eager."""
    args = case.inputs()
    ours = monograph.export(case.module, args, dynamic_shapes=case.shapes(monograph.Dim))
    shapes = case.shapes(torch.export.Dim)
    theirs = torch.export.export(case.module, args, dynamic_shapes=shapes)
    if case.lowers:
        ours, theirs = ours.run_decompositions(), theirs.run_decompositions()
    check, leaves = compile_checks(ours.contract), tuple(args[0])
    module, unchecked, torchs = ours.module(), ours.module(check=False), theirs.module()
    functions = {
        "checks": lambda: check(leaves),
        "module": lambda: module(*args),
        "unchecked": lambda: unchecked(*args),
        "torch": lambda: torchs(*args),
        "eager": lambda: case.module(*args),
    }
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for function in functions.values():
        per_call(function)
    for _ in range(rounds):
        for name, function in functions.items():
            taken[name].append(per_call(function))
    median = {name: statistics.median(times) for name, times in taken.items()}
    beside = {name: median[name] - median["eager"] for name in ("module", "unchecked", "torch")}
    return (
        case.name,
        f"{median['checks']:.1f}",
        str(case.allowed),
        *(f"{each:.1f}" for each in beside.values()),
        f"{beside['torch'] / beside['module']:.1f}x",
    )


def main() -> None:
    """Measure every case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)

    notes = ("Microseconds a call on top of eager's; 'checks' is the contract alone.",)
    results = Results("What a call costs beside its operators", COLUMNS, notes=notes)
    results.rows.extend(measure(case, options.rounds) for case in CASES)
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
