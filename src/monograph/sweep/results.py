"""The result store of sweeps: a file per model, named by its key and written atomically.

Law: a result that was given is on disk before the next one is waited for; a file that is cut off is
no result; one process at a time writes to a folder.
"""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from monograph.factories import NotThereError
from monograph.sweep.models import versions

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = 1
"""Of records and of `report.json`: counts changes that a reader of an earlier form trips over."""

REPORT: Final = "report.json"


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep found.

    `results` are records in the order of the list: `name`, `verdict`, `stage`, `problems`, `sizes`,
    and `measured`, which alone differs from run to run. `peers` are those of the other exporter.
    `changes` gives the names of models by how they differ from the sweep before.
    """

    identity: str
    results: tuple[dict[str, Any], ...]
    peers: tuple[dict[str, Any], ...] = ()
    changes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    before: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]], repr=False)

    def __bool__(self) -> bool:
        return all(each["verdict"] == "passed" for each in self.results)

    @property
    def counts(self) -> dict[str, int]:
        """How many models have each verdict."""
        verdicts = [each["verdict"] for each in self.results]
        return {name: verdicts.count(name) for name in sorted(set(verdicts))}

    @property
    def groups(self) -> dict[str, list[str]]:
        """The names of models by the names of their problems, the most frequent first."""
        found: dict[str, list[str]] = {}
        for each in self.results:
            for name in dict.fromkeys(problem["name"] for problem in each["problems"]):
                found.setdefault(name, []).append(each["name"])
        return dict(sorted(found.items(), key=lambda item: (-len(item[1]), item[0])))

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON has it."""
        return {
            "format": FORMAT,
            "sweep": self.identity,
            "versions": versions(),
            "counts": self.counts,
            "changes": self.changes,
            "groups": self.groups,
            "results": list(self.results),
            "peers": list(self.peers),
        }


class ResultStore:
    """The results in a folder, which this process has for itself until `close`.

    Raises: NotThereError (another sweep has it).
    """

    def __init__(self, folder: Path) -> None:
        self._results = folder / "results"
        self._results.mkdir(parents=True, exist_ok=True)
        self._lock = (folder / "lock").open("w")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._lock.close()
            raise NotThereError(f"another sweep is running in {folder}") from None
        for left in self._results.glob("*.part"):
            left.unlink()

    def find(self, key: str) -> dict[str, Any] | None:
        """The record of a key, if there is a whole one."""
        found = _read(self._results / f"{key}.json")
        return found if found is not None and found.get("key") == key else None

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Write a record; what was there before is there until this is whole."""
        kept = {"format": FORMAT, "key": key, **record}
        write_whole(self._results / f"{key}.json", json.dumps(kept, indent=1))

    def close(self) -> None:
        """Leave the folder to others."""
        self._lock.close()


def read_report(path: Path) -> dict[str, Any] | None:
    """The report of a sweep; None where there is none that is whole."""
    found = _read(path)
    return found if found is not None and {"sweep", "results"} <= found.keys() else None


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("format") == FORMAT else None


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole, or as it was."""
    part = path.with_name(f"{path.name}.part")
    with part.open("w", encoding="utf-8", errors="replace") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


__all__ = ["FORMAT", "REPORT", "ResultStore", "Sweep", "read_report", "write_whole"]
