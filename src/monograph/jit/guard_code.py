"""Guards: what a segment relies on, written as the Python function that checks it.

Each object that Python met from outside has a name in that function: a variable that reads it from
where it was met, or a constant where its identity is guarded. Reading what is not there, or what
has another type, is a guard that fails.
"""

from __future__ import annotations

import enum
import reprlib
from collections import Counter, OrderedDict, defaultdict, deque
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import torch

from monograph.bytecode.evaluation.frame import MISSING
from monograph.bytecode.evaluation.special_methods import lookup
from monograph.jit.version_tags import TagList

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "ATOMS",
    "CONTAINERS",
    "LRU_CACHE",
    "MAPPINGS",
    "TENSORS",
    "GuardWriter",
    "NotGuardable",
    "SegmentGuard",
    "container_of",
    "description",
    "is_constant",
    "is_odd",
    "is_plain",
    "is_python_class",
    "sharing",
    "slots_of",
    "storage_of",
    "tensor_condition",
]

ATOMS: Final = frozenset(
    {
        *(bool, bytes, complex, float, int, str, type(None), type(Ellipsis)),
        *(type(NotImplemented), range, slice, torch.Size),
    }
)
"""Types whose objects are what they are equal to."""
LRU_CACHE: Final = type(lru_cache(lambda: None))
_BY_IDENTITY: Final = (
    *(type, FunctionType, MethodDescriptorType, WrapperDescriptorType),
    *(ModuleType, CodeType, torch.nn.Module, torch.dtype, torch.layout, torch.memory_format),
    *(torch.device, np.dtype, enum.Enum, property, classmethod, staticmethod),
    *(ContextVar, LRU_CACHE),
    *(type(torch.ops.aten), type(torch.ops.aten.add), type(torch.ops.aten.add.Tensor)),
)
_PYBIND: Final = "pybind11_builtins"
_BOUND: Final = (BuiltinFunctionType, MethodType, MethodWrapperType)


class NotGuardable(Exception):  # noqa: N818 - a signal, which is no error
    """What an object holds cannot be said in guards."""


@dataclass(frozen=True, slots=True)
class SegmentGuard:
    """One condition: what it is about, what it wants, and the line of user code that asked.

    `read` is the expression that gives the value, with the first `n_lines` lines run before it.
    """

    about: str
    expected: Any
    place: str
    read: str
    n_lines: int

    def __str__(self) -> str:
        """What is wanted, and who asked."""
        asked = f", asked at {self.place}" if self.place else ""
        return f"{self.about} is {_shown(self.expected)}{asked}"


def _shown(value: Any) -> str:
    if isinstance(value, dict) and "dtype" in value:
        parts: dict[str, Any] = value
        return f"{parts['dtype']}{[*parts['shape']]} on {parts['device']}"
    if isinstance(value, str | type | FunctionType | BuiltinFunctionType):
        return str(getattr(value, "__qualname__", value))
    if value is MISSING:
        return "not there"
    return reprlib.repr(value) if type(value) in (*ATOMS, tuple) else f"the {type(value).__name__}"


def is_constant(value: Any) -> bool:
    """Whether a segment may hold an object itself, guarded by its identity."""
    if type(value) is FunctionType:
        return value.__closure__ is None and "<locals>" not in value.__qualname__
    if type(value) not in (BuiltinFunctionType, MethodWrapperType):
        return isinstance(value, _BY_IDENTITY)
    owner = value.__self__
    # A method of a class of pybind11 is bound to the record that pybind11 keeps of it.
    return isinstance(owner, type | ModuleType | None) or type(owner).__module__ == _PYBIND


