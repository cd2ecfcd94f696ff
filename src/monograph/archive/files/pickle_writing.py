"""A pickler of example inputs, in the form `torch.save` gives them, without pickle.

A pickle is a program for a small stack machine; a dozen of its instructions build tensors,
containers and scalars, and the classes that are registered as structures.
"""

from __future__ import annotations

import io
import struct
from collections import OrderedDict
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive.errors import Refused
from monograph.archive.files.weights import array_view, writable
from monograph.archive.files.zip_writing import ZipWriter
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

LEGACY: Final[Mapping[torch.dtype, str]] = {
    torch.bfloat16: "BFloat16Storage",
    torch.bool: "BoolStorage",
    torch.complex64: "ComplexFloatStorage",
    torch.complex128: "ComplexDoubleStorage",
    torch.float16: "HalfStorage",
    torch.float32: "FloatStorage",
    torch.float64: "DoubleStorage",
    torch.int8: "CharStorage",
    torch.int16: "ShortStorage",
    torch.int32: "IntStorage",
    torch.int64: "LongStorage",
    torch.uint8: "ByteStorage",
}
"""Dtypes whose storages have names; the others are bytes, with the dtype said beside."""


def pickled(value: Any) -> bytes:
    """The bytes `torch.load` reads as this value.

    Raises: Refused (it holds what these instructions cannot build).
    """
    writer = _PickleWriter()
    writer.put(value)
    file = io.BytesIO()
    members = ZipWriter(file, "archive")
    members.write("data.pkl", b"\x80\x02" + b"".join(writer.code) + b".")
    members.write("byteorder", b"little")
    for key, storage in enumerate(writer.storages):
        members.write(f"data/{key}", _bytes_of(storage))
    members.write("version", b"3\n")
    members.close()
    return file.getvalue()


def _bytes_of(tensor: torch.Tensor) -> memoryview:
    storage = tensor.untyped_storage()
    if tensor.device.type != "cpu":
        storage = storage.cpu()
    flat = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))
    return array_view(flat)


def find_registered(name: str) -> type | None:
    """The only class of this name that is registered as a structure."""
    found = [
        kind for kind in pytree.SUPPORTED_NODES if f"{kind.__module__}.{kind.__qualname__}" == name
    ]
    return found[0] if len(found) == 1 else None


