"""Serialised weights: the bytes of storages, and how each tensor lies in one.

Law: tensors that share storage in memory share it again after reading, and one parameter under two
names is one parameter: two of the same bytes, seen the same way, are one unless our record
numbers them. Reading copies nothing: a tensor views the mapped file, copy on write, so its
pages are read when they are first touched. Every element a tensor reaches lies inside of its
member.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive.errors import Refused, reading
from monograph.archive.files.zip_reading import DAMAGED
from monograph.archive.schema.json_fields import (
    boolean,
    integer,
    listed,
    mapping,
    only_key,
    qualified_name,
    text,
)
from monograph.archive.schema.values import device_json, device_of, dtype_code, dtype_of, layout_of
from monograph.host.dispatch import has_own_dispatch, is_fake

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from monograph.archive.files.external_weights import ExternalReader
    from monograph.archive.files.zip_reading import Container
    from monograph.archive.schema.values import Json

PREFIX: Final = {"weights": "weight_", "constants": "tensor_"}
GRAIN = 16
MOST_ELEMENTS = 1 << 40


# ---------------------------------------------------------------------------------------- writing
@dataclass(slots=True)
class Block:
    """A run of bytes of one storage, which becomes one member."""

    folder: str
    dtype: torch.dtype
    first: torch.Tensor
    begin: int
    end: int
    path: str = ""

    def cover(self, begin: int, end: int) -> None:
        """Reach over these bytes too."""
        self.begin, self.end = min(self.begin, begin), max(self.end, end)


@dataclass(slots=True)
class WeightsPlan:
    """Which bytes are written where, the configuration of each folder, and what shares storage."""

    blocks: list[Block] = field(default_factory=list[Block])
    configs: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Any]])
    aliases: dict[str, dict[str, Json]] = field(default_factory=dict[str, dict[str, Any]])

    def needs(self, folder: str, path: str) -> bool:
        """Whether a tensor lies in this member."""
        if any(each["path_name"] == path for each in self.configs.get(folder, {}).values()):
            return True
        aliases = [each for found in self.aliases.values() for each in found.values()]
        return any(each.get("member") == f"data/{folder}/{path}" for each in aliases)


class WeightsPlanner:
    """Plans the weights of several programs, which name the same member for the same storage.

    `cover` is told of the tensors of all programs, in order, before the first is planned.
    """

    def __init__(self) -> None:
        self.counts = {"weights": 0, "constants": 0}
        self.blocks: dict[tuple[Any, ...], Block] = {}
        self._new: list[list[Block]] = []
        self._placed: list[list[tuple[str, str, torch.Tensor, Block]]] = []

    def cover(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        """Find the storages of one program: "weights" and "constants", by name.

        Raises: Refused.
        """
        new, placed = list[Block](), list[tuple[str, str, torch.Tensor, Block]]()
        for folder, tensors in state.items():
            for name, value in tensors.items():
                tensor = writable(name, value)
                key = (folder, _storage_key(tensor, value), tensor.dtype)
                begin, end = _span(tensor)
                block = self.blocks.get(key)
                if block is None:
                    block = self.blocks[key] = Block(folder, tensor.dtype, tensor, begin, end)
                    block.path = f"{PREFIX[folder]}{self.counts[folder]}"
                    self.counts[folder] += 1
                    new.append(block)
                block.cover(begin, end)
                placed.append((folder, name, tensor, block))
        self._new.append(new)
        self._placed.append(placed)

    def plan(self, state: Mapping[str, Mapping[str, Any]]) -> WeightsPlan:
        """Lay out the tensors of the first program that was covered and is not planned yet."""
        plan, placed = WeightsPlan(), self._placed.pop(0)
        owners = _owners(self.blocks)
        seen: dict[Any, dict[int, int]] = {}
        for folder, name, tensor, block in placed:
            is_parameter = isinstance(state[folder][name], torch.nn.Parameter)
            config = plan.configs.setdefault(folder, {})
            payload = config[name] = _payload(tensor, block, is_parameter=is_parameter)
            owner = owners.get(_storage_key(tensor, state[folder][name]))
            alias: Json = {}
            if owner is not None and owner is not block:
                path = f"data/{owner.folder}/{owner.path}"
                alias = {"member": path, "offset": int(tensor.storage_offset())}
            parameters = seen.setdefault(_identity(folder, payload), {})
            number = parameters.setdefault(id(state[folder][name]), len(parameters))
            if is_parameter and number:
                alias |= {"parameter": number}
            if alias:
                plan.aliases.setdefault(folder, {})[name] = alias
        plan.blocks = self._new.pop(0)
        return plan


def _owners(blocks: Mapping[tuple[Any, ...], Block]) -> dict[Any, Block]:
    """For storages in several blocks: the one that is widened to hold all of the storage."""
    several: dict[Any, list[Block]] = {}
    for (_, storage, _), block in blocks.items():
        several.setdefault(storage, []).append(block)
    found: dict[Any, Block] = {}
    for storage, sharing in several.items():
        if len(sharing) > 1:
            owner = sharing[0]
            size = owner.first.untyped_storage().nbytes()
            end = size - size % owner.dtype.itemsize
            if end >= max(block.end for block in sharing):
                owner.begin, owner.end = 0, end
                found[storage] = owner
    return found


def writable(name: str, value: Any) -> torch.Tensor:
    """The tensor as its bytes are to be written, without a lazy conjugation or negation.

    What has none, as a FakeTensor, is written as one of the meta device.

    Raises: Refused.
    """
    if not isinstance(value, torch.Tensor):
        raise Refused(f"`{name}` is a {type(value).__name__}, which only pickle can hold")
    if is_fake(value):
        return torch.empty_strided(value.shape, value.stride(), dtype=value.dtype, device="meta")
    if has_own_dispatch(value) or value.layout != torch.strided:
        raise Refused(f"`{name}` is a tensor of a kind that only pickle can hold")
    return value.detach().resolve_conj().resolve_neg()


def _storage_key(tensor: torch.Tensor, value: Any) -> Any:
    """Equal for tensors of one storage; where there are no bytes, for one tensor's names."""
    storage = tensor.untyped_storage()
    is_shared = tensor.device.type != "meta" and storage.nbytes()
    return (str(tensor.device), storage.data_ptr()) if is_shared else id(value)


