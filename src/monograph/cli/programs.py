"""Commands on programs: inspect, show, diff, verify, export, report, minify, convert, run."""

from __future__ import annotations

import difflib
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from monograph.cli.output import RIGHT, WRONG, colored_diff, progress, say, verb
from monograph.cli.watching import watched
from monograph.conversions import OF_ENTRIES, PACKAGES, TARGETS, converted
from monograph.diagnostics import MonographError
from monograph.factories import Made, NotThereError, made, of_transformers
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.program import ExportedProgram

_inspection = deferred("monograph.archive:inspection")
_inspection_text = deferred("monograph.archive.inspecting:as_text")
_load = deferred("monograph.archive:load")
_save = deferred("monograph.archive:save")
_export = deferred("monograph.api:export")
_method_module = deferred("monograph.methods:method_module")
_load_all = deferred("monograph.archive:load_all")
_programs = deferred("monograph.programs:Programs")
_verify = deferred("monograph.verification:verify")
_minify = deferred("monograph.jit:minify")
_draft = deferred("monograph.api:draft_export")
_write_graph_page = deferred("monograph.pages:write_graph_page")
_report_json = deferred("monograph.report:as_json")
_report_text = deferred("monograph.report:as_text")
_as_function = deferred("monograph.verification.handed_over:as_function")
_manual_seed = deferred("torch:manual_seed")
_write_report = deferred("monograph.report:write")
_first_difference = deferred("monograph.program.calling.result_comparison:first_difference")

FORMS: Final = (".html", ".json", ".sarif", ".txt")


@verb
def inspect(
    file: str, *, checksums: bool = False, weights: str | None = None, as_json: bool = False
) -> int:
    """Print what a file holds; give the exit status of the process."""
    found = _inspection(_file(file), checksums=checksums, weights=weights)
    say(json.dumps(found, indent=1) if as_json else _inspection_text(found))
    return RIGHT if found["is_whole"] else WRONG


@verb
def show(
    file: str,
    *,
    python: bool = False,
    entry: str | None = None,
    as_json: bool = False,
    html: str | None = None,
) -> int:
    """Print the graph of a program and its contract, or write it as Python or as a page."""
    program = _program(file, entry)
    if html is not None:
        say(_write_graph_page(program, html, titles=(Path(file).name,)))
        return RIGHT
    if python:
        parts = {"python": program.to_python()}
    else:
        code = program.graph_module.code.strip()
        parts = {"graph": code, "contract": str(program.contract)}
    say(json.dumps(parts, indent=1) if as_json else "\n\n".join(parts.values()))
    return RIGHT


@verb
def diff(a: str, b: str, *, as_json: bool = False, html: str | None = None) -> int:
    """Print in what two programs differ: graph, contract, weights; 0 where in nothing.

    With `html`, a page that shows both graphs side by side is written, too.
    """
    one, other = _load(_file(a)), _load(_file(b))
    if html is not None:
        _write_graph_page(one, html, beside=other, titles=(Path(a).name, Path(b).name))
    parts = {
        "graph": _of_texts("graph", one.graph_module.code, other.graph_module.code, a, b),
        "contract": _of_texts("contract", str(one.contract), str(other.contract), a, b),
        "state": _of_state(one, other),
    }
    lines = [line for each in parts.values() for line in each]
    shown = colored_diff("\n".join(lines), sys.stdout) or "no difference"
    say(json.dumps(parts, indent=1) if as_json else shown)
    return WRONG if lines else RIGHT


@verb
def verify(
    file: str,
    module: str | None = None,
    *,
    handed_over: str | None = None,
    samples: int = 20,
    seed: int = 0,
    entry: str | None = None,
    as_json: bool = False,
    html: str | None = None,
) -> int:
    """Compare a program with its module, or with the evidence it holds; give the exit status.

    `module` is `package.name:attribute`: a module, or a function that makes one; `handed_over` a
    file that another system made of it, which is called in the place of the program. An `entry` is
    compared with the module's method of its name, or its forward if it has none.
    """
    beside = None if module is None else _made(module).module
    if entry is not None and beside is not None:
        beside = _method_module(beside, entry, is_guess=True)
    program = _file(file) if entry is None else _program(file, entry)
    instead = None if handed_over is None else _file(handed_over)
    with progress() as told:
        told(f"verifying {file}")
        found = _verify(program, beside, samples=samples, seed=seed, handed_over=instead)
    if html is not None:
        Path(html).write_text(found.as_html(), encoding="utf-8")
    say(found.as_json() if as_json else found)
    return RIGHT if found else WRONG


@verb
def export(
    place: str,
    output: str,
    *,
    dynamic: str | None = None,
    strict: bool = True,
    report: str | None = None,
    config: Sequence[str] | None = None,
    check: bool = False,
    as_json: bool = False,
) -> int:
    """Export what a factory gives, and save it; say what callers must satisfy.

    With `config`, `place` is a class of transformers that is made from it.
    """
    given = _made(place) if config is None else of_transformers(place, config)
    options = {
        "dynamic_shapes": given.dynamic_shapes if dynamic is None else dynamic,
        "strict": strict,
    }
    try:
        with watched(f"exporting {place}"):
            program = _export(given.module, given.args, given.kwargs, **options)
    except MonographError as error:
        if report is not None:
            _write_report(error, report)
        if as_json:
            say(_report_json(error).rstrip())
            return WRONG
        raise
    _save(program, output, module=given.module if check else None)
    if report is not None:
        _write_report(program, report)
    contract = str(program.contract)
    nodes = len(program.graph.nodes)
    told = {"file": output, "nodes": nodes, "contract": contract}
    say(json.dumps(told, indent=1) if as_json else f"{output}: {nodes} nodes\n{contract}")
    return RIGHT


