"""The stages of one model: made, captured, verified, lowered, saved, converted; timed and judged.

This runs in the process of the model. What is known so far is told at the start of each stage, so
that whoever supervises it can say where a process that crashed or hung was.
"""

from __future__ import annotations

import os
import random
import runpy
import sys
import tempfile
import time
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph import api
from monograph.archive import load, save
from monograph.conversions import converted
from monograph.diagnostics import MonographError, place
from monograph.factories import Made, NotThereError, factory, made, made_of, of_transformers
from monograph.lazy_imports import deferred
from monograph.report.sarif import sarif_results
from monograph.sweep.processes import without_addresses
from monograph.verification import compare, verify

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from monograph.sweep.processes import Told

_captured_by_torch: Final = deferred("monograph.interop.peer:captured_by_torch")
_from_torch: Final = deferred("monograph.interop:from_torch")
_save_of_torch: Final = deferred("torch.export:save")
VERDICTS: Final = {"make": "no-model", "capture": "refused"}
"""What a model is that does not get beyond a stage; of all later ones, `failed`."""
TEXT: Final = 6000
"""So many characters of a message are kept."""


class _ExportedError(BaseException):
    """Ends a script at its first export, with what that was given."""

    def __init__(self, given: Made) -> None:
        self.given = given


class _DifferentError(Exception):
    """The program is not the module; the text says how."""


def run_stages(task: Told, tell: Callable[[Told], None]) -> None:
    """Do with a model what a task asks for, and tell what came of it.

    Raises: nothing but what `tell` raises; whatever the model raises is the finding.
    """
    run = _Stages(tell)
    verdict = "passed"
    try:
        run.all(task)
    except BaseException as error:  # noqa: BLE001  (user code may raise anything)
        verdict = run.failed(error)
    tell({**run.found, "verdict": verdict})


class _Stages:
    """What is known of one model."""

    def __init__(self, tell: Callable[[Told], None]) -> None:
        self._tell = tell
        self._seconds: dict[str, float] = {}
        self._sizes: dict[str, int] = {}
        self.found: Told = {
            "stage": "make",
            "problems": [],
            "sizes": self._sizes,
            "measured": {"seconds": self._seconds},
        }

    @contextmanager
    def _stage(self, name: str) -> Generator[None]:
        self.found["stage"] = name
        self._tell(self.found)
        start = time.perf_counter()
        try:
            yield
        finally:
            self._seconds[name] = round(time.perf_counter() - start, 4)

    def all(self, task: Told) -> None:
        """Go through the stages.

        Raises: what the first one raises that does not succeed.
        """
        torch.set_num_threads(task["threads"])
        random.seed(0)
        torch.manual_seed(0)
        with self._stage("make"):
            given = _given(task)
        program: Any = given
        is_peer = task["exporter"] != "monograph"
        if isinstance(given, Made):
            shapes = given.dynamic_shapes if task["dynamic"] is None else task["dynamic"]
            inputs = given.module, given.args, given.kwargs
            with self._stage("capture"):
                program = (
                    _captured_by_torch(*inputs, shapes)
                    if is_peer
                    else api.export(*inputs, dynamic_shapes=shapes, strict=task["strict"])
                )
        self._measure(program)
        with self._stage("verify"):
            evidence = self._verify(task, program, given)
        with self._stage("lower"):
            lowered = program.run_decompositions()
            self._sizes["lowered nodes"] = len(lowered.graph.nodes)
        with tempfile.TemporaryDirectory(prefix="monograph-sweep-") as scratch:
            folder = Path(task["keep"] or scratch)
            folder.mkdir(parents=True, exist_ok=True)
            file = str(folder / "model.pt2")
            with self._stage("save"):
                if is_peer:
                    _save_of_torch(program, file)
                else:
                    save(program, file, extra_files=evidence)
            self._sizes["file bytes"] = Path(file).stat().st_size
            if is_peer and task["convert"]:
                program = _from_torch(program)
            for target in task["convert"]:
                with self._stage(target):
                    converted(program, str(folder / f"model.{target}"), target)

    def _measure(self, program: Any) -> None:
        tensors = [*program.state_dict.values(), *program.constants.values()]
        weights = {id(each): each for each in tensors if isinstance(each, torch.Tensor)}
        self._sizes["nodes"] = len(program.graph.nodes)
        self._sizes["weight bytes"] = sum(each.nbytes for each in weights.values())

    def _verify(self, task: Told, program: Any, given: Any) -> dict[str, str]:
        """Compare with the module, or a file with what it holds as evidence.

        Raises: _DifferentError; what comparing raises.
        """
        samples = task["samples"]
        if not samples:
            return {}
        if isinstance(given, Made):
            check = verify if task["exporter"] == "monograph" else compare
            found = check(program, given.module, samples=samples)
        else:
            try:
                found = verify(task["place"], samples=samples)
            except MonographError as error:
                if error.diagnostic.name != "nothing-to-verify-against":
                    raise
                return {}
        self._sizes["calls compared"] = sum(each.verdict == "equal" for each in found.samples)
        if not found:
            raise _DifferentError(str(found))
        return found.extra_files

    def failed(self, error: BaseException) -> str:
        """Keep what an error says; give the verdict."""
        stage = self.found["stage"]
        if isinstance(error, MonographError):
            problems = [_of_diagnostic(each) for each in error.problems]
            with suppress(Exception):  # the message itself is kept
                for problem, result in zip(problems, sarif_results(error), strict=True):
                    problem["sarif"] = result
        elif isinstance(error, _DifferentError):
            text = str(error)
            is_wrong = " different: " in text.split("\n", 1)[0]
            name = "different" if is_wrong else "nothing-compared"
            self.found["problems"] = [_problem(name, text)]
            return "different" if is_wrong else "failed"
        else:
            problems = [_of_other(error)]
        self.found["problems"] = problems
        if isinstance(error, MemoryError):
            return "out-of-memory"
        return VERDICTS.get(stage, "failed")


