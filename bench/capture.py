"""Measure capture beside torch.export in one process, turn by turn.

    python -m bench.capture [--rounds N] [--only TEXT] [--append]

Processor seconds, medians; both exporters capture the same module with the same inputs, by turns,
so that a busy moment of the machine meets both. Nodes include placeholders.
"""

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

import monograph
from bench.models import Case
from bench.per_model import measure_models
from bench.results import Results, milliseconds

COLUMNS = (
    "model",
    "sizes",
    "nodes",
    "eager ms",
    "ours ms",
    "torch ms",
    "ratio",
    "x eager",
    "us/node",
)


@dataclass(frozen=True, slots=True)
class Measured:
    """Processor seconds of every round."""

    eager: list[float]
    ours: list[float]
    theirs: list[float]
    n_nodes: int

    @property
    def ratio(self) -> float:
        """How many times faster ours is."""
        return statistics.median(self.theirs) / statistics.median(self.ours)

    def row(self, name: str, sizes: str) -> tuple[str, ...]:
        """Word the numbers."""
        ours, eager = milliseconds(self.ours), milliseconds(self.eager)
        return (
            name,
            sizes,
            str(self.n_nodes),
            f"{eager:.1f}",
            f"{ours:.1f}",
            f"{milliseconds(self.theirs):.0f}",
            f"{self.ratio:.0f}x",
            f"{ours / eager:.2f}",
            f"{1000 * ours / self.n_nodes:.1f}",
        )


def seconds(function: Callable[[], object]) -> tuple[float, object]:
    """Run once, garbage collected beforehand; give processor seconds and the result."""
    gc.collect()
    start = time.process_time()
    result = function()
    return time.process_time() - start, result


def measure(case: Case, *, dynamic: bool, rounds: int) -> Measured:
    """Alternate one eager forward, our capture and torch's."""
    home = torch.export

    def ours():
        shapes = case.dynamic_shapes(monograph.Dim.AUTO) if dynamic else None
        return monograph.export(case.module, (), case.kwargs, dynamic_shapes=shapes, strict=False)

    def theirs():
        shapes = case.dynamic_shapes(home.Dim.AUTO) if dynamic else None
        return home.export(case.module, (), case.kwargs, dynamic_shapes=shapes, strict=False)

    functions = {
        "eager": lambda: case.module(**case.kwargs),
        "ours": ours,
        "theirs": theirs,
    }
    program = ours()
    theirs()
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(rounds):
        for name, function in functions.items():
            taken[name].append(seconds(function)[0])
    return Measured(**taken, n_nodes=len(program.graph.nodes))


def rows(name: str, case: Case, rounds: int) -> list[tuple[str, ...]]:
    """Measure one model, at fixed and at varying sizes."""
    return [
        measure(case, dynamic=dynamic, rounds=rounds).row(name, "dynamic" if dynamic else "static")
        for dynamic in (False, True)
    ]


if __name__ == "__main__":
    measure_models(__doc__, Results("Capture beside torch.export(strict=False)", COLUMNS), rows)
