"""What capturing both ways of conditions costs, beside capturing the longest way alone.

    python -m bench.control_flow --append

Each program is captured as it is, and with its conditions asked but known: then capture follows
one way. Both are taken in turn, the smallest of several times each.
"""

from __future__ import annotations

import argparse
import linecache
import time
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

import monograph
from bench.results import Results

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 8
CHAINS = {
    "one operator": ("if {asked}:\n    y = y + {k}\n", (True, None)),
    "a layer": ("if {asked}:\n    y = self.layer(y, {k})\n", (True, None)),
    "a layer on either side": (
        "if {asked}:\n    y = self.layer(y, {k})\nelse:\n    y = self.other(y, {k})\n",
        (True, None),
    ),
    "a layer, and a return": (
        "if {asked}:\n    return y\ny = self.layer(y, {k})\n",
        (False, None),
    ),
    "a layer, a return under two": (
        (
            "if {asked}:\n    if {asked_too}:\n        return y\n    y = self.other(y, {k})\n"
            "y = self.layer(y, {k})\n"
        ),
        (True, False),
    ),
}
"""A piece of each program, whose conditions are on data, and the answers of its longest way."""


class Layers(nn.Module):
    """What the pieces call."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(SIZE, 2 * SIZE), nn.Linear(2 * SIZE, SIZE)
        self.norm = nn.LayerNorm(SIZE)

    def layer(self, y: Any, k: int) -> Any:
        """Compute something."""
        return y + self.down(torch.nn.functional.gelu(self.up(self.norm(y)))) * k

    def other(self, y: Any, k: int) -> Any:
        """Compute something else of the same length."""
        return y - self.down(torch.nn.functional.silu(self.up(self.norm(y)))) / (k + 1)


def program(kind: str, n: int, *, longest: bool = False) -> nn.Module:
    """A chain of n conditions on data; of its `longest` way, where they are asked but known."""
    text, answers = CHAINS[kind]
    lines = ["def forward(self, y):"]
    for k in range(n):
        asked, too = (f"y[{row}, {k % SIZE}] > {k}" for row in (0, 1))
        if longest:
            asked, too = map(_known, (asked, too), answers)
        piece = text.format(asked=asked, asked_too=too, k=k)
        lines += [f"    {line}" for line in piece.splitlines()]
    source = "\n".join([*lines, "    return y", ""])
    name = f"<{kind} {n} {longest}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)  # noqa: S102 - it is written above
    return type("Chain", (Layers,), {"forward": names["forward"]})()


def _known(condition: str, answer: bool | None) -> str:  # noqa: FBT001 - the condition's answer
    """A condition that computes what it asked, and has this answer whatever that is."""
    return f"({condition}) is not None" if answer else f"({condition}) is None"


def seconds(capture: Callable[[], object]) -> float:
    """How long it takes, whatever else the machine does meanwhile."""
    before = time.process_time()
    capture()
    return time.process_time() - before


def measured(kind: str, n: int, times: int) -> tuple[float, float]:
    """Seconds for both ways of every condition, and for the longest way."""
    example = (torch.ones(2, SIZE),)
    modules = [program(kind, n), program(kind, n, longest=True)]
    found: list[list[float]] = [[], []]
    for _ in range(times):
        for module, spent in zip(modules, found, strict=True):
            spent.append(seconds(lambda module=module: monograph.export(module, example)))
    both, one = map(min, found)
    return both, one


def main() -> None:
    """Print a line for each kind of program and number of conditions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conditions", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--times", type=int, default=7)
    parser.add_argument("--append", action="store_true", help="write the table to RESULTS.md")
    chosen = parser.parse_args()
    table = Results(
        "Both ways of conditions beside the longest way",
        ("each condition", "conditions", "both, ms", "longest, ms", "ratio"),
        notes=(f"Whole exports, taken in turn; the processor's time, smallest of {chosen.times}.",),
    )
    for kind in CHAINS:
        for n in chosen.conditions:
            both, one = measured(kind, n, chosen.times)
            numbers = (both * 1e3, one * 1e3, both / one)
            table.rows.append((kind, str(n), *(f"{number:.1f}" for number in numbers)))
    table.show()
    if chosen.append:
        table.append()


if __name__ == "__main__":
    main()