def _span(tensor: torch.Tensor) -> tuple[int, int]:
    """The bytes of its storage that a tensor reaches; the start is rounded down."""
    if not tensor.numel() or tensor.device.type == "meta":
        return (0, 0)
    size = tensor.dtype.itemsize
    begin = int(tensor.storage_offset()) * size
    reach = sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride(), strict=True))
    return begin // GRAIN * GRAIN, begin + (reach + 1) * size


def _payload(tensor: torch.Tensor, block: Block, *, is_parameter: bool) -> Json:
    offset = int(tensor.storage_offset()) - block.begin // tensor.dtype.itemsize
    return {
        "path_name": block.path,
        "is_param": is_parameter,
        "use_pickle": False,
        "tensor_meta": tensor_json(tensor, offset if tensor.numel() else 0),
    }


def _identity(folder: str, payload: Json) -> Any:
    """Equal for parameters that are read as one: they have the same bytes, seen the same way."""
    meta = payload["tensor_meta"]
    numbers = [*meta["sizes"], *meta["strides"], meta["storage_offset"]]
    kind = (folder, payload["path_name"], meta["dtype"], meta["requires_grad"])
    return (*kind, json.dumps([meta["device"], numbers], sort_keys=True))


def tensor_json(tensor: torch.Tensor, offset: int) -> Json:
    """The meta of a tensor with data."""
    return {
        "dtype": dtype_code(tensor.dtype),
        "sizes": [{"as_int": size} for size in tensor.shape],
        "requires_grad": tensor.requires_grad,
        "device": device_json(tensor.device),
        "strides": [{"as_int": stride} for stride in tensor.stride()],
        "storage_offset": {"as_int": offset},
        "layout": 7,
    }