class GuardWriter:
    """Writes the guards of one segment, in the order in which things were met."""

    def __init__(self, place: Callable[[], str]) -> None:
        """`place` gives the line of user code that runs now."""
        self.lines: list[str] = []
        self.fixed_lines: set[int] = set()
        """Those that hold, or read the same, as long as what `tags` watches is as it was."""
        self.tags = TagList()
        self.guards: list[SegmentGuard] = []
        self.constants: dict[str, Any] = {"T": torch.Tensor, "P": torch.nn.Parameter}
        self.names: dict[int, str] = {}
        """How the function calls each object from outside, by identity."""
        self.labels: dict[int, str] = {}
        self.shared: set[int] = set()
        """Objects that a call made while recording, and that replays share: none leaves them."""
        self.originals: dict[int, Any] = {}
        """What containers held at the entry that hold something else by now, by identity."""
        self._constant_names: dict[int, str] = {}
        self._checked: set[str] = set()
        self._kept: list[Any] = []
        self._asked: dict[int, str] = {}
        """Where the first operator was that read a tensor, by identity."""
        self._touched: set[int] = set()
        self._met: set[str] = set()
        self._fixed: set[str] = set()
        self._atoms: dict[int, list[str]] = {}
        """Where numbers and texts were read, by identity."""
        self._place = place

    def forget(self) -> None:
        """Keep nothing alive any longer but constants; no object is met from here on."""
        self._kept.clear()
        self.names.clear()
        self._atoms.clear()
        self.labels.clear()
        self._constant_names.clear()

    def constant(self, value: Any) -> str:
        """The name of a constant of the function."""
        name = self._constant_names.get(id(value))
        if name is None:
            name = self._constant_names[id(value)] = f"k{len(self._constant_names)}"
            self.constants[name] = value
            self._kept.append(value)
        return name

    def check(
        self,
        fails: str,
        about: str,
        expected: Any,
        read: str = "None",
        *,
        fixed: bool = False,
        place: str = "",
    ) -> None:
        """Guard that a condition does not hold; `fixed`, if only a change of `tags` makes it.

        `place` is who asks, if that is not the code that runs now.
        """
        if fails in self._checked:
            return
        self._checked.add(fails)
        n_lines = len(self.lines)
        self._line(f"if {fails}: return {len(self.guards)}", fixed=fixed)
        self.guards.append(SegmentGuard(about, expected, place or self._place(), read, n_lines))

    def _line(self, line: str, *, fixed: bool) -> None:
        if fixed:
            self.fixed_lines.add(len(self.lines))
        self.lines.append(line)

    def computed(self, expression: str) -> str:
        """The name of what an expression gives; a guard fails where it raises."""
        name = f"a{len(self.lines)}"
        self._line(f"{name} = {expression}", fixed=False)
        return name

    def is_fixed(self, name: str) -> bool:
        """Whether a name stands for the same object as long as `tags` are as they were."""
        return name in self.constants or name in self._fixed

    def is_known(self, value: Any) -> bool:
        """Whether an object was met from outside."""
        return id(value) in self.names

    def label(self, value: Any) -> str:
        """What users call an object that was met."""
        return self.labels.get(id(value), type(value).__name__)

    def know(self, value: Any, name: str, label: str) -> None:
        """An object is what an expression gives, and nothing needs to be checked for that."""
        self._kept.append(value)
        self.names[id(value)] = name
        self.labels[id(value)] = label

    def meet(self, value: Any, read: str, label: str, *, fixed: bool = False) -> None:
        """Python has read a value from outside."""
        if read in self._met:
            return
        self._met.add(read)
        if type(value) in ATOMS:
            self._atom(value, read, label, fixed=fixed)
        elif id(value) in self.names:
            name = self.names[id(value)]
            if name != read:
                same = f"the same object as {self.label(value)}"
                fixed = fixed and self.is_fixed(name)
                self.check(f"{read} is not {name}", label, same, fixed=fixed)
        elif is_constant(value):
            name = self.constant(value)
            self.check(f"{read} is not {name}", label, value, read, fixed=fixed)
            self.know(value, name, label)
            if isinstance(value, torch.nn.Module):
                kind = self.constant(type(value))
                fails = f"type({name}) is not {kind}"
                fixed = self.tags.instance(value)
                self.check(fails, f"type({label})", type(value), fixed=fixed)
        else:
            name = f"v{len(self.names)}_{len(self.lines)}"
            self._line(f"{name} = {read}", fixed=fixed)
            self._object(value, name, label, fixed=fixed)

    def _object(self, value: Any, name: str, label: str, *, fixed: bool) -> None:
        if fixed:
            self._fixed.add(name)
        self.know(value, name, label)
        if isinstance(value, TENSORS):
            self._class_of(value, name, label)
        else:
            fails = f"type({name}) is not {self.constant(type(value))}"
            is_c = fixed and not type(value).__flags__ & (1 << 9)  # has its class for good
            self.check(fails, f"type({label})", type(value), name, fixed=is_c)
        for part in ("__func__", "__self__") if type(value) in _BOUND else ():
            if hasattr(value, part):
                read, about = f"{name}.{part}", f"{label}.{part}"
                self.meet(getattr(value, part), read, about, fixed=fixed)

    def _atom(self, value: Any, read: str, label: str, *, fixed: bool) -> None:
        if value is None or type(value) in (bool, type(Ellipsis), type(NotImplemented)):
            self.check(f"{read} is not {value}", label, value, read, fixed=fixed)
            return
        if type(value) is slice and is_odd(value):
            self.check(f"{read} is not {self.constant(value)}", label, value, read, fixed=fixed)
            return
        kind, expected = self.constant(type(value)), self.constant(value)
        name = read
        if not read.isidentifier():
            name = f"a{len(self.lines)}"
            self._line(f"{name} = {read}", fixed=fixed)
        fails = f"{name} is not {expected} and (type({name}) is not {kind} or {name} != {expected}"
        if isinstance(value, float | complex | range | slice):  # 0.0 == -0.0, as others here
            fails += f" or repr({name}) != {self.constant(repr(value))}"
        self.check(f"{fails})", label, value, name, fixed=fixed)
        self.note_atom(value, name)

    def note_atom(self, value: Any, name: str) -> None:
        """A number or text is what an expression gives."""
        self._kept.append(value)
        self._atoms.setdefault(id(value), []).append(name)

    def atoms_are_one(self, left: Any, right: Any) -> None:
        """Guard whether two numbers or texts are one object."""
        one, two = (self._atoms.get(id(each)) or [self.constant(each)] for each in (left, right))
        for name in (*one[1:], *two[1:]):
            first = one[0] if name in one else two[0]
            self.check(f"{first} is not {name}", f"whether {name} is {first}", True)
        if left is not right:
            self.check(f"{one[0]} is {two[0]}", f"whether {one[0]} is {two[0]}", False)

    def attribute(
        self, owner: Any, name: str, value: Any, read: str, *, fixed: bool = False
    ) -> None:
        """Python has read an attribute of an object from outside, which an expression gives."""
        self.meet(value, read, f"{self.label(owner)}.{name}", fixed=fixed)

    def meet_parts(self, function: FunctionType, name: str, label: str) -> None:
        """Guard the defaults of a function, and know its cells. Raises: NotGuardable."""
        is_fixed = name in self.constants
        fixed = is_fixed and self.tags.function(function)
        defaults = function.__defaults__
        if defaults is None or is_fixed:
            expected = "None" if defaults is None else self.constant(defaults)
            fails = f"{name}.__defaults__ is not {expected}"
            self.check(fails, f"{label}.__defaults__", defaults, fixed=fixed)
            for value in defaults or ():
                if type(value) not in ATOMS and id(value) not in self.names:
                    self.know(value, self.constant(value), f"a default of {label}")
        else:
            self.meet(defaults, f"{name}.__defaults__", f"{label}.__defaults__")
            self.contents(defaults)
        named = function.__kwdefaults__
        if named is None:
            self.check(f"{name}.__kwdefaults__", f"{label}.__kwdefaults__", None, fixed=fixed)
        else:
            read = f"{name}.__kwdefaults__"
            self.meet(named, read, f"{label}.__kwdefaults__", fixed=fixed)
            self.contents(named)
        for index, cell in enumerate(function.__closure__ or ()):
            if id(cell) not in self.names:
                fixed = self.constant(cell) if is_fixed else f"{name}.__closure__[{index}]"
                self.know(cell, fixed, function.__code__.co_freevars[index])

    def tensor(self, tensor: torch.Tensor) -> None:
        """Guard all that a tensor is but its data."""
        name = self.names[id(tensor)]
        if id(tensor) not in self._touched:
            self._touched.add(id(tensor))
            fails, expected = tensor_condition(self, name, tensor)
            self.check(fails, self.label(tensor), expected, name, place=self.asked(tensor))

    def asked(self, tensor: torch.Tensor) -> str:
        """Where the first operator was that read a tensor."""
        return self._asked.get(id(tensor), "")

    def has_metadata_of(self, tensor: torch.Tensor) -> bool:
        """Whether all that a tensor is but its data is guarded."""
        return id(tensor) in self._touched

    def read_by_operator(self, tensor: torch.Tensor) -> str:
        """Note that an operator reads a tensor; return its name."""
        self._asked.setdefault(id(tensor), self._place())
        return self.names[id(tensor)]

    def _class_of(self, tensor: torch.Tensor, name: str, label: str) -> None:
        """Guard the class of a tensor: Python learns of it by `is None`, too."""
        kind = {torch.Tensor: "T", torch.nn.Parameter: "P"}.get(type(tensor))
        kind = kind or self.constant(type(tensor))
        about = f"type({label})"
        self.check(f"type({name}) is not {kind}", about, type(tensor), f"type({name})")

    def check_distinct(self, owner: Any) -> None:
        """Guard that an object is none of the others of its type that were met."""
        own = self.names[id(owner)]
        for other in self._kept:
            name = self.names.get(id(other))
            if type(other) is type(owner) and other is not owner and name is not None:
                one, two = sorted((own, name))
                if not (one in self.constants and two in self.constants):
                    about = f"{self.label(owner)} is {self.label(other)}"
                    self.check(f"{one} is {two}", about, False)

    def contents(self, value: Any) -> None:
        """Guard all that a plain container from outside holds. Raises: NotGuardable."""
        name = self.names[id(value)]
        if id(value) in self._touched:
            return
        self._touched.add(id(value))
        kind = type(value)
        label = self.label(value)
        live, value = value, self.originals.get(id(value), value)
        if kind in (list, tuple, deque) or (issubclass(kind, tuple) and hasattr(kind, "_fields")):
            fixed = kind is tuple and self.is_fixed(name)
            size = f"len({name})"
            self.check(f"{size} != {len(value)}", f"len({label})", len(value), size, fixed=fixed)
            for index, item in enumerate(value):
                self.meet(item, f"{name}[{index}]", f"{label}[{index}]", fixed=fixed)
                self._nested(item)
        elif kind in MAPPINGS:
            self._mapping(value, live, name, label)
        elif container_of(kind) is not None:
            self._subclass(value, container_of(kind), name, label)
        elif kind in (set, frozenset) and all(type(item) in ATOMS for item in value):
            expected, exact = self.constant(exactly(value)), self.constant(exactly)
            self.check(f"{exact}({name}) != {expected}", label, value, name)
        else:
            raise NotGuardable(f"what a `{kind.__name__}` holds")

    def _mapping(self, value: Any, live: Any, name: str, label: str) -> None:
        if not all(type(key) in ATOMS or is_constant(key) for key in value):
            raise NotGuardable("a dict with keys that are no plain values")
        keys, exact = self.constant(exactly(value)), self.constant(exactly)
        if all(type(key) is str for key in value):
            keys, exact = self.constant(tuple(value)), "tuple"
        fixed = type(value) is dict and self.is_fixed(name) and self.tags.table(live)
        self.check(
            f"{exact}({name}) != {keys}" if value else name,
            f"keys of {label}",
            tuple(value),
            f"tuple({name})",
            fixed=fixed,
        )
        for key, item in value.items():
            read = f"{name}[{self.constant(key)}]"
            self.meet(item, read, f"{label}[{key!r}]", fixed=fixed)
            self._nested(item)

    def _subclass(self, value: Any, base: Any, name: str, label: str) -> None:
        """What an object holds of a class that derives from a container, asked of that in C."""
        if base is list:
            size = f"{self.constant(list.__len__)}({name})"
            self.check(f"{size} != {list.__len__(value)}", f"len({label})", list.__len__(value))
            keys: Any = range(list.__len__(value))
        else:
            keys, exact = tuple(base.keys(value)), self.constant(exactly)
            if not all(type(key) in ATOMS or is_constant(key) for key in keys):
                raise NotGuardable("a dict with keys that are no plain values")
            read = f"{exact}({self.constant(base.keys)}({name}))"
            fails = f"{read} != {self.constant(exactly(keys))}"
            self.check(fails, f"keys of {label}", keys, read)
        for key in keys:
            self.item(value, base, key)

    def item(self, value: Any, base: Any, key: Any) -> None:
        """Guard one item of an object whose class derives from a container."""
        name, label = self.names[id(value)], self.label(value)
        item = base.__getitem__(value, key)
        read = f"{self.constant(base.__getitem__)}({name}, {self.constant(key)})"
        self.meet(item, read, f"{label}[{key!r}]")
        self._nested(item)

    def _nested(self, item: Any) -> None:
        is_container = type(item) in CONTAINERS or container_of(type(item)) is not None
        if is_container and id(item) in self.names:
            self.contents(item)


