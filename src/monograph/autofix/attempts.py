"""An attempt to export what a place names, in a process of its own: what it is asked and answers.

Both are JSON: the process that asks imports no PyTorch, and user code that crashes ends only its
own process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from monograph.diagnostics import Edit

if TYPE_CHECKING:
    from collections.abc import Mapping

Ending = Literal["exported", "refused", "raised", "missing"]
"""`raised`: user code did; `missing`: the place names nothing that is exported."""


@dataclass(frozen=True, slots=True)
class AttemptRequest:
    """What to export: a script, or a factory; with `edited` in the place of what files hold.

    `before` are fingerprints of what the module gave at its example inputs, to compare with;
    `save` is where the program is written; `verify` a program to compare the module with instead,
    where `may_raise` says that one of the two may raise where the other does not.
    """

    place: str
    dynamic: str | None = None
    strict: bool = True
    edited: Mapping[str, str] = field(default_factory=dict[str, str])
    before: Any = None
    save: str = ""
    verify: str = ""
    may_raise: bool = False


@dataclass(frozen=True, slots=True)
class OfferedRefusal:
    """One problem of an export, with the edits that it offers.

    `line` is the text of the user's innermost line. `dynamic` is a repaired `--dynamic`.
    """

    name: str
    headline: str
    where: str
    function: str
    line: str
    edits: tuple[Edit, ...] = ()
    dynamic: str = ""

    @property
    def key(self) -> tuple[str, ...]:
        """The same for the same problem, wherever its line moved."""
        return self.name, self.headline, self.function, self.line


@dataclass(frozen=True, slots=True)
class Attempt:
    """What came of an export. `unlike` says how the module itself gives something else now."""

    ending: Ending
    message: str = ""
    problems: tuple[OfferedRefusal, ...] = ()
    eager: Any = None
    unlike: str = ""
    right: bool = False

    def text(self) -> str:
        """As JSON."""
        return json.dumps(asdict(self))


def attempt(request: AttemptRequest) -> Attempt:
    """Make a request in a process of its own, and wait for what comes of it."""
    with tempfile.TemporaryDirectory(prefix="monograph-fix-") as folder:
        asked, answered = Path(folder, "asked.json"), Path(folder, "answered.json")
        asked.write_text(json.dumps(asdict(request)), encoding="utf-8")
        ours = str(Path(__file__).parents[2])
        script = (
            f"import sys; sys.path.append({ours!r}); "
            "from monograph.autofix.exporting import main; main(*sys.argv[1:])"
        )
        done = subprocess.run(  # noqa: S603  (this interpreter, on the user's own script)
            [sys.executable, "-c", script, str(asked), str(answered)],
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if answered.is_file():
            return _read(answered.read_text(encoding="utf-8"))
        last = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        return Attempt("raised", f"{request.place} ended before its export did: {last}")


def _read(text: str) -> Attempt:
    found = json.loads(text)
    problems = [_refusal(each) for each in found.pop("problems")]
    return Attempt(**found, problems=tuple(problems))


def _refusal(found: dict[str, Any]) -> OfferedRefusal:
    edits: list[dict[str, Any]] = [
        {**each, "lines": tuple(each["lines"])} for each in found["edits"]
    ]
    found["edits"] = tuple([Edit(**each) for each in edits])
    return OfferedRefusal(**found)


__all__ = ["Attempt", "AttemptRequest", "Ending", "OfferedRefusal", "attempt"]