def with_gradients(plan: WeightsPlan, state: Mapping[str, Mapping[str, Any]]) -> None:
    """Say which tensors require gradients; what is written was detached.

    A buffer that a call computed and that has its history is a value without one in the file.
    """
    for folder, config in plan.configs.items():
        for name, payload in config.items():
            tensor = state[folder][name]
            payload["tensor_meta"]["requires_grad"] = tensor.requires_grad and tensor.is_leaf


def block_bytes(block: Block) -> memoryview:
    """The bytes of a block, where they lie; those of another device are fetched."""
    count = block.end - block.begin
    if not count:
        return memoryview(b"")
    storage = block.first.untyped_storage()
    if block.first.device.type != "cpu":
        storage = storage.cpu()
    flat = torch.empty(0, dtype=torch.uint8).set_(storage, block.begin, (count,), (1,))
    return array_view(flat)


def array_view(flat: torch.Tensor) -> memoryview:
    """The bytes of a tensor of bytes; the view keeps the tensor alive."""
    array: Any = flat.numpy()
    return memoryview(array)


# ---------------------------------------------------------------------------------------- reading
@dataclass(slots=True)
class TensorReader:
    """Makes tensors that view the members of a container; a member is one storage.

    It may read several programs, one after the other: they share what they say is one member.
    """

    container: Container
    checked: bool = True
    outside: ExternalReader | None = None
    _flat: dict[tuple[str, torch.dtype, torch.device], torch.Tensor] = field(
        default_factory=dict[tuple[str, torch.dtype, torch.device], torch.Tensor]
    )
    _raw: dict[str, torch.Tensor] = field(default_factory=dict[str, torch.Tensor])

    def read(self, config: Any, folder: str, aliases: Json) -> dict[str, torch.Tensor]:
        """The tensors of one configuration, by name.

        Raises: Refused.
        """
        found: dict[str, torch.Tensor] = {}
        tied: dict[Any, torch.Tensor] = {}
        payloads, beside = mapping(mapping(config)["config"]), None
        if self.outside is not None and folder == "weights":
            beside = self.outside
            both = {**payloads, **beside.payloads}
            payloads = {name: both[name] for name in (*beside.order, *both)}
        for name, payload in payloads.items():
            qualified_name(name)
            entry = mapping(payload)
            if boolean(entry["use_pickle"]):
                raise Refused(f"`{name}` is pickled, and pickles run code", "archive-unsafe")
            member, offset = f"data/{folder}/{text(entry['path_name'])}", None
            if beside is not None and name in beside.payloads:
                member = f"{beside.folder}/{text(entry['file'])}#{text(entry['path_name'])}"
                if member not in self._raw:
                    data = beside.bytes_of(entry, checked=self.checked)
                    self._raw[member] = bytes_tensor(data, dtype_of(entry["tensor_meta"]["dtype"]))
            alias = mapping(mapping(aliases.get(folder, {})).get(name, {}))
            if "member" in alias:
                member, offset = text(alias["member"]), integer(alias["offset"], 0)
            tensor = self.tensor(member, mapping(entry["tensor_meta"]), offset)
            found[name] = finished(tensor, entry)
            if boolean(entry["is_param"]):
                number = integer(alias.get("parameter", 0), 0)
                found[name] = tied.setdefault((number, _identity(folder, entry)), found[name])
        return found

    def tensor(self, member: str, meta: Json, offset: int | None = None) -> torch.Tensor:
        """One tensor in a member.

        Raises: Refused.
        """
        dtype, device = dtype_of(meta["dtype"]), device_of(meta["device"])
        if layout_of(meta) is not torch.strided:
            raise Refused(f"the tensor in {member} is not strided")
        sizes, strides = numbers(meta["sizes"]), numbers(meta["strides"])
        if offset is None:
            (offset,) = numbers([meta["storage_offset"]])
        if device.type == "meta":
            check_reach(sizes, strides, offset, MOST_ELEMENTS)
            return torch.empty_strided(sizes, strides, dtype=dtype, device=device)
        flat = self._member(member, dtype, device)
        check_reach(sizes, strides, offset, flat.numel())
        # Not a view of `flat`: autograd would take writes to it for writes to all of the storage.
        found = torch.empty(0, dtype=dtype, device=flat.device)
        found.set_(flat.untyped_storage(), int(flat.storage_offset()) + offset, sizes, strides)
        return found

    def _member(self, member: str, dtype: torch.dtype, device: torch.device) -> torch.Tensor:
        found = self._flat.get((member, dtype, device))
        if found is not None:
            return found
        raw = self._raw.get(member)
        if raw is None:
            with reading(member):
                raw = self._raw[member] = bytes_tensor(
                    self.container.view(member, checked=self.checked)
                )
        if raw.numel() % dtype.itemsize:
            raise Refused(f"{member} is not whole elements of {dtype}", DAMAGED)
        found = raw.view(dtype) if raw.numel() else raw.to(dtype)
        found = found if device.type == "cpu" else _on(device, found)
        self._flat[member, dtype, device] = found
        return found