def exactly(values: Any) -> tuple[Any, ...]:
    """What tells keys apart that compare equal: their types and texts, in their order."""
    return tuple([(type(each), each, str(each)) for each in values])


MAPPINGS: Final = frozenset({dict, OrderedDict, defaultdict, Counter})
CONTAINERS: Final = frozenset({list, tuple, deque, set, frozenset, *MAPPINGS})


def is_python_class(kind: type) -> bool:
    """Whether objects of a class hold nothing but attributes: no base is written in C.

    Classes made by C extensions look like others, but their objects are larger, or made in C.
    """
    for base in kind.__mro__[:-1]:
        if not base.__flags__ & (1 << 9) or type(vars(base).get("__new__")) is BuiltinFunctionType:
            return False
    return kind.__basicsize__ <= object.__basicsize__ + 8 * (2 + len(slots_of(kind)))


def container_of(kind: type) -> Any:
    """The plain container that a class of Python derives from, if that is all it has of C."""
    if not kind.__flags__ & (1 << 9) or not issubclass(kind, list | dict):
        return None
    written_in_c = [base for base in kind.__mro__[:-1] if not base.__flags__ & (1 << 9)]
    if written_in_c not in _BASES or lookup(kind, "__missing__") is not MISSING:
        return None
    found = written_in_c[0]
    is_large = kind.__basicsize__ > found.__basicsize__ + 8 * (2 + len(slots_of(kind)))
    return None if is_large else found


