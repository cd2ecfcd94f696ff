"""External weights: beside a program, in safetensors files that several programs share.

Our record says which tensors are there, under which names and with which sums. Law: a file that is
there already is used as it is, and only where it holds the very same numbers; what it does not hold
stays in the program's own file.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import torch

from monograph.archive.errors import Refused, reading
from monograph.archive.files.safetensors import (
    NAMES,
    SUFFIX,
    TensorEntry,
    bytes_of,
    files_of,
    plain_file_name,
    read_file,
    written_to,
)
from monograph.archive.files.zip_reading import DAMAGED
from monograph.archive.schema.json_fields import integer, listed, mapping, text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from monograph.archive.files.weights import WeightsPlan
    from monograph.archive.schema.values import Json

WEIGHTS = "weights"


# ---------------------------------------------------------------------------------------- writing
@dataclass(slots=True)
class ExternalWeights:
    """The files that weights go to: a checkpoint that is there, or one that will be written.

    `beside` is the folder of the program's file, None where it has none. `new` are the tensors to
    be written, `places` the files of those that are there.
    """

    path: Path
    beside: Path | None
    places: dict[str, Path] = field(default_factory=dict[str, Path])
    new: dict[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])
    is_there: bool = False
    _open: dict[Path, dict[str, TensorEntry]] = field(
        default_factory=dict[Path, dict[str, TensorEntry]]
    )

    def take(self, plan: WeightsPlan, state: Mapping[str, torch.Tensor]) -> Json:
        """Take out of a plan what lies outside, or will; give our record of it.

        Raises: Refused.
        """
        config = plan.configs.get(WEIGHTS, {})
        kept_in = plan.aliases.get(WEIGHTS, {})
        viewed = {each.get("member") for found in plan.aliases.values() for each in found.values()}
        order, taken = list(config), dict[str, Any]()
        called = called_there(config, self.places) if self.is_there else dict[str, str]()
        for path, names in _by_member(config).items():
            first = state[names[0]].detach()
            apart = any("member" in kept_in.get(name, {}) for name in names)
            if (
                apart
                or f"data/{WEIGHTS}/{path}" in viewed
                or not _fits(first)
                or len({_seen(config[name]) for name in names}) != 1
            ):
                continue
            key = self._key(names, called, first)
            if key is None:
                continue
            plan.blocks = [
                block for block in plan.blocks if (block.folder, block.path) != (WEIGHTS, path)
            ]
            crc = zlib.crc32(bytes_of(first))
            for name in names:
                payload = config.pop(name)
                payload["tensor_meta"]["storage_offset"] = {"as_int": 0}
                taken[name] = {**payload, "path_name": key, "crc": crc}
        return {"order": order, "tensors": taken}

    def _key(self, names: list[str], called: Mapping[str, str], tensor: torch.Tensor) -> str | None:
        """The name it has there; None where it is to stay in the program's own file."""
        if not self.is_there:
            known = self.new.setdefault(names[0], tensor)
            return names[0] if _same(tensor, known) else None
        name = next((name for name in names if name in called), None)
        if name is None:
            return None
        key = called[name]
        file = self.places[key]
        if file not in self._open:
            self._open[file] = read_file(file)
        entry = self._open[file].get(key)
        alike = entry is not None and (entry.dtype, entry.shape) == (
            tensor.dtype,
            tuple(tensor.shape),
        )
        if entry is not None and alike and bytes_of(tensor) == entry.data:
            return key
        if key != name:  # a name that was guessed
            return None
        raise Refused(f"`{key}` in {file.name} is another tensor than the program's")

    def write(self) -> list[Path]:
        """Write the files that are not there; give those that were made."""
        if self.is_there or not self.new:
            return []
        self.places = written_to(self.path, self.new)
        return sorted(set(self.places.values()))

    def located(self, record: Json) -> Json:
        """The record, with the file of each tensor and where the files are."""
        for payload in record["tensors"].values():
            key = payload["path_name"]
            payload["file"] = self.places[key].name if key in self.places else self.path.name
        folder = self.path if self.path.suffix != SUFFIX else self.path.parent
        within: str | None = None
        if self.beside is not None:
            try:
                relative = folder.resolve().relative_to(self.beside.resolve())
                within = relative.as_posix()
            except ValueError:
                within = None
        return {**record, "folder": within}


def external_weights(path: Path, beside: Path | None) -> ExternalWeights:
    """Where weights go, or are already.

    Raises: archive-damaged, archive-invalid, archive-unsafe.
    """
    if beside is not None:
        path = beside / path
    places = files_of(path) if path.exists() else {}
    return ExternalWeights(path, beside, places, is_there=bool(places))


