"""What capturing both ways of conditions costs, beside capturing the longest way alone.

    python -m bench.control_flow

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

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 8
CHAINS = {
    "one operator": "if {asked}:\n    y = y + {k}\n",
    "a layer": "if {asked}:\n    y = self.layer(y, {k})\n",
    "a layer on either side": (
        "if {asked}:\n    y = self.layer(y, {k})\nelse:\n    y = self.other(y, {k})\n"
    ),
    "a layer, and a return": "if {asked}:\n    return y\ny = self.layer(y, {k})\n",
    "a layer, a return under two": (
        "if {asked}:\n    if {asked_too}:\n        return y\n    y = self.other(y, {k})\n"
        "y = self.layer(y, {k})\n"
    ),
}
"""A piece of each program: the condition is on data, or known."""


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


def program(kind: str, n: int, *, known: bool | None) -> nn.Module:
    """A chain of n conditions; all of them the same, if `known`."""
    lines = ["def forward(self, y):"]
    for k in range(n):
        asked, too = f"y[0, {k % SIZE}] > {k}", f"y[1, {k % SIZE}] > {k}"
        if known is not None:
            asked, too = (f"({each}) is None or {known}" for each in (asked, too))
            asked = f"({asked})" if known else f"({asked}) and False"
        piece = CHAINS[kind].format(asked=asked, asked_too=too, k=k)
        lines += [f"    {line}" for line in piece.splitlines()]
    source = "\n".join([*lines, "    return y", ""])
    name = f"<{kind} {n} {known}>"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    names: dict[str, Any] = {}
    exec(compile(source, name, "exec"), names)  # noqa: S102 - it is written above
    return type("Chain", (Layers,), {"forward": names["forward"]})()


def seconds(capture: Callable[[], object]) -> float:
    """How long it takes."""
    before = time.perf_counter()
    capture()
    return time.perf_counter() - before


def measured(kind: str, n: int, times: int) -> tuple[float, float]:
    """Seconds for both ways of every condition, and for the longest way."""
    example = (torch.ones(2, SIZE),)
    forked = program(kind, n, known=None)
    single = [program(kind, n, known=known) for known in (True, False)]
    if "return" in kind:
        single = single[1:]
    found: dict[int, list[float]] = {}
    for _ in range(times):
        for i, module in enumerate([forked, *single]):
            spent = seconds(lambda module=module: monograph.export(module, example))
            found.setdefault(i, []).append(spent)
    both, *one = (min(each) for each in found.values())
    return both, max(one)


def main() -> None:
    """Print a line for each kind of program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--conditions", type=int, default=40)
    parser.add_argument("--times", type=int, default=5)
    chosen = parser.parse_args()
    print(f"{'capture of ' + str(chosen.conditions) + ' conditions':34} both   one  ratio")
    for kind in CHAINS:
        both, one = measured(kind, chosen.conditions, chosen.times)
        print(f"{kind:34} {both * 1e3:5.0f} {one * 1e3:5.0f} ms {both / one:5.1f}")


if __name__ == "__main__":
    main()
