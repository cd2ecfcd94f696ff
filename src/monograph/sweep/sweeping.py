"""Sweeps: every model of a list in a process of its own, and what became of them beside last time.

What was found is kept in a folder, model by model, so that a sweep that was ended goes on where it
was, and one whose models did not change is over at once (decision 0056).
"""

from __future__ import annotations

import hashlib
import os
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.factories import NotThereError
from monograph.lazy_imports import deferred
from monograph.sweep.models import preloaded, read_models, task_of
from monograph.sweep.ray_cluster import run_on_ray
from monograph.sweep.results import REPORT, ResultStore, Sweep, read_report
from monograph.sweep.workers import names_in_table, run_locally

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_write_reports = deferred("monograph.sweep.reports:write_reports")
OURS: Final = "monograph"
EXPORTERS: Final = (OURS, "torch.export")
CHANGES: Final = ("regressed", "fixed", "changed", "new", "gone")
"""In the order of reports. Regressed: it passed last time, or its program was not wrong."""
PREVIOUS: Final = "previous.json"


def sweep(
    models: str | Path | Mapping[str, Any],
    folder: str | Path = "sweep",
    *,
    exporter: str = OURS,
    processes: int | None = None,
    ray: str | None = None,
    fresh: bool = False,
    keep: bool = False,
    against: str | Path | None = None,
    watch: Callable[[dict[str, Any], dict[str, Any]], None] = lambda _, __: None,
    **options: Any,
) -> Sweep:
    """Capture, verify, lower and convert a list of models, each in a process of its own.

    `models` is a TOML file, a Python file with a table of factories, a folder of such files, or a
    dict of places by name. Reports are written to `folder`, and a result for each model; what is
    there already, for the same model, source, options and versions, is not done again unless
    `fresh`. `keep` has the programs written there, too. `options` for all models are `dynamic`,
    `strict`, `samples` (calls to compare), `convert` (a list of systems), `seconds` (of processor
    time, and five times that of wall time) and `memory` (resident, in GB).

    `exporter="torch.export"` adds what that makes of the models. `processes` run at once; `ray` is
    the cluster that models run on, or `local`. `against` is the `report.json` to compare with.

    Raises: NotThereError (a list, file or cluster that is not there; a folder in use).
    """
    if exporter not in EXPORTERS:
        raise NotThereError(f"exporters are {', '.join(EXPORTERS)}; not {exporter}")
    last = None if against is None else read_report(Path(against))
    if against is not None and last is None:
        raise NotThereError(f"{against} is no report of a sweep")
    folder, preload = Path(folder), preloaded(models)
    with closing(ResultStore(folder)) as store:
        listed = read_models(models, names_in_table, options)
        kept = str((folder / "programs").resolve()) if keep else ""
        exporters = dict.fromkeys((OURS, exporter))
        tasks = [task_of(each, one, keep=kept) for one in exporters for each in listed]
        found = {task["key"]: None if fresh else store.find(task["key"]) for task in tasks}
        records = {key: record for key, record in found.items() if record is not None}
        for task in tasks:
            if task["key"] in records:
                watch(task, records[task["key"]])
        processors = os.cpu_count() or 1
        count = processes or processors
        threads = 1 if ray else max(1, processors // count)
        todo = {each["key"]: each for each in tasks if each["key"] not in records}
        asked = [{**each, "threads": threads} for each in todo.values()]
        run = (
            run_locally(asked, count, preload, watch)
            if ray is None
            else run_on_ray(asked, ray, processes, preload, watch)
        )
        with closing(run):
            for task, record in run:
                if record["verdict"] != "worker-died":
                    store.put(task["key"], record)
                records[task["key"]] = record
                watch(task, record)
        outcome = _compared(tasks, records, folder, last)
        _write_reports(outcome, folder)  # imports PyTorch
    return outcome


def _compared(
    tasks: Sequence[dict[str, Any]],
    records: Mapping[str, dict[str, Any]],
    folder: Path,
    last: dict[str, Any] | None,
) -> Sweep:
    """The sweep beside the one before it: the last in the folder of other models or versions."""
    results = [
        {name: each[name] for name in ("name", "place", "exporter", "key")}
        | {name: value for name, value in records[each["key"]].items() if name != "format"}
        for each in tasks
    ]
    ours = tuple([each for each in results if each["exporter"] == OURS])
    identity = hashlib.sha256(" ".join([each["key"] for each in tasks]).encode()).hexdigest()[:16]
    latest = read_report(folder / REPORT)
    if latest is not None and latest["sweep"] != identity:
        (folder / REPORT).replace(folder / PREVIOUS)
    before = last or read_report(folder / PREVIOUS) or {"results": []}
    by_name = {each["name"]: each for each in before["results"]}
    changes: dict[str, list[str]] = {kind: [] for kind in CHANGES}
    for each in ours:
        kind = _change(by_name[each["name"]], each) if each["name"] in by_name else "new"
        if kind and by_name:
            changes[kind].append(each["name"])
    names = {each["name"] for each in ours}
    changes["gone"] = [name for name in by_name if name not in names]
    peers = tuple([each for each in results if each["exporter"] != OURS])
    return Sweep(identity, ours, peers, changes, by_name)


def _change(before: dict[str, Any], now: dict[str, Any]) -> str:
    if now["verdict"] != before["verdict"]:
        if before["verdict"] == "passed" or now["verdict"] == "different":
            return "regressed"
        if now["verdict"] == "passed":
            return "fixed"
    old, new = ([each["name"] for each in one["problems"]] for one in (before, now))
    return "changed" if old != new or now["verdict"] != before["verdict"] else ""


__all__ = ["CHANGES", "EXPORTERS", "PREVIOUS", "sweep"]