_BASES: Final = ([list], [dict], [OrderedDict, dict])


def slots_of(kind: type) -> list[str]:
    """The names of the places that objects of a class have beside their `__dict__`."""
    found: list[str] = []
    for base in kind.__mro__:
        own = base.__dict__.get("__slots__", ())
        found.extend([own] if isinstance(own, str) else own)
    return [name for name in found if name not in {"__dict__", "__weakref__"}]


def is_odd(value: slice) -> bool:
    """Whether a slice is between what is no number."""
    parts = (value.start, value.stop, value.step)
    return not all(part is None or type(part) is int for part in parts)


TENSORS: Final = (torch.Tensor,)


def is_plain(value: Any) -> bool:
    """Whether a tensor is one of PyTorch's own classes, dense, and of no special kind."""
    return (
        type(value) in (torch.Tensor, torch.nn.Parameter)
        and value.layout is torch.strided
        and not value.is_quantized
        and not value.is_nested
    )


def description(tensor: torch.Tensor) -> dict[str, Any]:
    """What guards of a tensor hold, by name."""
    return {
        "type": type(tensor).__name__,
        "dtype": tensor.dtype,
        "shape": tuple(tensor.shape),
        "stride": tuple(tensor.stride()),
        "device": str(tensor.device),
        "requires_grad": tensor.requires_grad,
    }


