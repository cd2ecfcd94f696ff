"""Measure run_decompositions() beside torch.export's in one process, turn by turn.

    python -m bench.decompose [--rounds N] [--only TEXT] [--append]

Processor seconds, medians. Each round lowers a program exported anew, which is not measured: once
by ours with nothing remembered from other programs ("new"), once as a process that has lowered it
before does ("again"), and once by torch. Then a plain stack of layers, 64 to 4096 of them.
"""

import argparse
import re
import statistics
import warnings

import torch
from torch import nn

import monograph
from bench.models import CASES, Case
from bench.pairs import seconds
from bench.results import Results, milliseconds
from monograph.passes import core_decompositions

COLUMNS = ("model", "sizes", "nodes", "new ms", "again ms", "torch ms", "ratio new", "ratio again")
DEPTHS = (64, 256, 1024, 4096)


def exported(case: Case, home: object, *, dynamic: bool) -> object:
    """Export with one of the two exporters."""
    shapes = case.dynamic_shapes(home.Dim.AUTO) if dynamic else None
    return home.export(case.module, (), case.kwargs, dynamic_shapes=shapes, strict=False)


def measure(case: Case, *, dynamic: bool, rounds: int) -> tuple[dict[str, list[float]], int]:
    """Alternate ours, ours again and torch's; give seconds of each, and how many nodes result."""
    taken: dict[str, list[float]] = {"new": [], "again": [], "torch": []}
    n_nodes = 0
    for turn in range(rounds + 1):
        ours = exported(case, monograph, dynamic=dynamic)
        theirs = exported(case, torch.export, dynamic=dynamic)
        core_decompositions.cache_clear()
        spent = {"new": seconds(ours.run_decompositions)[0]}
        again, lowered = seconds(exported(case, monograph, dynamic=dynamic).run_decompositions)
        spent |= {"again": again, "torch": seconds(theirs.run_decompositions)[0]}
        n_nodes = len(lowered.graph.nodes)
        if turn:  # the first imports
            for name, value in spent.items():
                taken[name].append(value)
    return taken, n_nodes


def row(name: str, sizes: str, taken: dict[str, list[float]], n_nodes: int) -> tuple[str, ...]:
    """Word the numbers."""
    new, again, theirs = (milliseconds(taken[key]) for key in ("new", "again", "torch"))
    return (
        name,
        sizes,
        str(n_nodes),
        f"{new:.1f}",
        f"{again:.1f}",
        f"{theirs:.0f}",
        f"{theirs / new:.0f}x",
        f"{theirs / again:.0f}x",
    )


def depth_rows(rounds: int) -> list[tuple[str, ...]]:
    """Ours alone on stacks of Linear and GELU: time over depth."""
    rows: list[tuple[str, ...]] = []
    first = 0.0
    for depth in DEPTHS:
        layers = [layer for _ in range(depth // 2) for layer in (nn.Linear(8, 8), nn.GELU())]
        program = monograph.export(nn.Sequential(*layers), (torch.randn(2, 8),))
        program.run_decompositions()
        spent = [seconds(program.run_decompositions)[0] for _ in range(rounds)]
        first = first or statistics.median(spent)
        ratio = statistics.median(spent) / first
        nodes = str(len(program.graph.nodes))
        rows.append((str(depth), nodes, f"{milliseconds(spent):.1f}", f"{ratio:.1f}"))
    return rows


def main() -> None:
    """Measure every case, at fixed and at varying sizes, and then the depth of a stack."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="a part of the model's name")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)

    notes = ('"new": nothing is remembered; "again": the process has lowered the model before.',)
    title = "Lowering to core ATen beside torch's run_decompositions()"
    results = Results(title, COLUMNS, notes=notes)
    for name, make in CASES.items():
        if not re.search(options.only, name, re.IGNORECASE):
            continue
        case = make()
        for dynamic in (False, True):
            taken, n_nodes = measure(case, dynamic=dynamic, rounds=options.rounds)
            results.rows.append(row(name, "dynamic" if dynamic else "static", taken, n_nodes))
    depths = Results("Lowering stacks of layers", ("layers", "nodes", "ms", "times the first"))
    depths.rows.extend(depth_rows(options.rounds))
    for each in (results, depths):
        each.show()
        if options.append:
            each.append()


if __name__ == "__main__":
    main()
