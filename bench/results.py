"""How a measurement is shown and kept: a table on the terminal, its rows in bench/RESULTS.md."""

import datetime as dt
import os
import platform
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench" / "RESULTS.md"


@dataclass(frozen=True, slots=True)
class Results:
    """A titled table; the first column is text, the others are numbers already worded."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    def show(self) -> None:
        """Print the table, 100 columns wide."""
        table = Table(title=self.title, title_justify="left", header_style="bold", box=SIMPLE_HEAD)
        for place, column in enumerate(self.columns):
            table.add_column(column, justify="right" if place else "left", no_wrap=not place)
        for row in self.rows:
            table.add_row(*row)
        console = Console(width=100)
        console.print(table)
        for note in self.notes:
            console.print(f"[dim]{note}[/dim]")

    def lines(self) -> list[str]:
        """The table, dated, with what it was measured on, as a section of RESULTS.md."""
        lines = [f"## {self.title}, {dt.datetime.now(dt.UTC):%Y-%m-%d}\n", setting()]
        lines += self.notes
        lines.append("\n| " + " | ".join(self.columns) + " |")
        lines.append("|---" + "|---:" * (len(self.columns) - 1) + "|")
        return [*lines, *("| " + " | ".join(row) + " |" for row in self.rows), ""]

    def append(self) -> None:
        """Keep the table in RESULTS.md."""
        insert(self.lines())


def insert(lines: Sequence[str]) -> None:
    """Put a section into RESULTS.md before all others."""
    head, mark, rest = RESULTS.read_text(encoding="utf-8").partition("\n## ")
    text = "\n".join(lines).rstrip("\n")
    RESULTS.write_text(f"{head}\n{text}\n{mark}{rest}", encoding="utf-8")


def setting() -> str:
    """Say what a number was measured on."""
    model = next(
        (
            line.partition(":")[2].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if line.startswith("model name")
        ),
        platform.machine(),
    )
    return (
        f"{model}, {os.cpu_count()} cores, one thread; Python {platform.python_version()}, "
        f"torch {torch.__version__}; commit {commit()}."
    )


def commit() -> str:
    """Name the commit the tree stands at."""
    done = subprocess.run(
        ["git", "describe", "--always", "--dirty"],  # noqa: S607  whichever git the developer has
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout.strip() or "unknown"


def milliseconds(seconds: Sequence[float]) -> float:
    """Give the median, in milliseconds."""
    return 1000 * statistics.median(seconds)
