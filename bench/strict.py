"""Measure interpreted capture beside plain capture and torch.export(strict=True), turn by turn.

    python -m bench.strict [--rounds N] [--only TEXT] [--append]

Processor seconds, medians, everything in one process. "more" is what interpreting adds to plain
capture; "first" is the first interpreted capture, which decodes the bytecode.
"""

import statistics

import torch

import monograph
from bench.capture import seconds
from bench.models import Case
from bench.per_model import measure_models
from bench.results import Results, milliseconds

COLUMNS = ("model", "plain ms", "strict ms", "more ms", "first ms", "torch strict ms", "ratio")


def measure(name: str, case: Case, rounds: int) -> tuple[str, ...]:
    """Alternate our plain capture, our interpreted one, and torch's."""

    def ours(*, strict: bool):
        return monograph.export(case.module, (), case.kwargs, strict=strict)

    functions = {
        "plain": lambda: ours(strict=False),
        "strict": lambda: ours(strict=True),
        "theirs": lambda: torch.export.export(case.module, (), case.kwargs, strict=True),
    }
    functions["plain"]()
    first, program = seconds(functions["strict"])
    assert str(program.graph) == str(functions["plain"]().graph), f"{name}: the graphs differ"
    functions["theirs"]()
    taken: dict[str, list[float]] = {each: [] for each in functions}
    for _ in range(rounds):
        for each, function in functions.items():
            taken[each].append(seconds(function)[0])
    plain, strict = milliseconds(taken["plain"]), milliseconds(taken["strict"])
    ratio = statistics.median(taken["theirs"]) / statistics.median(taken["strict"])
    return (
        name,
        f"{plain:.1f}",
        f"{strict:.1f}",
        f"{strict - plain:.1f}",
        f"{1000 * first:.1f}",
        f"{milliseconds(taken['theirs']):.0f}",
        f"{ratio:.0f}x",
    )


def rows(name: str, case: Case, rounds: int) -> list[tuple[str, ...]]:
    """Measure one model at fixed sizes."""
    return [measure(name, case, rounds)]


if __name__ == "__main__":
    measure_models(
        __doc__, Results("Interpreted capture beside torch.export(strict=True)", COLUMNS), rows
    )