def called_there(names: Iterable[str], places: Collection[str]) -> dict[str, str]:
    """What a checkpoint calls the tensors of a program: the same, or with or without a prefix.

    A model in a module of the user's has names that are longer than the checkpoint's, the base of a
    model shorter ones. The prefix that finds most is taken; none, if it finds as many.

    >>> called_there(["model.h.w", "model.h.b"], {"h.w", "h.b", "wte"})
    {'model.h.w': 'h.w', 'model.h.b': 'h.b'}
    >>> called_there(["h.w"], {"transformer.h.w": 1, "lm_head.w": 1})
    {'h.w': 'transformer.h.w'}
    """
    names = list(names)
    best = {name: name for name in names if name in places}
    longer = dict.fromkeys(prefix for name in names for prefix in _prefixes(name))
    for prefix in longer:
        rest = {n: n.removeprefix(prefix) for n in names if n.startswith(prefix)}
        best = max(best, {n: key for n, key in rest.items() if key in places}, key=len)
    for prefix in dict.fromkeys(prefix for key in places for prefix in _prefixes(key)):
        best = max(best, {n: prefix + n for n in names if prefix + n in places}, key=len)
    return best


def _prefixes(name: str) -> list[str]:
    return [name[: at + 1] for at, letter in enumerate(name) if letter == "."]


def _by_member(config: Mapping[str, Json]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, payload in config.items():
        found.setdefault(payload["path_name"], []).append(name)
    return found


def _fits(tensor: torch.Tensor) -> bool:
    return (
        tensor.dtype in NAMES
        and tensor.is_contiguous()
        and bool(tensor.numel())
        and tensor.device.type == "cpu"
        and not (tensor.is_conj() or tensor.is_neg())
    )


def _seen(payload: Json) -> str:
    meta = payload["tensor_meta"]
    parts = (meta["sizes"], meta["strides"], meta["storage_offset"], meta["dtype"])
    return repr((*parts, payload["is_param"]))


def _same(left: torch.Tensor, right: torch.Tensor) -> bool:
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    return left.data_ptr() == right.data_ptr() or bytes_of(left) == bytes_of(right)


# ---------------------------------------------------------------------------------------- reading
@dataclass(slots=True)
class ExternalReader:
    """The tensors of a record, found in the files it names."""

    order: list[str]
    payloads: dict[str, Json]
    folder: Path | None
    only: Path | None = None
    _open: dict[str, dict[str, TensorEntry]] = field(
        default_factory=dict[str, dict[str, TensorEntry]]
    )

    def bytes_of(self, payload: Json, *, checked: bool) -> memoryview:
        """The bytes of a tensor, in its file.

        Raises: Refused, archive-damaged, archive-invalid.
        """
        file, key = plain_file_name(payload["file"]), text(payload["path_name"])
        if file not in self._open:
            self._open[file] = read_file(self._file(file))
        entry = self._open[file].get(key)
        with reading(file):
            if entry is None:
                raise Refused(f"it has no tensor {key[:80]!r}")
            if checked and zlib.crc32(entry.data) != integer(payload["crc"], 0):
                reason = f"{key!r} does not have the checksum it was saved with"
                raise Refused(reason, DAMAGED)
        return entry.data

    def _file(self, name: str) -> Path:
        if self.only is not None:
            return self.only
        if self.folder is None:
            raise Refused(f"its weights lie elsewhere: load(..., weights=<the folder of {name}>)")
        return self.folder / name


def read_external(written: Any, beside: Path | None, given: Path | None) -> ExternalReader | None:
    """What our record says of weights in other files; None where it says nothing.

    `beside` is the folder of the program's file; `given` is where the caller says they are.

    Raises: Refused.
    """
    if written is None:
        return None
    record = mapping(written)
    order = [text(each) for each in listed(record["order"])]
    payloads = {name: mapping(each) for name, each in mapping(record["tensors"]).items()}
    if given is not None:
        only = given if given.is_file() else None
        return ExternalReader(order, payloads, given, only)
    return ExternalReader(order, payloads, _folder(record["folder"], beside))


def _folder(written: Any, beside: Path | None) -> Path | None:
    if written is None or beside is None:
        return None
    relative = PurePosixPath(text(written))
    if relative.is_absolute() or ".." in relative.parts or "\\" in str(relative):
        raise Refused("its weights are said to lie outside of its folder", "archive-unsafe")
    return beside / relative


__all__ = ["ExternalReader", "ExternalWeights", "external_weights", "read_external"]
