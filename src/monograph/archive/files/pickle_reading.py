"""A restricted unpickler: example inputs as `torch.save` wrote them, read without pickle.

A pickle is a program for a small stack machine. Some thirty of its instructions are read, by an
interpreter that can build tensors, containers and scalars and nothing else: a name is looked up in
a table or among the classes registered as structures, never imported, and nothing is called but
what the table says.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive.budget import DEEPEST
from monograph.archive.errors import Refused
from monograph.archive.files.pickle_writing import LEGACY, find_registered
from monograph.archive.files.weights import bytes_tensor, check_reach
from monograph.archive.files.zip_reading import Container, members_of
from monograph.archive.schema.json_fields import integer
from monograph.archive.schema.plain_values import find_loaded
from monograph.archive.schema.values import device_of
from monograph.host.trees import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from monograph.archive.budget import Budget

UNSAFE = "archive-unsafe"
MOST_NESTED_KEYS = 8
COST_OF_A_TUPLE = 100

CONSTANTS: Final[Mapping[str, Any]] = {
    str(each): each
    for each in vars(torch).values()
    if isinstance(each, torch.dtype | torch.layout | torch.memory_format)
}


def unpickled(blob: memoryview, budget: Budget) -> Any:
    """The value in what `torch.save` wrote, if it is made of tensors, containers and scalars.

    What it says twice by remembering it counts twice, as it does for whoever walks through it.

    Raises: Refused.
    """
    members = members_of(blob)
    container = Container(blob, members)
    if "byteorder" in members and bytes(container.view("byteorder")) != b"little":
        raise Refused("its numbers are written in the other byte order")
    code = container.view("data.pkl")
    budget.allow(len(code))
    return _PickleMachine(container, budget).run(code)


class _Storage:
    """Bytes, and the dtype that the name of the storage's class says; None says nothing."""

    __slots__ = ("data", "device", "dtype")

    def __init__(self, data: torch.Tensor, dtype: torch.dtype | None, device: str) -> None:
        self.data = data
        self.dtype = dtype
        self.device = device


class _Global:
    """A name that stands for something: what it makes when it is called, or its class."""

    __slots__ = ("kind", "make", "name")

    def __init__(
        self, name: str, make: Callable[..., Any] | None, kind: type | None = None
    ) -> None:
        self.name = name
        self.make = make
        self.kind = kind


def _rebuilt(storage: Any, offset: Any, size: Any, stride: Any, *rest: Any) -> torch.Tensor:
    if not isinstance(storage, _Storage):
        raise Refused("a tensor is made of what is no storage", UNSAFE)
    needs_gradient = rest[0] if rest else False
    dtype = storage.dtype or (rest[2] if len(rest) > 2 else None)
    if not isinstance(dtype, torch.dtype) or not isinstance(needs_gradient, bool):
        raise Refused("a tensor does not say its dtype")
    if storage.data.numel() % dtype.itemsize:
        raise Refused("a storage is not whole elements")
    flat = storage.data.view(dtype) if storage.data.numel() else storage.data.to(dtype)
    sizes, strides = tuple(size), tuple(stride)
    if not all(type(n) is int and n >= 0 for n in (*sizes, *strides, offset)):
        raise Refused("a tensor has a size that is no number")
    check_reach(sizes, strides, offset, flat.numel())
    found = flat.as_strided(sizes, strides, offset)
    if storage.device != "cpu":
        kind, _, index = storage.device.partition(":")
        found = found.to(device_of({"type": kind, "index": int(index) if index else None}))
    return found.requires_grad_() if needs_gradient else found


def _parameter(data: Any, needs_gradient: Any, *_: Any) -> torch.nn.Parameter:
    return torch.nn.Parameter(data, requires_grad=bool(needs_gradient))


def _without_attributes(make: Any, kind: Any, args: Any, _: Any) -> torch.Tensor:
    """A tensor that had attributes, as torch.export gives them to what `Dim.DYNAMIC` is said of."""
    names = [each.name if isinstance(each, _Global) else "" for each in (make, kind)]
    if CALLS.get(names[0]) is not _rebuilt or names[1] != "torch.Tensor" or type(args) is not tuple:
        raise Refused("a tensor is of an unknown class", UNSAFE)
    return _rebuilt(*args)


