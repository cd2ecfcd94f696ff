"""Commands on programs: inspect, show, diff, verify, export, convert, run."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.cli.output import RIGHT, WRONG, say, verb
from monograph.factories import NotThereError, made
from monograph.lazy_imports import deferred

if TYPE_CHECKING:
    from monograph.program import ExportedProgram

_inspected = deferred("monograph.archive:inspected")
_load = deferred("monograph.archive:load")
_save = deferred("monograph.archive:save")
_export = deferred("monograph.api:export")
_verify = deferred("monograph.verification:verify")
_write_report = deferred("monograph.report:write")
_first_difference = deferred("monograph.program.calling.result_comparison:first_difference")

TARGETS: Final = ("onnx", "aoti", "torch", "python")


@verb
def inspect(file: str, *, checksums: bool = False, weights: str | None = None) -> int:
    """Print what a file holds; give the exit status of the process."""
    text, is_whole = _inspected(_file(file), checksums=checksums, weights=weights)
    say(text)
    return RIGHT if is_whole else WRONG


@verb
def show(file: str, *, python: bool = False) -> int:
    """Print the graph of a program and its contract, or the program as a Python file."""
    program = _load(_file(file))
    if python:
        say(program.to_python())
        return RIGHT
    say(program.graph_module.code.strip())
    say(f"\n{program.contract}")
    return RIGHT


@verb
def diff(a: str, b: str) -> int:
    """Print in what two programs differ: graph, contract, weights; 0 where in nothing."""
    one, other = _load(_file(a)), _load(_file(b))
    lines = [
        *_of_texts("graph", one.graph_module.code, other.graph_module.code, a, b),
        *_of_texts("contract", str(one.contract), str(other.contract), a, b),
        *_of_state(one, other),
    ]
    say("\n".join(lines) or "no difference")
    return WRONG if lines else RIGHT


@verb
def verify(
    file: str, module: str | None = None, *, samples: int = 20, seed: int = 0, as_json: bool = False
) -> int:
    """Compare a program with its module, or with the evidence it holds; give the exit status.

    `module` is `package.name:attribute`: a module, or a function that makes one.
    """
    beside = None if module is None else made(module).module
    found = _verify(_file(file), beside, samples=samples, seed=seed)
    say(found.as_json() if as_json else found)
    return RIGHT if found else WRONG


@verb
def export(
    place: str,
    output: str,
    *,
    dynamic: str | None = None,
    strict: bool = False,
    report: str | None = None,
) -> int:
    """Export what a factory gives, and save it; say what callers must satisfy."""
    given = made(place)
    options = {
        "dynamic_shapes": given.dynamic_shapes if dynamic is None else dynamic,
        "strict": strict,
    }
    try:
        program = _export(given.module, given.args, given.kwargs, **options)
    except Exception as error:
        if report is not None and hasattr(error, "problems"):
            _write_report(error, report)
        raise
    _save(program, output)
    if report is not None:
        _write_report(program, report)
    say(f"{output}: {len(program.graph.nodes)} nodes\n{program.contract}")
    return RIGHT


@verb
def convert(file: str, output: str, *, to: str = "onnx") -> int:
    """Hand a program over: to ONNX, AOTInductor, torch.export's format, or a Python file."""
    if to not in TARGETS:
        raise NotThereError(f"programs are converted to {', '.join(TARGETS)}; not to {to}")
    program = _load(_file(file))
    match to:
        case "onnx":
            program.to_onnx(output)
        case "aoti":
            program.package(output)
        case "torch":
            _save(program, output)
        case _:
            Path(output).write_text(program.to_python(), encoding="utf-8")
    say(f"{output}: {Path(output).stat().st_size} bytes")
    return RIGHT


@verb
def run(file: str) -> int:
    """Call a program on its example inputs, and print what it gives."""
    program = _load(_file(file))
    if program.example_inputs is None:
        raise ValueError(f"{file} holds no example inputs to run it on")
    args, kwargs = program.example_inputs
    say(program.module()(*args, **kwargs))
    return RIGHT


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


__all__ = ["TARGETS", "convert", "diff", "export", "inspect", "run", "show", "verify"]
