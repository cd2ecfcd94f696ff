"""Inspection of a file, for people: members, versions, each program's contract and state.

Nothing of the file is run, as with `load`; a program that cannot be read is said so, and the others
are shown all the same.
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from monograph.archive.errors import reading
from monograph.archive.files.zip_reading import open_container
from monograph.archive.loading import OURS, load, model_names
from monograph.archive.program_writing import unsaid
from monograph.archive.schema.json_fields import mapping, parse_json
from monograph.diagnostics import MonographError
from monograph.passes.graph_walks import calls
from monograph.program import ExportedProgram, dtype_text

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Mapping

    import torch

    from monograph.archive.files.zip_reading import Container

UNITS = ("bytes", "kB", "MB", "GB", "TB")
MOST_OPERATORS = 12


def inspection(
    file: str | os.PathLike[str],
    *,
    checksums: bool = False,
    weights: str | os.PathLike[str] | None = None,
) -> dict[str, Any]:
    """What a file holds, as JSON has it; `is_whole` says whether all of it can be read.

    With `checksums`, weights of any size are summed.

    Raises: archive-damaged, archive-invalid, archive-unsafe.
    """
    path = Path(file)
    container = open_container(path)
    programs: list[dict[str, Any]] = []
    for name in model_names(container):
        try:
            writer = _writer(container, name)
            program = load(path, model=name, checksums=checksums or None, weights=weights)
        except MonographError as error:
            programs.append({"name": name, "error": error.diagnostic.headline})
        else:
            programs.append({"name": name, "written_by": writer, **_program(program)})
    return {
        "file": path.name,
        "bytes": len(container.data),
        "members": len(container.members),
        "notes": list(_extra(container)),
        "is_whole": not any("error" in each for each in programs),
        "programs": programs,
    }


def as_text(found: Mapping[str, Any]) -> str:
    """An inspection as people read it."""
    lines = [f"{found['file']}: {size_text(found['bytes'])}, {found['members']} members"]
    lines += [f"  {line}" for line in found["notes"]]
    for program in found["programs"]:
        lines += ["", f"program {program['name']!r}"]
        lines += [f"  {line}" for line in _lines(program)]
    return "\n".join(lines)


def _lines(program: Mapping[str, Any]) -> Iterator[str]:
    if "error" in program:
        yield f"cannot be read: {program['error']}"
        return
    yield f"written by {program['written_by']}"
    yield from program["contract"]
    yield from (f"not checked by torch.export: {each}" for each in program["unchecked_by_torch"])
    yield f"returns {program['results']} values"
    yield f"dialect {program['dialect']}"
    counts = program["operators"]
    yield f"{sum(counts.values())} calls of {len(counts)} operators"
    for name, count in islice(counts.items(), MOST_OPERATORS):
        yield f"  {count:6} {name}"
    if len(counts) > MOST_OPERATORS:
        yield f"         and {len(counts) - MOST_OPERATORS} more"
    yield _tensors("parameters", program["parameters"])
    yield _tensors("buffers and constants", program["others"])
    yield "with example inputs" if program["has_example_inputs"] else "without example inputs"


def _extra(container: Container) -> Iterator[str]:
    names = [name for name in container.members if name.startswith("extra/")]
    others = [name.removeprefix("extra/") for name in names if not name.startswith(OURS)]
    if others:
        yield f"extra files: {', '.join(map(repr, others))}"
    if any(name.startswith("data/aotinductor/") for name in container.members):
        yield "it has machine code, which is not read"


def _writer(container: Container, model: str) -> str:
    """Which versions wrote a program.

    Raises: archive-invalid, archive-damaged.
    """
    member = f"models/{model}.json"
    with reading(member):
        written = mapping(parse_json(container.view(member)))
        schema = mapping(written["schema_version"])
        torch_version = str(written.get("torch_version", "of unknown version"))[:40]
        known = f"schema {schema['major']}.{schema['minor']}, PyTorch {torch_version}"
    side = f"{OURS}{model}.json"
    if side not in container.members:
        return f"torch.export ({known})"
    with reading(side):
        record = mapping(parse_json(container.view(side)))
        return f"monograph ({known}, record of format {record.get('format')})"


def _program(program: ExportedProgram) -> dict[str, Any]:
    parameters = dict(program.named_parameters())
    others = {**program.constants, **program.state_dict}
    return {
        "contract": str(program.contract).splitlines(),
        "unchecked_by_torch": list(unsaid(program)),
        "results": program.out_spec.num_leaves,
        "dialect": program.dialect,
        "operators": dict(Counter(_operators(program.graph_module)).most_common()),
        "parameters": _counted(parameters.values()),
        "others": _counted([t for name, t in others.items() if name not in parameters]),
        "has_example_inputs": program.example_inputs is not None,
    }


def _operators(module: torch.nn.Module) -> Iterator[str]:
    for node in calls(module):
        target: Any = node.target
        yield str(target) if hasattr(target, "_schema") else target.__name__


def _counted(found: Iterable[torch.Tensor]) -> dict[str, Any]:
    """How many, of how many numbers and bytes; what is one under several names counts once."""
    tensors = list({id(tensor): tensor for tensor in found}.values())
    return {
        "tensors": len(tensors),
        "numbers": sum(each.numel() for each in tensors),
        "bytes": sum(each.nbytes for each in tensors),
        "dtypes": dict(Counter(dtype_text(each.dtype) for each in tensors).most_common()),
        "without_data": any(each.is_meta for each in tensors),
    }


def _tensors(title: str, counted: Mapping[str, Any]) -> str:
    if not counted["tensors"]:
        return f"no {title}"
    kinds = ", ".join(f"{number} {name}" for name, number in counted["dtypes"].items())
    where = ", without data" if counted["without_data"] else ""
    size = size_text(counted["bytes"])
    return f"{counted['tensors']} {title} ({kinds}): {counted['numbers']} numbers, {size}{where}"


def size_text(size: int) -> str:
    """A number of bytes as people read it.

    >>> size_text(999), size_text(40_100_000)
    ('999 bytes', '40.1 MB')
    """
    number, unit = float(size), 0
    while number >= 1000 and unit + 1 < len(UNITS):
        number, unit = number / 1000, unit + 1
    return f"{size} bytes" if not unit else f"{number:.1f} {UNITS[unit]}"


__all__ = ["as_text", "inspection", "size_text"]