def _encoded(value: Any, coding: Any) -> bytes:
    if coding != "latin1" or not isinstance(value, str):
        raise Refused("bytes are written in an unknown way", UNSAFE)
    return value.encode("latin1")


def _ordered(*args: Any) -> OrderedDict[Any, Any]:
    if args and not (len(args) == 1 and isinstance(args[0], list)):
        raise Refused("a dictionary is made in an unknown way", UNSAFE)
    return OrderedDict(*args)


def _device(name: Any, index: Any = None) -> torch.device:
    kind, _, number = str(name).partition(":")
    return device_of({"type": kind, "index": int(number) if number else index})


CALLS: Final[Mapping[str, Callable[..., Any]]] = {
    "__builtin__.complex": complex,
    "_codecs.encode": _encoded,
    "builtins.complex": complex,
    "collections.OrderedDict": _ordered,
    "torch.Size": torch.Size,
    "torch._tensor._rebuild_from_type_v2": _without_attributes,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch._utils._rebuild_tensor_v2": _rebuilt,
    "torch._utils._rebuild_tensor_v3": _rebuilt,
    "torch.device": _device,
}
STORAGES: Final[Mapping[str, torch.dtype | None]] = {
    **{f"torch.{name}": dtype for dtype, name in LEGACY.items()},
    "torch.storage.UntypedStorage": None,
}


