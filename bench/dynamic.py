"""Measure what varying sizes cost: capture with them beside capture without, ours and torch's.

    python -m bench.dynamic [--rounds N] [--only TEXT] [--append]

Processor seconds, medians, all taken by turns in one process, so that a busy moment of the machine
meets all. "Named" gives every axis a `Dim` of its own from 0 on: declared and checked, sizes of 0
and 1 tried, everything solved. Torch's are named too where it exports them so, else `Dim.AUTO`.
"""

import statistics
from collections.abc import Callable

import torch

import monograph
from bench.models import Case
from bench.pairs import seconds
from bench.per_model import measure_models
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


def rows(name: str, case: Case, rounds: int) -> list[tuple[str, ...]]:
    """Measure one model, as plain Python and interpreted."""
    return [measure(name, case, strict=strict, rounds=rounds) for strict in (False, True)]


if __name__ == "__main__":
    measure_models(
        __doc__, Results("Varying sizes beside fixed ones", COLUMNS), rows, only="GPT|Llama"
    )