@verb
def report(
    place: str,
    output: str | None = None,
    *,
    dynamic: str | None = None,
    strict: bool = True,
    as_json: bool = False,
) -> int:
    """Make a draft of what a factory gives, and say what stands in the way of an export."""
    if output is not None and Path(output).suffix not in FORMS:
        raise NotThereError(f"a report is written to {', '.join(FORMS)}; not to {output}")
    given = _made(place)
    shapes = given.dynamic_shapes if dynamic is None else dynamic
    options = {"dynamic_shapes": shapes, "strict": strict}
    with watched(f"drafting {place}") as times:
        try:
            made = _draft(given.module, given.args, given.kwargs, **options)
            problems = len(made.report.problems)
        except MonographError as error:  # the module itself does not run
            made, problems = error, len(error.problems)
    if output is not None:
        _write_report(made, output)
    if as_json:
        say(_report_json(made).rstrip())
        return WRONG if problems else RIGHT
    said = f"{output}: {problems} problem{'' if problems == 1 else 's'}"
    say(said if output is not None else _report_text(made).rstrip())
    for line in times():
        say(line)
    return WRONG if problems else RIGHT


@verb
def minify(
    place: str, output: str | None = None, *, backend: str = "eager", accuracy: bool = False
) -> int:
    """Print, or write, the smallest script that fails as a factory's module does."""
    given = _made(place)
    with progress() as told:
        told(f"reducing {place}")
        script = _minify(given.module, given.args, backend=backend, accuracy=accuracy)
    if output is None:
        say(script.rstrip())
    else:
        Path(output).write_text(script, encoding="utf-8")
        say(f"{output}: {script.count(chr(10))} lines")
    return RIGHT


@verb
def convert(
    file: str, output: str, *, to: str = "onnx", entry: str | None = None, as_json: bool = False
) -> int:
    """Hand a program over: to ONNX, AOTInductor, torch.export's format, or a Python file."""
    if to not in TARGETS:
        raise NotThereError(f"programs are converted to {', '.join(TARGETS)}; not to {to}")
    if to in PACKAGES and find_spec(PACKAGES[to]) is None:
        said = f"this needs the package {PACKAGES[to]}: pip install 'monograph[{to}]'"
        raise NotThereError(said)
    program: Any = None
    if entry is None and to in OF_ENTRIES:
        several = _load_all(_file(file))
        program = _programs(several) if len(several) > 1 else None
    program = _program(file, entry) if program is None else program
    with watched(f"converting {file} to {to}"):
        converted(program, output, to)
    files = [each for each in (Path(output), *Path(output).rglob("*")) if each.is_file()]
    size = sum(each.stat().st_size for each in files)
    told = {"file": output, "to": to, "bytes": size}
    say(json.dumps(told, indent=1) if as_json else f"{output}: {size} bytes")
    return RIGHT


@verb
def run(
    file: str, *, on: str | None = None, entry: str | None = None, as_json: bool = False
) -> int:
    """Call a program on its example inputs, and print what it gives.

    `on` is a file that another system made of it, which is called in its place.
    """
    program = _program(file, entry)
    if program.example_inputs is None:
        raise ValueError(f"{file} holds no example inputs to run it on")
    args, kwargs = program.example_inputs
    called = program.module() if on is None else _as_function(str(_file(on)))
    found = called(*args, **kwargs)
    say(json.dumps(_plain(found)) if as_json else found)
    return RIGHT


def _plain(value: Any) -> Any:
    """Results as JSON has them: tensors as nested lists, other objects as text."""
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("Any", value)]
    if isinstance(value, dict):
        return {str(name): _plain(each) for name, each in cast("Any", value).items()}
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _made(place: str) -> Made:
    """What a factory gives, with the random weights that it gives in every process."""
    _manual_seed(0)
    return made(place)


def _program(file: str, entry: str | None) -> Any:
    path = _file(file)
    return _load(path) if entry is None else _load(path, model=entry)


def _file(name: str) -> Path:
    if not Path(name).is_file():
        raise NotThereError(f"there is no file {name}")
    return Path(name)


def _of_texts(what: str, one: str, other: str, a: str, b: str) -> list[str]:
    names = f"{a}: {what}", f"{b}: {what}"
    lines = difflib.unified_diff(one.splitlines(), other.splitlines(), *names, lineterm="", n=1)
    return list(lines)


def _of_state(one: ExportedProgram, other: ExportedProgram) -> list[str]:
    left: dict[str, Any] = {**one.constants, **one.state_dict}
    right: dict[str, Any] = {**other.constants, **other.state_dict}
    lines = [f"- {name}" for name in left if name not in right]
    lines += [f"+ {name}" for name in right if name not in left]
    for name, value in left.items():
        found = None
        if name in right:
            found = _first_difference([value], [right[name]], (0.0, 0.0))
        lines += [] if found is None else [f"! {name}: {found[1]}"]
    return lines


__all__ = [
    "TARGETS",
    "convert",
    "diff",
    "export",
    "inspect",
    "minify",
    "report",
    "run",
    "show",
    "verify",
]