class _PickleMachine:
    """Runs the instructions; what it can build is said in `CALLS` and `INSTRUCTIONS`."""

    def __init__(self, container: Container, budget: Budget) -> None:
        self.container = container
        self.budget = budget
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.storages: dict[str, torch.Tensor] = {}
        self.code = memoryview(b"")
        self.at = 0

    def run(self, code: memoryview) -> Any:
        """Run to the end and return what is on the stack."""
        self.code = code
        while True:
            instruction = self.byte()
            if instruction == 0x2E:
                if len(self.stack) != 1 or self.marks:
                    raise Refused("its examples end in the middle")
                self.finished(self.stack[0])
                return self.stack[0]
            run = INSTRUCTIONS.get(instruction)
            if run is None:
                raise Refused(
                    f"its examples need the pickle instruction {chr(instruction)!r}", UNSAFE
                )
            run(self)

    def byte(self) -> int:
        """The next byte."""
        return self.bytes(1)[0]

    def bytes(self, count: int) -> memoryview:
        """The next bytes."""
        found = self.code[self.at : self.at + count]
        if len(found) != count:
            raise Refused("its examples end in the middle")
        self.at += count
        return found

    def line(self) -> str:
        """The text up to the end of the line."""
        found = bytearray()
        while (byte := self.byte()) != 0x0A:
            found.append(byte)
            if len(found) > 512:
                raise Refused("a name in its examples is longer than 512 bytes")
        return found.decode()

    def number(self, form: str) -> Any:
        """The next number of a `struct` format."""
        (found,) = struct.unpack(form, self.bytes(struct.calcsize(form)))
        return found

    def push(self, value: Any) -> None:
        """Put a value on the stack."""
        self.stack.append(value)

    def pop(self) -> Any:
        """Take the value on top of the stack, above the last mark."""
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            raise Refused("its examples take from an empty stack")
        return self.stack.pop()

    def top(self, kind: type) -> Any:
        """Look at the value on top of the stack, which must be of this class."""
        if not self.stack or type(self.stack[-1]) is not kind:
            raise Refused(f"its examples change what is no {kind.__name__}")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        """Take everything above the last mark."""
        if not self.marks:
            raise Refused("its examples lack a mark")
        start = self.marks.pop()
        found = self.stack[start:]
        del self.stack[start:]
        return found

    def global_(self) -> None:
        """A name."""
        module, name = self.line(), self.line()
        full = f"{module}.{name}"
        if full in CONSTANTS:
            self.push(CONSTANTS[full])
        elif full in CALLS:
            self.push(_Global(full, CALLS[full]))
        elif full in STORAGES or full == "torch.Tensor":
            self.push(_Global(full, None))
        else:
            kind = find_registered(full) or find_loaded(f"{module}:{name}")
            if kind is None or not (
                kind in pytree.SUPPORTED_NODES or pytree.is_namedtuple_class(kind)
            ):
                raise Refused(f"its examples name {full[:120]}", UNSAFE)
            self.push(_Global(full, None, kind))

    def reduce(self) -> None:
        """Call a name."""
        args, function = self.pop(), self.pop()
        if not isinstance(function, _Global) or function.make is None:
            raise Refused("its examples call what is no function", UNSAFE)
        if type(args) is not tuple:
            raise Refused("its examples call a function in an unknown way", UNSAFE)
        for each in args:
            self.budget.charge(1 + len(each) // 16 if isinstance(each, str | tuple | list) else 1)
        made = function.make(*args)
        for key in made if isinstance(made, dict) else ():
            self.key(key)
        self.push(made)

    def new(self) -> None:
        """An instance of a registered class, made without running its code."""
        args, kind = self.pop(), self.pop()
        if not isinstance(kind, _Global) or kind.kind is None or type(args) is not tuple:
            raise Refused("its examples make an object of an unknown class", UNSAFE)
        fields = getattr(kind.kind, "_fields", ())
        if pytree.is_namedtuple_class(kind.kind) and len(args) == len(fields):
            self.push(tuple.__new__(kind.kind, args))
        elif is_dataclass(kind.kind) and not args:
            self.push(object.__new__(kind.kind))
        else:
            raise Refused(f"its examples make a {kind.name} in an unknown way", UNSAFE)

    def build(self) -> None:
        """Fill an instance; its own code does not run."""
        state = self.pop()
        if not self.stack or not is_dataclass(self.stack[-1]) or type(state) is not dict:
            raise Refused("its examples fill an object in an unknown way", UNSAFE)
        target = self.stack[-1]
        if not set(state) <= set(type(target).__dataclass_fields__):
            raise Refused("its examples fill an object with unknown fields", UNSAFE)
        for name, value in state.items():
            object.__setattr__(target, name, value)

    def persistent(self) -> None:
        """A storage: its bytes are a member."""
        given = self.pop()
        if type(given) is not tuple or len(given) != 5 or given[0] != "storage":
            raise Refused("its examples name a storage in an unknown way", UNSAFE)
        _, kind, key, device, _ = given
        if not isinstance(kind, _Global) or kind.name not in STORAGES or type(key) is not str:
            raise Refused("its examples name a storage in an unknown way", UNSAFE)
        data = self.storages.get(key)
        if data is None:
            data = bytes_tensor(self.container.view(f"data/{key}"))
            self.storages[key] = data
        self.push(_Storage(data, STORAGES[kind.name], str(device)))

    def put_memo(self, number: int) -> None:
        """Remember the top of the stack."""
        if not self.stack:
            raise Refused("its examples take from an empty stack")
        self.memo[number] = self.stack[-1]

    def get_memo(self, number: int) -> None:
        """Push what was remembered."""
        if number not in self.memo:
            raise Refused("its examples use what they did not remember")
        self.push(self.memo[number])

    def items(self, pairs: list[Any]) -> None:
        """Enter keys and values into the dictionary on top of the stack."""
        if len(pairs) % 2:
            raise Refused("its examples have a key without a value")
        for key in pairs[::2]:
            self.key(key)
        kind = OrderedDict if self.stack and type(self.stack[-1]) is OrderedDict else dict
        self.top(kind).update(zip(pairs[::2], pairs[1::2], strict=True))

    def key(self, value: Any, depth: int = 0) -> None:
        """Hold that a value may be a key: a scalar, or a tuple of few of them.

        Why: hashing a tuple walks through what it shares as often as it does, and by recursion of
        C; integers without bound, and many tuples, can be chosen to have one hash.
        """
        if isinstance(value, tuple) and depth < MOST_NESTED_KEYS:
            self.budget.charge(COST_OF_A_TUPLE)
            for each in value:
                self.key(each, depth + 1)
        elif isinstance(value, int):
            integer(int(value))
        elif not isinstance(value, str | float | bytes | torch.dtype | torch.device | None):
            raise Refused(f"its examples have a {type(value).__name__} for a key")

    def finished(self, value: Any, depth: int = 0) -> None:
        """Hold that the result is no deeper than a structure, and has nothing of the machine's."""
        if isinstance(value, _Global | _Storage):
            raise Refused("its examples hold a name where a value should stand", UNSAFE)
        if depth > DEEPEST:
            raise Refused(f"its examples are more than {DEEPEST} containers inside each other")
        if is_dataclass(value):
            fields = type(value).__dataclass_fields__
            value = {name: getattr(value, name) for name in fields if hasattr(value, name)}
        inside = value.values() if isinstance(value, dict) else value
        if isinstance(value, dict | list | tuple):
            self.budget.charge(1 + len(inside))
            for each in inside:
                self.finished(each, depth + 1)


def _long(machine: _PickleMachine) -> None:
    count = machine.byte()
    machine.push(int.from_bytes(machine.bytes(count), "little", signed=True))


def _text(machine: _PickleMachine) -> None:
    count = machine.number("<I")
    machine.push(bytes(machine.bytes(count)).decode("utf-8", "surrogatepass"))


def _tuple_of(count: int) -> Callable[[_PickleMachine], None]:
    def make(machine: _PickleMachine) -> None:
        values = [machine.pop() for _ in range(count)]
        machine.push(tuple(reversed(values)))

    return make


def _protocol(machine: _PickleMachine) -> None:
    if machine.byte() not in (2, 3, 4, 5):
        raise Refused("its examples are a pickle of an unknown protocol")


def _append(machine: _PickleMachine) -> None:
    value = machine.pop()
    machine.top(list).append(value)


def _extend(machine: _PickleMachine) -> None:
    values = machine.since_mark()
    machine.top(list).extend(values)


def _set_item(machine: _PickleMachine) -> None:
    value, key = machine.pop(), machine.pop()
    machine.items([key, value])


INSTRUCTIONS: Final[Mapping[int, Callable[[_PickleMachine], None]]] = {
    ord(code): run
    for code, run in {
        "\x80": _protocol,
        "(": lambda machine: machine.marks.append(len(machine.stack)),
        ")": lambda machine: machine.push(()),
        "]": lambda machine: machine.push([]),
        "}": lambda machine: machine.push({}),
        "N": lambda machine: machine.push(None),
        "\x88": lambda machine: machine.push(True),
        "\x89": lambda machine: machine.push(False),
        "J": lambda machine: machine.push(machine.number("<i")),
        "K": lambda machine: machine.push(machine.number("<B")),
        "M": lambda machine: machine.push(machine.number("<H")),
        "\x8a": _long,
        "G": lambda machine: machine.push(machine.number(">d")),
        "X": _text,
        "t": lambda machine: machine.push(tuple(machine.since_mark())),
        "\x85": _tuple_of(1),
        "\x86": _tuple_of(2),
        "\x87": _tuple_of(3),
        "a": _append,
        "e": _extend,
        "s": _set_item,
        "u": lambda machine: machine.items(machine.since_mark()),
        "q": lambda machine: machine.put_memo(machine.byte()),
        "r": lambda machine: machine.put_memo(machine.number("<I")),
        "h": lambda machine: machine.get_memo(machine.byte()),
        "j": lambda machine: machine.get_memo(machine.number("<I")),
        "c": _PickleMachine.global_,
        "R": _PickleMachine.reduce,
        "\x81": _PickleMachine.new,
        "b": _PickleMachine.build,
        "Q": _PickleMachine.persistent,
    }.items()
}

__all__ = ["unpickled"]