def _on(device: torch.device, tensor: torch.Tensor) -> torch.Tensor:
    try:
        return tensor.to(device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        what = (str(error).splitlines() or [""])[0]
        raise Refused(f"its tensors lie on {device}, which is not here: {what[:120]}") from None


def bytes_tensor(view: memoryview, dtype: torch.dtype | None = None) -> torch.Tensor:
    """Bytes as a tensor that views them; a copy where they begin at an odd address."""
    if not len(view):
        return torch.empty(0, dtype=torch.uint8)
    found = torch.frombuffer(view, dtype=torch.uint8)
    grain = GRAIN if dtype is None else dtype.itemsize
    return found if found.data_ptr() % grain == 0 else found.clone()


def finished(tensor: torch.Tensor, entry: Json) -> torch.Tensor:
    """A parameter where it is one, with its flag."""
    needs_gradient = boolean(mapping(entry["tensor_meta"])["requires_grad"])
    if needs_gradient and not (tensor.is_floating_point() or tensor.is_complex()):
        raise Refused(f"a tensor of {tensor.dtype} is said to require gradients")
    if boolean(entry["is_param"]):
        return torch.nn.Parameter(tensor, requires_grad=needs_gradient)
    return tensor.requires_grad_() if needs_gradient else tensor


def numbers(values: Any) -> tuple[int, ...]:
    """Sizes, strides or offsets that are all constants.

    Raises: Refused.
    """
    return tuple(_numbers(values))


def _numbers(values: Any) -> Iterator[int]:
    for value in listed(values):
        tag, inner = only_key(value)
        if tag != "as_int":
            raise Refused("a tensor with data has a size that varies")
        yield integer(inner, 0)


def check_reach(sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, count: int) -> None:
    """Hold that every element lies among `count`; integers here have no limit.

    Raises: Refused.
    """
    if len(sizes) != len(strides) or len(sizes) > 64:
        raise Refused(f"a tensor has {len(sizes)} sizes and {len(strides)} strides")
    total = 1
    for size in sizes:
        total *= size
    if total > MOST_ELEMENTS:
        raise Refused(f"a tensor has {total} elements")
    last = offset + sum((size - 1) * step for size, step in zip(sizes, strides, strict=True))
    if (total and last >= count) or offset > count:
        raise Refused("a tensor reaches beyond its bytes")


__all__ = [
    "Block",
    "TensorReader",
    "WeightsPlan",
    "WeightsPlanner",
    "array_view",
    "block_bytes",
    "bytes_tensor",
    "check_reach",
    "finished",
    "numbers",
    "tensor_json",
    "with_gradients",
    "writable",
]