def tensor_condition(guards: GuardWriter, name: str, tensor: torch.Tensor) -> tuple[str, Any]:
    """The condition under which a tensor is another than this one, and what is wanted of it."""
    # `stride` raises of a sparse tensor, which is a guard that fails.
    parts = [
        f"{name}.dtype is not {guards.constant(tensor.dtype)}",
        f"{name}.shape != {guards.constant(tensor.shape)}",
        f"{name}.requires_grad is not {tensor.requires_grad}",
        f"{name}.stride() != {guards.constant(tensor.stride())}",
    ]
    if tensor.is_cpu:
        parts.append(f"not {name}.is_cpu")
    else:
        parts.append(f"{name}.device != {guards.constant(tensor.device)}")
    if tensor.dtype.is_complex or tensor.is_neg():
        parts.append(f"({name}.is_conj(), {name}.is_neg()) != {tensor.is_conj(), tensor.is_neg()}")
    return " or ".join(parts), description(tensor)


def storage_of(tensor: torch.Tensor) -> int:
    """Which memory a tensor is in."""
    return tensor.untyped_storage()._cdata  # noqa: SLF001 - has no public name


def sharing(tensors: Sequence[torch.Tensor]) -> tuple[int, ...]:
    """For each tensor, the first one of those in the same memory."""
    first: dict[int, int] = {}
    return tuple(
        [first.setdefault(storage_of(tensor), index) for index, tensor in enumerate(tensors)]
    )
