"""Code metrics with budgets: what a reader has to carry, and how much of it one export enters.

    python -m tools.sizes            # the table; exit 1 where a budget is missed
    python -m tools.sizes --folders  # lines and modules of each folder too

The first half reads the sources alone. The second runs exports under a profiler and counts the
files of ours that are entered, the Python calls, and the frames above a user's layer.
A budget is met by deleting and sharing, never by packing; each says why it is there.
"""

from __future__ import annotations

import argparse
import ast
import re
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grimp
import networkx as nx
from rich.console import Console
from rich.table import Table

SOURCE = Path(__file__).parents[1] / "src" / "monograph"
IGNORE = re.compile(r"# (?:pyright|type): ?ignore")


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: what was measured, the most it may be today, and the most it is to be in the end.

    A budget falls, or decision 0019 says what made it rise; where it is still above the goal,
    DESIGN.md says so among the departures.
    """

    what: str
    value: float
    budget: float | None
    goal: float | None = None
    detail: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the budget holds."""
        return self.budget is None or self.value <= self.budget


# --- what the sources say ------------------------------------------------------------------------


def sources() -> dict[Path, str]:
    """Every module of the package, with its text."""
    return {path: path.read_text() for path in sorted(SOURCE.rglob("*.py"))}


def lines(texts: dict[Path, str]) -> int:
    """All lines of the package: code, docstrings, comments and blank ones."""
    return sum(len(text.splitlines()) for text in texts.values())


def largest_folder(texts: dict[Path, str]) -> tuple[int, str]:
    """The folder with most modules, `__init__` included."""
    (folder, n), *_ = Counter(path.parent for path in texts).most_common(1)
    return n, str(folder.relative_to(SOURCE.parent))


def ignores_per_thousand(texts: dict[Path, str]) -> float:
    """Comments that silence the type checker, per 1,000 lines."""
    n = sum(len(IGNORE.findall(text)) for text in texts.values())
    return round(1000 * n / lines(texts), 2)


def classes_defined_twice(texts: dict[Path, str]) -> list[str]:
    """Names that more than one module gives to a class."""
    places: defaultdict[str, set[Path]] = defaultdict(set)
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                places[node.name].add(path)
    return sorted(name for name, found in places.items() if len(found) > 1)


def largest_knot() -> tuple[int, str]:
    """The largest strongly connected component of the import graph, type-only imports counted."""
    imports = grimp.build_graph("monograph", cache_dir=None)
    graph: Any = nx.DiGraph()
    for module in imports.modules:
        graph.add_edges_from(
            (module, other) for other in imports.find_modules_directly_imported_by(module)
        )
    knots = [knot for knot in nx.strongly_connected_components(graph) if len(knot) > 1]
    largest = max(knots, key=len, default=set[str]())
    return len(largest), " ".join(sorted(each.removeprefix("monograph.") for each in largest))


# --- what one export enters ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Entered:
    """What one export went through: files of ours, calls of ours, frames above a user's layer."""

    files: int
    calls: int
    depth: int


