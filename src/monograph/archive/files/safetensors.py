"""Safetensors files: one file, or a checkpoint folder as Hugging Face lays it out.

A file is the length of its header, the header (JSON: name, dtype, shape and place of each tensor),
and the bytes. Law: nothing in a file is believed before it is checked; tensors view the mapped
file, copy on write; a file that is there is never written to.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive.errors import Refused, reading
from monograph.archive.files.atomic_replacement import replacing
from monograph.archive.files.zip_reading import DAMAGED, mapped
from monograph.archive.schema.json_fields import integer, listed, mapping, parse_json, text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

NAMES: Final[Mapping[torch.dtype, str]] = {
    torch.bool: "BOOL",
    torch.uint8: "U8",
    torch.int8: "I8",
    torch.uint16: "U16",
    torch.int16: "I16",
    torch.uint32: "U32",
    torch.int32: "I32",
    torch.uint64: "U64",
    torch.int64: "I64",
    torch.float8_e4m3fn: "F8_E4M3",
    torch.float8_e5m2: "F8_E5M2",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.float32: "F32",
    torch.float64: "F64",
    torch.complex64: "C64",
}
DTYPE_OF: Final = {name: dtype for dtype, name in NAMES.items()}
SUFFIX: Final = ".safetensors"
INDEX: Final = "model.safetensors.index.json"
WHOLE: Final = "model.safetensors"
MOST_HEADER = 100 << 20
SHARD_BYTES = 4 << 30
ALIGNMENT = 64


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A tensor in a file: its type, and its bytes, which are a view of the file."""

    dtype: torch.dtype
    shape: tuple[int, ...]
    data: memoryview


def read_file(path: Path) -> dict[str, TensorEntry]:
    """The tensors of a file; their bytes are paged in when they are touched.

    Raises: archive-damaged, archive-invalid.
    """
    with reading(path.name):
        try:
            data = mapped(path)
        except OSError as error:
            raise Refused(f"it cannot be opened: {error.strerror}") from None
        if len(data) < 8:
            raise Refused("it is cut off", DAMAGED)
        size = int.from_bytes(data[:8], "little")
        if size > min(len(data) - 8, MOST_HEADER):
            raise Refused("its header is longer than the file", DAMAGED)
        header = mapping(parse_json(data[8 : 8 + size]))
        header.pop("__metadata__", None)
        rest = data[8 + size :]
        found = {name: _entry(mapping(each), rest) for name, each in header.items()}
        _check_apart(header)
    return found


def _entry(written: dict[str, Any], rest: memoryview) -> TensorEntry:
    dtype = DTYPE_OF.get(text(written["dtype"]))
    if dtype is None:
        raise Refused(f"it has tensors of {str(written['dtype'])[:20]!r}, which is no dtype here")
    shape = tuple([integer(size, 0) for size in listed(written["shape"])])
    begin, end = [integer(each, 0) for each in listed(written["data_offsets"])]
    count = dtype.itemsize
    for size in shape:
        count *= size
    if end > len(rest):
        raise Refused("a tensor reaches beyond its bytes", DAMAGED)
    if begin > end or end - begin != count or len(shape) > 64:
        raise Refused("a tensor has not as many bytes as its shape and dtype say")
    return TensorEntry(dtype, shape, rest[begin:end])


def _check_apart(header: dict[str, Any]) -> None:
    spans = sorted(tuple(each["data_offsets"]) for each in header.values())
    end = 0
    for begin, stop in spans:
        if begin < end and stop > begin:
            raise Refused("two of its tensors overlap", "archive-unsafe")
        end = max(end, stop)


def files_of(path: Path) -> dict[str, Path]:
    """Where each tensor of a checkpoint is: `path` is a file, or a folder of them; by name.

    A folder has `model.safetensors.index.json`, or `model.safetensors`, or any files of the kind.

    Raises: archive-invalid.
    """
    if path.is_file():
        return dict.fromkeys(read_file(path), path)
    index = path / INDEX
    if index.is_file():
        with reading(INDEX):
            names = mapping(mapping(parse_json(memoryview(index.read_bytes())))["weight_map"])
            return {name: path / plain_file_name(file) for name, file in names.items()}
    files = [path / WHOLE] if (path / WHOLE).is_file() else sorted(path.glob(f"*{SUFFIX}"))
    found: dict[str, Path] = {}
    for file in files:
        found |= dict.fromkeys(read_file(file), file)
    return found


def plain_file_name(value: Any) -> str:
    """A name of a safetensors file, without any folder.

    Raises: Refused.
    """
    name = text(value)
    if not name.endswith(SUFFIX) or any(each in name for each in "/\\:") or name.startswith("."):
        raise Refused(f"{name[:80]!r} is no name of a file of weights", "archive-unsafe")
    return name


def written_to(path: Path, tensors: Mapping[str, torch.Tensor]) -> dict[str, Path]:
    """Write tensors into a new file, or a new folder of shards; give where each is.

    Raises: OSError.
    """
    if path.suffix == SUFFIX:
        write_file(path, tensors)
        return dict.fromkeys(tensors, path)
    path.mkdir(parents=True, exist_ok=True)
    shards = _shards(tensors)
    if len(shards) == 1:
        write_file(path / WHOLE, tensors)
        return dict.fromkeys(tensors, path / WHOLE)
    places: dict[str, Path] = {}
    for number, names in enumerate(shards, 1):
        file = path / f"model-{number:05}-of-{len(shards):05}{SUFFIX}"
        write_file(file, {name: tensors[name] for name in names})
        places |= dict.fromkeys(names, file)
    total = sum(tensor.nbytes for tensor in tensors.values())
    names = {name: file.name for name, file in places.items()}
    index = {"metadata": {"total_size": total}, "weight_map": names}
    with replacing(path / INDEX) as (file, _):
        file.write(json.dumps(index, indent=2).encode())
    return places


def _shards(tensors: Mapping[str, torch.Tensor]) -> list[list[str]]:
    found: list[list[str]] = [[]]
    room = SHARD_BYTES
    for name, tensor in tensors.items():
        if found[-1] and tensor.nbytes > room:
            found.append([])
            room = SHARD_BYTES
        found[-1].append(name)
        room -= tensor.nbytes
    return found


def write_file(path: Path, tensors: Mapping[str, torch.Tensor]) -> None:
    """Write one file, at once; wide elements come first, so that every tensor is aligned."""
    names = sorted(tensors, key=lambda name: (-tensors[name].dtype.itemsize, name))
    header: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    at = 0
    for name in names:
        tensor = tensors[name]
        header[name] = {
            "dtype": NAMES[tensor.dtype],
            "shape": list(tensor.shape),
            "data_offsets": [at, at + tensor.nbytes],
        }
        at += tensor.nbytes
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-(8 + len(head)) % ALIGNMENT)
    start = [len(head).to_bytes(8, "little"), head]
    with replacing(path) as (file, _):
        file.writelines([*start, *[bytes_of(tensors[name]) for name in names]])


def bytes_of(tensor: torch.Tensor) -> memoryview:
    """The bytes of a contiguous tensor, where they lie."""
    flat = tensor.detach().reshape(-1)
    if not flat.numel():
        return memoryview(b"")
    array: Any = flat.view(torch.uint8).numpy()
    return memoryview(array)


__all__ = [
    "NAMES",
    "SUFFIX",
    "TensorEntry",
    "bytes_of",
    "files_of",
    "plain_file_name",
    "read_file",
    "written_to",
]