def _full_name(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


class _PickleWriter:
    def __init__(self) -> None:
        self.code: list[bytes] = []
        self.storages: list[torch.Tensor] = []
        self.keys: dict[tuple[str, int], int] = {}
        self.memo: dict[int, int] = {}
        self.kept: list[Any] = []

    def put(self, value: Any) -> None:
        """Write the instructions that build a value.

        Raises: Refused (a number or text of a class of its own, such as a flag, among others).
        """
        if isinstance(value, int | float | complex | str | bytes) and type(value) not in PLAIN:
            raise Refused(f"an example input is a {type(value).__name__}")
        write = next((write for kind, write in PUTS if isinstance(value, kind)), None)
        if write is not None:
            write(self, value)
        elif isinstance(value, tuple) and hasattr(value, "_fields"):
            self.name(type(value))
            self.sequence(value)
            self.code.append(b"\x81")
        elif is_dataclass(value) and find_registered(_full_name(value)) is type(value):
            self.name(type(value))
            self.code.append(b")\x81")
            self.put(dict(vars(value)))
            self.code.append(b"b")
        elif isinstance(value, tuple):
            self.sequence(value)
        else:
            raise Refused(f"an example input is a {type(value).__name__}")

    def name(self, kind: Any, module: str = "") -> None:
        """Write the name of a class, or of a constant."""
        module = module or kind.__module__
        qualname = kind if isinstance(kind, str) else kind.__qualname__
        self.code.append(f"c{module}\n{qualname}\n".encode())

    def sequence(self, values: Any) -> None:
        """Write a tuple."""
        self.code.append(b"(")
        for value in values:
            self.put(value)
        self.code.append(b"t")

    def call(self, module: str, name: str, *args: Any) -> None:
        """Write a call of what has this name."""
        self.name(name, module)
        self.sequence(args)
        self.code.append(b"R")

    def mapping(self, value: Mapping[Any, Any]) -> None:
        """Write the items of a dictionary that is on the stack."""
        if not value:
            return
        self.code.append(b"(")
        for key, each in value.items():
            self.put(key)
            self.put(each)
        self.code.append(b"u")

    def tensor(self, value: torch.Tensor) -> None:
        """Write a tensor; the same one twice is one tensor."""
        number = self.memo.get(id(value))
        if number is not None:
            self.code.append(b"j" + struct.pack("<I", number))
            return
        self.memo[id(value)] = len(self.memo)
        self.kept.append(value)
        number = self.memo[id(value)]
        tensor = writable("an example input", value)
        if tensor.device.type == "meta":
            raise Refused("an example input has no data")
        is_parameter = isinstance(value, torch.nn.Parameter)
        if is_parameter:
            self.name("_rebuild_parameter", "torch._utils")
            self.code.append(b"(")
        legacy = LEGACY.get(tensor.dtype)
        self.name(f"_rebuild_tensor_v{2 if legacy else 3}", "torch._utils")
        self.code.append(b"(")
        self._storage(tensor, legacy)
        for each in (int(tensor.storage_offset()), tuple(tensor.shape), tensor.stride()):
            self.put(each)
        self.put(value.requires_grad and not is_parameter)
        self.put(OrderedDict())
        if not legacy:
            self.put(tensor.dtype)
        self.code.append(b"tR")
        if is_parameter:
            self.put(value.requires_grad)
            self.put(OrderedDict())
            self.code.append(b"tR")
        self.code.append(b"r" + struct.pack("<I", number))

    def _storage(self, tensor: torch.Tensor, legacy: str | None) -> None:
        storage = tensor.untyped_storage()
        where = (str(tensor.device), storage.data_ptr() if storage.nbytes() else -id(tensor))
        key = self.keys.setdefault(where, len(self.storages))
        if key == len(self.storages):
            self.storages.append(tensor)
        self.code.append(b"(")
        self.put("storage")
        if legacy:
            self.name(legacy, "torch")
        else:
            self.name("UntypedStorage", "torch.storage")
        self.put(str(key))
        self.put(str(tensor.device))
        count = storage.nbytes() // (tensor.dtype.itemsize if legacy else 1)
        self.put(count)
        self.code.append(b"tQ")


def _put_int(writer: _PickleWriter, value: int) -> None:
    if -(1 << 31) <= value < 1 << 31:
        writer.code.append(b"J" + struct.pack("<i", value))
        return
    digits = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    if len(digits) > 255:
        raise Refused("an example input is an integer of more than 255 bytes")
    writer.code.append(b"\x8a" + bytes([len(digits)]) + digits)


def _put_text(writer: _PickleWriter, value: str) -> None:
    raw = value.encode("utf-8", "surrogatepass")
    writer.code.append(b"X" + struct.pack("<I", len(raw)) + raw)


def _put_list(writer: _PickleWriter, values: list[Any]) -> None:
    writer.code.append(b"](")
    for value in values:
        writer.put(value)
    writer.code.append(b"e")


def _put_ordered(writer: _PickleWriter, value: OrderedDict[Any, Any]) -> None:
    writer.call("collections", "OrderedDict")
    writer.mapping(value)


def _put_dict(writer: _PickleWriter, value: dict[Any, Any]) -> None:
    if type(value) is not dict:
        raise Refused(f"an example input is a {type(value).__name__}")
    writer.code.append(b"}")
    writer.mapping(value)


def _put_device(writer: _PickleWriter, value: torch.device) -> None:
    writer.call("torch", "device", str(value))


def _put_constant(writer: _PickleWriter, value: Any) -> None:
    writer.name(str(value).removeprefix("torch."), "torch")


PLAIN: Final = frozenset({bool, int, float, complex, str, bytes})

PUTS: Final[tuple[tuple[Any, Callable[[_PickleWriter, Any], None]], ...]] = (
    (type(None), lambda writer, _: writer.code.append(b"N")),
    (bool, lambda writer, x: writer.code.append(b"\x88" if x else b"\x89")),
    (torch.Tensor, _PickleWriter.tensor),
    (int, _put_int),
    (float, lambda writer, x: writer.code.append(b"G" + struct.pack(">d", x))),
    (str, _put_text),
    (complex, lambda writer, x: writer.call("__builtin__", "complex", x.real, x.imag)),
    (bytes, lambda writer, x: writer.call("_codecs", "encode", x.decode("latin1"), "latin1")),
    (torch.Size, lambda writer, x: writer.call("torch", "Size", tuple(x))),
    (OrderedDict, _put_ordered),
    (dict, _put_dict),
    (list, _put_list),
    (torch.device, _put_device),
    ((torch.dtype, torch.layout, torch.memory_format), _put_constant),
)

__all__ = ["LEGACY", "find_registered", "pickled"]
