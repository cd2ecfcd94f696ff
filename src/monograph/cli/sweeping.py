"""The command that goes through a list of models: `monograph sweep models.toml`."""

from __future__ import annotations

import json
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from monograph.cli.output import RIGHT, WRONG, complain, is_quiet, say, verb
from monograph.lazy_imports import deferred, resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_sweep = deferred("monograph.sweep:sweep")
INTERRUPTED = 130
"""As shells have it: 128 and the number of SIGINT."""
SHOWN = 12


@verb
def sweep(
    models: str,
    folder: str,
    *,
    only_regressions: bool = False,
    as_json: bool = False,
    **options: Any,
) -> int:
    """Go through a list of models; give the exit status: whether all passed, or none regressed."""
    try:
        with live_table() as watch:
            found = _sweep(models, folder, watch=watch, **options)
    except KeyboardInterrupt:
        complain(f"interrupted; what is done is in {folder}: the same command goes on")
        return INTERRUPTED
    if as_json:
        say(json.dumps(found.as_dict(), indent=1))
    else:
        for kind, names in found.changes.items():
            say(f"{kind}: {', '.join(names)}") if names else None
        for name, names in found.groups.items():
            say(f"{name}: {', '.join(names)}")
        counts = ", ".join([f"{n} {verdict}" for verdict, n in found.counts.items()])
        say(f"{len(found.results)} models: {counts}; {folder}/report.html")
    wrong = found.changes["regressed"] if only_regressions else not found
    return WRONG if wrong else RIGHT


@contextmanager
def live_table() -> Generator[Callable[[dict[str, Any], dict[str, Any]], None]]:
    """A table of what runs and of what ended last, in a terminal, unless quiet."""
    if is_quiet() or not sys.stderr.isatty():
        yield lambda _, __: None
        return
    console: Any = resolved("rich.console:Console")(stderr=True)
    table = LiveTable(resolved("rich.table:Table"), resolved("rich.text:Text"))
    with resolved("rich.live:Live")(table, console=console, refresh_per_second=4):
        yield table.watch


class LiveTable:
    """Rows of models, drawn anew several times a second by rich, in another thread."""

    def __init__(self, table: Callable[..., Any], text: Callable[..., Any]) -> None:
        self._table, self._text = table, text
        self._running: dict[str, tuple[str, float]] = {}
        self._ended: dict[str, tuple[str, str, float]] = {}

    def watch(self, task: dict[str, Any], told: dict[str, Any]) -> None:
        """Take what is known of a model: where it is, or its record."""
        name = f"{task['name']} ({task['exporter']})"
        if "at" in told:
            _, start = self._running.get(name, ("", time.monotonic()))
            self._running[name] = told["at"], start
            return
        self._running.pop(name, None)
        problems = ", ".join([each["name"] for each in told["problems"]])
        seconds = sum(told["measured"]["seconds"].values())
        self._ended[name] = told["verdict"], problems, seconds

    def __rich__(self) -> Any:
        counts: dict[str, int] = {}
        for verdict, _, _ in [*self._ended.values()]:
            counts[verdict] = counts.get(verdict, 0) + 1
        said = ", ".join([f"{n} {verdict}" for verdict, n in counts.items()])
        table = self._table("model", "verdict", "problem", "s", title=said or "starting")
        for name, (verdict, problems, seconds) in [*self._ended.items()][-SHOWN:]:
            style = "" if verdict == "passed" else "red"
            cells = name, verdict, problems, f"{seconds:.1f}"
            table.add_row(*map(self._text, cells), style=style)  # names are no markup
        for name, (stage, start) in [*self._running.items()]:
            cells = name, f"{stage} ...", "", f"{time.monotonic() - start:.0f}"
            table.add_row(*map(self._text, cells), style="dim")
        return table


__all__ = ["LiveTable", "live_table", "sweep"]
