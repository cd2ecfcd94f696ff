"""Inspection of a file, for people: members, versions, each program's contract and state.

Nothing of the file is run, as with `load`; a program that cannot be read is said so, and the others
are shown all the same.
"""

from __future__ import annotations

from collections import Counter
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
    from collections.abc import Iterable, Iterator

    import torch

    from monograph.archive.files.zip_reading import Container

UNITS = ("bytes", "kB", "MB", "GB", "TB")
MOST_OPERATORS = 12


def inspected(
    file: str | os.PathLike[str],
    *,
    checksums: bool = False,
    weights: str | os.PathLike[str] | None = None,
) -> tuple[str, bool]:
    """What a file holds, as text, and whether all of it can be read.

    With `checksums`, weights of any size are summed.

    Raises: archive-damaged, archive-invalid, archive-unsafe.
    """
    path = Path(file)
    container = open_container(path)
    lines = [f"{path.name}: {size_text(len(container.data))}, {len(container.members)} members"]
    lines += [f"  {line}" for line in _extra(container)]
    is_whole = True
    for name in model_names(container):
        lines += ["", f"program {name!r}"]
        try:
            versions = _versions(container, name)
            program = load(path, model=name, checksums=checksums or None, weights=weights)
        except MonographError as error:
            is_whole = False
            lines += [f"  cannot be read: {error.diagnostic.headline}"]
            continue
        lines += [f"  {line}" for line in (*versions, *_program(program))]
    return "\n".join(lines), is_whole


def _extra(container: Container) -> Iterator[str]:
    names = [name for name in container.members if name.startswith("extra/")]
    others = [name.removeprefix("extra/") for name in names if not name.startswith(OURS)]
    if others:
        yield f"extra files: {', '.join(map(repr, others))}"
    if any(name.startswith("data/aotinductor/") for name in container.members):
        yield "it has machine code, which is not read"


def _versions(container: Container, model: str) -> Iterator[str]:
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
        return iter([f"written by torch.export ({known})"])
    with reading(side):
        record = mapping(parse_json(container.view(side)))
        found = f"written by monograph ({known}, record of format {record.get('format')})"
    return iter([found])


def _program(program: ExportedProgram) -> Iterator[str]:
    yield from str(program.contract).splitlines()
    yield from (f"not checked by torch.export: {each}" for each in unsaid(program))
    yield f"returns {program.out_spec.num_leaves} values"
    yield f"dialect {program.dialect}"
    counts = Counter(_operators(program.graph_module))
    yield f"{counts.total()} calls of {len(counts)} operators"
    for name, count in counts.most_common(MOST_OPERATORS):
        yield f"  {count:6} {name}"
    if len(counts) > MOST_OPERATORS:
        yield f"         and {len(counts) - MOST_OPERATORS} more"
    parameters = dict(program.named_parameters())
    yield _tensors("parameters", parameters.values())
    others = {**program.constants, **program.state_dict}
    yield _tensors("buffers and constants", [t for n, t in others.items() if n not in parameters])
    has_examples = program.example_inputs is not None
    yield "with example inputs" if has_examples else "without example inputs"


def _operators(module: torch.nn.Module) -> Iterator[str]:
    for node in calls(module):
        target: Any = node.target
        yield str(target) if hasattr(target, "_schema") else target.__name__


def _tensors(title: str, found: Iterable[torch.Tensor]) -> str:
    """How many, of how many numbers and bytes; what is one under several names counts once."""
    tensors = list({id(tensor): tensor for tensor in found}.values())
    if not tensors:
        return f"no {title}"
    total, count = sum(each.nbytes for each in tensors), sum(each.numel() for each in tensors)
    dtypes = Counter(dtype_text(each.dtype) for each in tensors)
    kinds = ", ".join(f"{number} {name}" for name, number in dtypes.most_common())
    where = ", without data" if any(each.is_meta for each in tensors) else ""
    return f"{len(tensors)} {title} ({kinds}): {count} numbers, {size_text(total)}{where}"


def size_text(size: int) -> str:
    """A number of bytes as people read it.

    >>> size_text(999), size_text(40_100_000)
    ('999 bytes', '40.1 MB')
    """
    number, unit = float(size), 0
    while number >= 1000 and unit + 1 < len(UNITS):
        number, unit = number / 1000, unit + 1
    return f"{size} bytes" if not unit else f"{number:.1f} {UNITS[unit]}"


__all__ = ["inspected", "size_text"]