def _problem(name: str, text: str, at: str = "", headline: str = "") -> dict[str, Any]:
    """A problem as data; addresses, which differ from run to run, are left out."""
    text = without_addresses(text)
    first = without_addresses(headline) or next(iter(text.strip().splitlines()), name)
    return {"name": name, "headline": first[:300], "at": at, "text": text[:TEXT]}


def _of_diagnostic(error: MonographError) -> dict[str, Any]:
    told = error.diagnostic
    at = place(told.at[0]) if told.at else None
    where = "" if at is None else f"{at.file}:{at.line}"
    return _problem(told.name, str(error), where, told.headline)


def _of_other(error: BaseException) -> dict[str, Any]:
    """What somebody else raised, with the innermost line that is neither torch's nor ours."""
    lines = traceback.format_exception(error)
    ours, theirs = Path(__file__).parents[1], Path(torch.__file__).parent
    frames = [
        each
        for each in traceback.extract_tb(error.__traceback__)
        if not {ours, theirs} & {*Path(each.filename).parents} and each.filename[0] != "<"
    ]
    where = f"{frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    said = f"{type(error).__name__}: {error}".strip()
    if isinstance(error, NotThereError):
        return _problem("not-there", str(error))
    return _problem(type(error).__name__, "".join(lines)[-TEXT:], where, said.split("\n", 1)[0])


def _given(task: Told) -> Any:
    """A module with its example inputs, or the program that a file holds.

    Raises: NotThereError; what user code raises.
    """
    where, kind = task["place"], task["kind"]
    if kind == "file":
        if not Path(where).is_file():
            raise NotThereError(f"there is no file {where}")
        return load(where)
    if kind == "transformers":
        return of_transformers(where, task["config"])
    if kind == "script":
        return _of_script(where)
    if not task["entry"]:
        return made(where)
    table: Any = factory(where)
    table = table() if callable(table) else table
    if task["entry"] not in table:
        raise NotThereError(f"{where} has no model {task['entry']!r}")
    return made_of(table[task["entry"]], f"{where}[{task['entry']!r}]")


def _of_script(where: str) -> Made:
    """What a script gives to its first export; it ends there."""
    if not Path(where).is_file():
        raise NotThereError(f"there is no file {where}")

    def record(module: Any = None, args: Any = (), kwargs: Any = None, **given: Any) -> Any:
        chosen = given.pop("mod", None) if module is None else module
        raise _ExportedError(Made(chosen, tuple(args), kwargs, given.get("dynamic_shapes")))

    sys.argv[:] = [where]
    sys.path.insert(0, os.path.dirname(os.path.abspath(where)))  # noqa: PTH100, PTH120  (as Python does)
    # An attribute: `from monograph import export` finds it, too.
    package: Any = sys.modules["monograph"]
    original = api.export
    package.export = api.export = record
    try:
        runpy.run_path(where, run_name="__main__")
    except _ExportedError as found:
        return found.given
    finally:
        package.export = api.export = original
    raise NotThereError(f"{where} exports nothing; name a factory: file.py:factory")


def entries_of(place: str, tell: Callable[[Told], None]) -> None:
    """Tell the names in a table of factories, `file.py:models`.

    Raises: NotThereError, which is told as the others.
    """
    try:
        table: Any = factory(place)
        table = table() if callable(table) else table
        tell({"names": [str(name) for name in table]})
    except BaseException as error:  # noqa: BLE001  (user code may raise anything)
        tell({"failed": _of_other(error)["headline"]})


__all__ = ["entries_of", "run_stages"]
