"""Measure what varying sizes cost: capture with them beside capture without, ours and torch's.

    python -m bench.dynamic [--rounds N] [--only TEXT] [--append]

Processor seconds, medians, all taken by turns in one process, so that a busy moment of the machine
meets all. "Named" gives every axis a `Dim` of its own from 0 on: declared and checked, sizes of 0
and 1 tried, everything solved. Torch's are named too where it exports them so, else `Dim.AUTO`.
"""

import argparse
import re
import statistics
import warnings
from collections.abc import Callable

import torch

import monograph
from bench.capture import seconds
from bench.models import CASES, Case
from bench.results import Results, milliseconds

COLUMNS = (
    "model",
    "code",
    "static ms",
    "AUTO ms",
    "named ms",
    "AUTO / static",
    "named / static",
    "torch's",
    "torch / named",
)


def named(case: Case, dim: type) -> dict[str, dict[int, object]]:
    """Give every axis a Dim by its name."""
    made = {name: dim(name) for axes in case.axes.values() for name in axes.values()}
    return {
        argument: {axis: made[name] for axis, name in axes.items()}
        for argument, axes in case.axes.items()
    }


def exporter(home: object, case: Case, shapes: object, *, strict: bool) -> Callable[[], object]:
    """One export of the case."""
    return lambda: home.export(case.module, (), case.kwargs, dynamic_shapes=shapes, strict=strict)


def torchs_own(case: Case) -> dict[str, Callable[[], object]]:
    """Torch's exports without and with varying sizes, named if it takes them so."""
    home = torch.export
    static = exporter(home, case, None, strict=False)
    dynamic = exporter(home, case, named(case, home.Dim), strict=False)
    try:
        dynamic()
    except Exception:  # noqa: BLE001 - whatever it refuses, it is measured at what it takes
        dynamic = exporter(home, case, case.dynamic_shapes(home.Dim.AUTO), strict=False)
    return {"torch static": static, "torch dynamic": dynamic}


def measure(name: str, case: Case, *, strict: bool, rounds: int) -> tuple[str, ...]:
    """Alternate all exports; give a row."""
    shapes = {
        "static": None,
        "AUTO": case.dynamic_shapes(monograph.Dim.AUTO),
        "named": named(case, monograph.Dim),
    }
    functions = {
        label: exporter(monograph, case, each, strict=strict) for label, each in shapes.items()
    } | torchs_own(case)
    for function in functions.values():
        function()
    taken: dict[str, list[float]] = {label: [] for label in functions}
    for _ in range(rounds):
        for label, function in functions.items():
            taken[label].append(seconds(function)[0])
    middle = {label: statistics.median(each) for label, each in taken.items()}
    return (
        name,
        "interpreted" if strict else "plain",
        *(f"{milliseconds(taken[label]):.1f}" for label in shapes),
        f"{middle['AUTO'] / middle['static']:.2f}x",
        f"{middle['named'] / middle['static']:.2f}x",
        f"{middle['torch dynamic'] / middle['torch static']:.2f}x",
        f"{middle['torch dynamic'] / middle['named']:.0f}x",
    )


def main() -> None:
    """Measure every case, as plain Python and interpreted."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="GPT|Llama", help="a part of the model's name")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    results = Results("Varying sizes beside fixed ones", COLUMNS)
    for name, make in CASES.items():
        if re.search(options.only, name, re.IGNORECASE):
            case = make()
            for strict in (False, True):
                row = measure(name, case, strict=strict, rounds=options.rounds)
                results.rows.append(row)
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
