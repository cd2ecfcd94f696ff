"""Measure what finding every problem costs: nothing where there is none, else one more run.

    python -m bench.problems [--rounds N] [--append]

Processor seconds, medians, by turns in one process. A model of blocks is exported whole; with a
branch on data in each block, it is refused by our export, which goes on to its end, and by torch's,
which stops at the first; torch's `draft_export` is what goes on there.
"""

import argparse
import statistics
import warnings
from collections.abc import Callable

import torch
from torch import nn
from torch.export import draft_export as torch_draft

import monograph
from bench.pairs import seconds
from bench.results import Results, milliseconds
from monograph.api import Request
from monograph.capture import capture

COLUMNS = (
    "blocks",
    "problems",
    "exports ms",
    "first refusal ms",
    "refused ms",
    "x exports",
    "draft ms",
    "torch refused ms",
    "torch draft ms",
)
WIDTH = 16


class Block(nn.Module):
    """A feed-forward block; if it asks, it branches on its data."""

    def __init__(self, *, asks: bool) -> None:
        super().__init__()
        self.into, self.out = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.asks = asks

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what two layers make."""
        y = self.out(self.into(x).relu())
        if self.asks and y.sum() > 0:
            y = y * 2
        return x + y


def tried(function: Callable[[], object]) -> Callable[[], object]:
    """The function, whose exception is its result."""

    def run() -> object:
        try:
            return function()
        except Exception as error:  # noqa: BLE001 - what a refusal costs is measured
            return error

    return run


def measure(blocks: int, rounds: int) -> tuple[str, ...]:
    """One row of the table."""
    x = (torch.ones(2, WIDTH),)
    torch.manual_seed(0)
    fine = nn.Sequential(*[Block(asks=False) for _ in range(blocks)])
    asking = nn.Sequential(*[Block(asks=True) for _ in range(blocks)])
    functions = {
        "exports": lambda: monograph.export(fine, x, strict=False),
        "first": lambda: capture(Request(asking, x, None, None, strict=False)),
        "refused": lambda: monograph.export(asking, x, strict=False),
        "draft": lambda: monograph.draft_export(asking, x, strict=False),
        "theirs": lambda: torch.export.export(asking, x, strict=False),
        "their draft": lambda: torch_draft(asking, x),
    }
    taken: dict[str, list[float]] = {name: [] for name in functions}
    results: dict[str, object] = {}
    for turn in range(rounds + 1):
        for name, function in functions.items():
            spent, results[name] = seconds(tried(function))
            if turn:
                taken[name].append(spent)
    error = results["refused"]
    assert isinstance(error, monograph.MonographError), error
    met = sum(problem.diagnostic.times for problem in error.problems)
    ms = {name: milliseconds(each) for name, each in taken.items()}
    ratio = statistics.median(taken["refused"]) / statistics.median(taken["exports"])
    return (
        str(blocks),
        f"{len(error.problems)}, met {met} times",
        f"{ms['exports']:.1f}",
        f"{ms['first']:.1f}",
        f"{ms['refused']:.1f}",
        f"{ratio:.1f}",
        f"{ms['draft']:.1f}",
        f"{ms['theirs']:.0f}",
        f"{ms['their draft']:.0f}",
    )


def main() -> None:
    """Measure models of one block to many."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--append", action="store_true", help="append to bench/RESULTS.md")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    results = Results("All problems in one run, plain, beside torch.export", COLUMNS)
    for blocks in (1, 8, 32):
        results.rows.append(measure(blocks, options.rounds))
    results.show()
    if options.append:
        results.append()


if __name__ == "__main__":
    main()
