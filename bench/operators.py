"""Export PyTorch's own samples of its operators and modules with both exporters, and count.

    python -m bench.operators [--only REGEX] [--samples N] [--strict] [--list] [--append]

The samples are OpInfo's and ModuleInfo's; tests/laws says what is compared and where a program is
called. An entry counts by its worst sample. Both exporters take turns, entry by entry, and time is
the processor's, so that other work on the machine touches both alike.
"""

import argparse
import logging
import statistics
import sys
import warnings
from collections.abc import Callable

from bench.results import Results
from tests.laws.database import Entry, modules, operators
from tests.laws.exporting import (
    AGREES,
    ERROR,
    NARROW,
    REFUSED,
    SKIPPED,
    WRONG,
    Exporter,
    Tally,
    judged,
    ours,
    torchs,
)

KINDS = (AGREES, NARROW, REFUSED, ERROR, WRONG)
DATABASES: dict[str, Callable[[str], list[Entry]]] = {"operators": operators, "modules": modules}
Pairs = list[tuple[Tally, Tally]]


def survey(
    entries: list[Entry], count: int, exporters: tuple[Exporter, Exporter], *, dynamic: bool
) -> Pairs:
    """Judge every entry by both; those that eager cannot run here are left out."""
    pairs = []
    for entry in entries:
        mine, other = (judged(entry, count, each, dynamic=dynamic) for each in exporters)
        if mine.worst.kind != SKIPPED:
            pairs.append((mine, other))
    return pairs


def row(name: str, sizes: str, exporter: str, tallies: list[Tally], median: float) -> tuple:
    """One line of the table: entries by verdict, samples that agree, time of one capture."""
    samples = [v for tally in tallies for v in tally.verdicts if v.kind != SKIPPED]
    agree = sum(v.kind == AGREES for v in samples)
    counts = [sum(tally.worst.kind == kind for tally in tallies) for kind in KINDS]
    return (
        f"{name}, {sizes}, {exporter}",
        str(len(tallies)),
        *map(str, counts),
        f"{agree} / {len(samples)}",
        f"{median:.2f}",
    )


def medians(pairs: Pairs) -> tuple[float, float]:
    """Milliseconds of one capture, over the samples that both captured."""
    both = [
        (one.seconds, two.seconds)
        for mine, other in pairs
        for one, two in zip(mine.verdicts, other.verdicts, strict=True)
        if one.seconds and two.seconds
    ]
    if not both:
        return 0.0, 0.0
    left, right = (1000 * statistics.median(times) for times in zip(*both, strict=True))
    return left, right


def report(name: str, sizes: str, pairs: Pairs, exporters: tuple[Exporter, Exporter]) -> list:
    """The two lines of one database."""
    times = medians(pairs)
    return [
        row(name, sizes, exporter.name, [pair[i] for pair in pairs], times[i])
        for i, exporter in enumerate(exporters)
    ]


def listed(pairs: Pairs) -> list[str]:
    """Every entry on which the two differ, or neither agrees."""
    lines = []
    for mine, other in pairs:
        if (mine.worst.kind, other.worst.kind) != (AGREES, AGREES):
            why = mine.worst.why or other.worst.why
            lines.append(f"{mine.name}: {mine.worst.kind}, torch {other.worst.kind}: {why[:120]}")
    return lines


def main() -> None:
    """Run both, show both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="a regular expression for names")
    parser.add_argument("--samples", type=int, default=3, help="of each entry")
    parser.add_argument("--strict", action="store_true", help="interpret, as our default does")
    parser.add_argument("--list", action="store_true", help="name what does not agree")
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    exporters = (ours(strict=options.strict), torchs())
    rows, ratios = [], []
    for name, entries in DATABASES.items():
        for sizes in ("static", "dynamic"):
            found = entries(options.only)
            pairs = survey(found, options.samples, exporters, dynamic=sizes == "dynamic")
            rows += report(name, sizes, pairs, exporters)
            left, right = medians(pairs)
            ratios.append(f"{name}, {sizes}: {right / left:.1f}x" if left else "")
            print("\n".join([f"# {name}, {sizes}", *(listed(pairs) if options.list else [])]))
            sys.stdout.flush()
    results = Results(
        "PyTorch's own samples, beside torch.export (non-strict)",
        ("samples", "entries", *KINDS, "samples that agree", "median ms"),
        rows,
        (
            f"{options.samples} samples of each entry, which counts by its worst.",
            "narrow: right, but other sizes that eager accepts are refused.",
            f"torch's median capture takes as long as ours times: {'; '.join(ratios)}.",
        ),
    )
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
