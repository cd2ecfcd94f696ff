"""Loading: from a file nobody vouches for to a verified program.

Law: nothing in a file is run, imported, unpickled or believed before it is checked; what cannot be
read is refused with the member and the reason. A program saved here has the contract it was saved
with; one saved by torch.export has the conditions that its file states.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.archive.budget import Budget
from monograph.archive.errors import Refused, reading
from monograph.archive.files.external_weights import read_external
from monograph.archive.files.pickle_reading import unpickled
from monograph.archive.files.weights import TensorReader
from monograph.archive.files.zip_reading import open_container
from monograph.archive.program_reading import assembled
from monograph.archive.schema.json_fields import mapping, parse_json
from monograph.archive.sidecar import read_sidecar
from monograph.archive.versions import ARCHIVE_VERSION, check_opsets, check_schema
from monograph.diagnostics import problem
from monograph.keyword_aliases import also_named
from monograph.program.transforms.state_assignment import with_state

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO

    import torch

    from monograph.archive.files.zip_reading import Container
    from monograph.archive.sidecar import Sidecar
    from monograph.program import ExportedProgram

MODEL: Final = "model"
OURS: Final = "extra/monograph."
LAZY_BYTES: Final = 1 << 29
"""Files with more weights than this are not read whole to check sums, unless that is asked for."""


@also_named(file="f")
def load(
    f: str | os.PathLike[str] | IO[bytes],
    *,
    extra_files: dict[str, Any] | None = None,
    expected_opset_version: Mapping[str, int] | None = None,
    model: str = MODEL,
    checksums: bool | None = None,
    weights: str | os.PathLike[str] | None = None,
    state_dict: Mapping[str, torch.Tensor] | None = None,
) -> ExportedProgram:
    """Read a program from a `.pt2` file, written here or by torch.export.

    `extra_files` is filled with the texts of the names it has. Weights are mapped into memory, copy
    on write, and read when they are first touched. `checksums` says whether all of them are summed
    now; None means where they are at most half a gibibyte. `weights` is the safetensors file, or
    the folder of them, that holds the weights of a program saved with `weights=`, if it is not
    where it was; of one saved without weights, it is a checkpoint, as `with_state` takes it. The
    tensors of `state_dict` take the place of the program's; one that was captured on the meta
    device has no others, and moves to theirs. `expected_opset_version` holds what the file is to
    say of its operators, by namespace.

    Raises: archive-damaged, archive-invalid, archive-unsafe, archive-newer, archive-no-model,
        archive-unknown-operator, archive-unknown-type, weights-do-not-fit.
    """
    container = open_container(Path(f) if isinstance(f, str | os.PathLike) else f)
    places = _Places(
        Path(f).parent if isinstance(f, str | os.PathLike) else None,
        None if weights is None else Path(weights),
    )
    _check_format(container)
    names = model_names(container)
    if model not in names:
        raise problem("archive-no-model", model=model, models=names)
    if extra_files is not None:
        for name in extra_files:
            with reading(f"extra/{name}"):
                extra_files[name] = str(container.view(f"extra/{name}"), "utf-8")
    if checksums is None:
        checksums = len(container.data) <= LAZY_BYTES
    tensors = TensorReader(container, checksums)
    found = _program(tensors, model, places, expected_opset_version or {})
    is_bare = any(tensor.is_meta for tensor in found.state_dict.values())
    if is_bare and weights is not None and tensors.outside is None:
        found = with_state(found, weights)
    return found if state_dict is None else with_state(found, state_dict)


def load_all(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    checksums: bool | None = None,
    weights: str | os.PathLike[str] | None = None,
) -> dict[str, ExportedProgram]:
    """Read every program of a file, by name; they share the memory that they shared when saved.

    Raises: as `load`.
    """
    container = open_container(Path(file) if isinstance(file, str | os.PathLike) else file)
    _check_format(container)
    places = _Places(
        Path(file).parent if isinstance(file, str | os.PathLike) else None,
        None if weights is None else Path(weights),
    )
    checked = len(container.data) <= LAZY_BYTES if checksums is None else checksums
    tensors = TensorReader(container, checked)
    return {name: _program(tensors, name, places, {}) for name in model_names(container)}


def extra_text(file: str | os.PathLike[str] | IO[bytes], name: str) -> str:
    """Read one of the extra files.

    Raises: archive-damaged, archive-invalid, archive-unsafe.
    """
    container = open_container(Path(file) if isinstance(file, str | os.PathLike) else file)
    with reading(f"extra/{name}"):
        return str(container.view(f"extra/{name}"), "utf-8")


def model_names(container: Container) -> list[str]:
    """The programs a file holds."""
    return [
        name.removeprefix("models/").removesuffix(".json")
        for name in container.members
        if name.startswith("models/") and name.endswith(".json")
    ]


def _check_format(container: Container) -> None:
    with reading("archive_format"):
        if "serialized_exported_program.json" in container.members:
            raise Refused(
                "it is in the format of PyTorch before 2.8; save it anew with a later one"
            )
        if bytes(container.view("archive_format")) != b"pt2":
            raise Refused("it is no archive of programs")
    with reading("archive_version"):
        version = str(container.view("archive_version"), "utf-8")
        if version != ARCHIVE_VERSION:
            reason = f"it is of version {version[:20]!r}, and {ARCHIVE_VERSION!r} is known"
            raise Refused(reason, "archive-newer")
    with reading("byteorder"):
        if "byteorder" in container.members and bytes(container.view("byteorder")) != b"little":
            raise Refused("its numbers are written in the other byte order")


@dataclass(frozen=True, slots=True)
class _Places:
    """Where weights in other files may be: beside the program, or where the caller says."""

    beside: Path | None = None
    given: Path | None = None


def _program(
    tensors: TensorReader, model: str, places: _Places, opsets: Mapping[str, int]
) -> ExportedProgram:
    container = tensors.container
    member = f"models/{model}.json"
    budget = Budget()
    with reading(member):
        description = container.view(member)
        budget.allow(len(description))
        written = mapping(parse_json(description))
        check_schema(mapping(written["schema_version"]))
        check_opsets(written.get("opset_version"), opsets)
    side = _side(container, model, budget)
    state, constants = _state(tensors, model, side, places)
    examples = _examples(container, model, budget)
    with reading(member):
        return assembled(written, side, state, constants, examples, budget)


def _side(container: Container, model: str, budget: Budget) -> Sidecar | None:
    member = f"{OURS}{model}.json"
    if member not in container.members:
        return None
    with reading(member):
        crc = container.members[f"models/{model}.json"].crc
        description = container.view(member)
        budget.allow(len(description))
        return read_sidecar(parse_json(description), crc, budget)


def _state(
    tensors: TensorReader, model: str, side: Sidecar | None, places: _Places
) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    container = tensors.container
    with reading(f"{OURS}{model}.json"):
        written = None if side is None else side.outside
        tensors.outside = read_external(written, places.beside, places.given)
    aliases = {} if side is None else side.aliases
    found: list[dict[str, torch.Tensor]] = []
    for folder in ("weights", "constants"):
        member = f"data/{folder}/{model}_{folder}_config.json"
        with reading(member):
            if f"data/{folder}/{model}.pt" in container.members:
                raise Refused("its tensors are one pickle, as old versions wrote", "archive-unsafe")
            config = parse_json(container.view(member))
            found.append(tensors.read(config, folder, aliases))
    return found[0], found[1]


def _examples(container: Container, model: str, budget: Budget) -> Any:
    member = f"data/sample_inputs/{model}.pt"
    if member not in container.members:
        return None
    with reading(member):
        blob = container.view(member)
        if not len(blob):
            return None
        examples = unpickled(blob, budget)
        if not isinstance(examples, tuple) or len(examples) != 2:
            raise Refused("its examples are not arguments by position and by name")
        args, kwargs = examples
        if not isinstance(args, tuple | list) or not isinstance(kwargs, dict):
            raise Refused("its examples are not arguments by position and by name")
        return tuple(args), kwargs


__all__ = ["MODEL", "load", "load_all", "model_names"]