def entered_by_export(*, strict: bool) -> Entered:
    """Profile a warm `export(nn.Linear)`, and one of a user module with a Linear for its depth."""
    import torch  # noqa: PLC0415 - the sources are measured without it

    import monograph  # noqa: PLC0415 - as above

    depths: list[int] = []

    class Layer(torch.nn.Linear):
        def forward(self, input: torch.Tensor) -> torch.Tensor:  # noqa: A002 - as torch names it
            return super().forward(input)

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(3, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.layer(x)

    example = (torch.randn(2, 3),)
    for module in (torch.nn.Linear(3, 4), Model()) * 2:
        monograph.export(module, example, strict=strict)
    calls: Counter[str] = Counter()
    everything = 0

    def count(frame: Any, event: str, _: Any) -> None:
        nonlocal everything
        if event == "call":
            everything += 1
            calls[frame.f_code.co_filename] += 1

    profiled(monograph.export, count, torch.nn.Linear(3, 4), example, strict=strict)
    ours = [file for file in calls if file.startswith(str(SOURCE))]

    def measure(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            depths.append(depth_of(frame))

    profiled(monograph.export, measure, Model(), example, strict=strict)
    return Entered(len(ours), everything, max(depths))


def profiled(function: Any, profile: Any, *args: Any, **kwargs: Any) -> None:
    """Call under a profile function, and leave none behind."""
    sys.setprofile(profile)
    try:
        function(*args, **kwargs)
    finally:
        sys.setprofile(None)


def depth_of(frame: Any) -> int:
    """Frames from here up to that of `export`, both counted."""
    n = 1
    while frame is not None and frame.f_code.co_name != "export":
        frame, n = frame.f_back, n + 1
    return n if frame is not None else 0


def import_ratio() -> float:
    """Processor time of `import monograph`, in that of `import torch` before it, in percent."""
    start = time.process_time()
    import torch  # noqa: F401, PLC0415 - what is timed

    between = time.process_time()
    import monograph  # noqa: F401, PLC0415 - what is timed

    return 100 * (time.process_time() - between) / (between - start)


def figures() -> list[Figure]:
    """Everything measured, with its budget."""
    texts = sources()
    folder, where = largest_folder(texts)
    knot, members = largest_knot()
    twice = classes_defined_twice(texts)
    ratio = import_ratio()
    strict, plain = entered_by_export(strict=True), entered_by_export(strict=False)
    return [
        Figure("lines in src", lines(texts), 123_960, 66_500),
        Figure("modules in the largest folder", folder, 20, 20, where),
        Figure("largest import knot", knot, 4, 4, members),
        Figure("class names defined twice", len(twice), 0, 0, " ".join(twice)),
        Figure(
            "type checker silenced, per 1,000 lines", round(ignores_per_thousand(texts), 2), 1, 1
        ),
        Figure("import monograph, % of import torch", round(ratio, 1), None),
        Figure("files entered by export(nn.Linear), strict", strict.files, 70, 35),
        Figure("files entered by export(nn.Linear), plain", plain.files, 70, 35),
        Figure("Python calls of it, strict", strict.calls, 850, 900),
        Figure("Python calls of it, plain", plain.calls, 890, 900),
        Figure("deepest frame, a user module with a Linear", strict.depth, 38, 16),
    ]


# --- the table -----------------------------------------------------------------------------------


def shown(found: list[Figure]) -> Table:
    """The table as people read it."""
    table = Table(title="monograph, measured")
    for column, justify in (("", "left"), ("now", "right"), ("budget", "right"), ("goal", "right")):
        table.add_column(column, justify=justify)  # type: ignore[arg-type]
    for each in found:
        budget = "" if each.budget is None else f"{each.budget:,g}"
        style = "" if each.is_met else "bold red"
        goal = "" if each.goal is None else f"{each.goal:,g}"
        table.add_row(each.what, f"{each.value:,g}", budget, goal, style=style)
    return table


def folders() -> Table:
    """Lines and modules, folder by folder."""
    table = Table("folder", "modules", "lines")
    found: defaultdict[Path, list[int]] = defaultdict(list)
    for path, text in sources().items():
        found[path.parent].append(len(text.splitlines()))
    for folder, counts in sorted(found.items()):
        name = str(folder.relative_to(SOURCE.parent))
        table.add_row(name, str(len(counts)), f"{sum(counts):,}")
    return table


def main() -> int:
    """Print the table; 1 where a budget is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folders", action="store_true", help="lines and modules of each folder")
    options = parser.parse_args()
    console = Console()
    if options.folders:
        console.print(folders())
    found = figures()
    console.print(shown(found))
    missed = [each for each in found if not each.is_met]
    for each in missed:
        console.print(f"{each.what}: {each.value:g}, budget {each.budget:g}. {each.detail}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
