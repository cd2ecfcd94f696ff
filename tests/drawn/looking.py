"""What a caller can see of values: their types, identity, shared memory, and tensors to compare.

An object graph is visited in one order and told as tokens: what was visited before is told by its
number, and a tensor with the number of its memory, so equal tokens mean equal aliasing as well.
"""

import array
import collections
import io
import math
import queue
import random
import types
import weakref

import numpy as np
import torch
from torch import Tensor, nn
from torch.testing import assert_close

QUIET = (int, str, bytes, bool, types.NoneType, complex, torch.dtype, torch.device, torch.layout)


TOLERANCE = 1e-4
"""Sums of what lies otherwise are taken in another order, and chains of them add up."""
OF_GRADIENTS = 1e-3
"""Behind a normalisation of equal rows, rounding is divided by the square root of `eps`."""


class Look:
    """One visit; `tensors` are copies of those that were found, in their order."""

    def __init__(self) -> None:
        self.tokens: list[object] = []
        self.tensors: list[Tensor] = []
        self._seen: dict[int, int] = {}
        self._memory: dict[int, tuple[int, int]] = {}
        self._alive: list[object] = []

    def at(self, value: object) -> None:
        """Visit a value."""
        if isinstance(value, QUIET):
            self.tokens.append((type(value).__name__, value))
        elif isinstance(value, float):
            single = torch.tensor(value, dtype=torch.float32)
            is_inside = math.isfinite(value) and bool(single.isfinite())
            self.tokens.append((type(value).__name__, "" if is_inside else repr(value)))
            self.tensors += (
                [single] if is_inside else []
            )  # of tensors' numbers, rounded as those are
        elif isinstance(value, Tensor) and id(value) in self._seen:
            self.tokens.append(("is", self._seen[id(value)]))
        else:
            # Numbered among tensors: containers of results are new ones, also where two were one.
            self._seen[id(value)] = len(self.tensors)
            self._alive.append(value)
            self._new(value)

    def _new(self, value: object) -> None:
        if isinstance(value, Tensor):
            self._tensor(value)
            return
        name = type(value).__name__
        if isinstance(value, dict | types.MappingProxyType | weakref.WeakValueDictionary):
            self.tokens.append((name, len(value), getattr(value, "default_factory", None)))
            for key, held in value.items():
                self.at(key)
                self.at(held)
        elif isinstance(value, list | tuple | collections.deque):
            self.tokens.append((name, len(value), getattr(value, "maxlen", None)))
            for held in value:
                self.at(held)
        elif isinstance(value, set | frozenset):
            self.tokens.append((name, *sorted(map(repr, value))))
        else:
            self.tokens.append((name, *told_of_another(value)))
            for held in held_by(value):
                self.at(held)

    def _tensor(self, value: Tensor) -> None:
        memory, offset = None, 0
        if value.layout == torch.strided:
            storage = value.untyped_storage()
            if storage.nbytes():
                at, start = self._memory.setdefault(
                    storage.data_ptr(), (len(self._memory), value.storage_offset())
                )
                memory, offset = at, (value.storage_offset() - start) * value.element_size()
        strides = [s for n, s in zip(value.shape, value.stride(), strict=True) if n > 1]
        flags = value.requires_grad, value.is_leaf, value.is_conj(), value.is_neg()
        told = ("memory", memory, offset), str(value.dtype)[6:], tuple(value.shape)
        self.tokens.append(
            (type(value).__name__, *told, ("strides", *(strides if value.numel() else ())), flags)
        )
        if value.is_inference():
            self.tokens.append("inference")
        self.tensors.append(value.detach().clone())


def told_of_another(value: object) -> tuple:
    """The state of what is no tensor and no container of Python."""
    match value:
        case np.ndarray():
            return value.dtype.name, value.shape, value.tobytes()
        case np.generic():
            return value.dtype.name, value.tobytes()
        case bytearray():
            return (bytes(value),)
        case array.array():
            return value.typecode, value.tobytes()
        case io.StringIO():
            return value.getvalue(), value.tell()
        case queue.Queue():
            return (*value.queue,)
        case random.Random():
            return (hash(value.getstate()),)
        case torch.Generator() | types.ModuleType():
            return ()
    if hasattr(value, "__reduce__") and hasattr(value, "__next__"):
        return (repr(position_of(value)),)
    return ()


def position_of(value: object) -> object:
    """Where an iterator stands, and those that it goes over; anything else as it is."""
    if isinstance(value, tuple):
        return tuple(position_of(each) for each in value)
    if hasattr(value, "__reduce__") and hasattr(value, "__next__"):
        return type(value).__name__, position_of(value.__reduce__()[1:])
    return value


def held_by(value: object) -> list[object]:
    """What an object of another class holds."""
    if isinstance(value, types.FunctionType):
        return [cell.cell_contents for cell in value.__closure__ or ()]
    if isinstance(value, type):
        return [held for name, held in vars(value).items() if not name.startswith("__")]
    if hasattr(value, "__slots__") and type(value).__module__ == "drawn":
        return [getattr(value, name, None) for name in value.__slots__]
    if type(value).__module__ == "drawn" or isinstance(value, types.SimpleNamespace):
        return [*vars(value).items()]
    return []


def outside_of(names: dict[str, object], module: nn.Module | None = None) -> Look:
    """What is outside of a call: the globals, and of a module its attributes but its state.

    A program stands in a module's place and has no attributes: an export leaves them alone.
    """
    look = Look()
    for name, value in names.items():
        if name[:1] in "GCTA":
            look.tokens.append(name)
            look.at(value)
            if isinstance(value, Tensor):
                look.at({**vars(value)})
    for name, value in vars(module).items() if module else ():
        if not name.startswith("_"):
            look.tokens.append(name)
            look.at(value)
    look.tokens.append(sorted(module._modules) if module else ())
    return look


def difference(expected: Look, actual: Look, atol: float = TOLERANCE) -> str:
    """The first visible difference, "" if there is none; `atol` is of single precision."""
    if expected.tokens != actual.tokens:
        pairs = zip(expected.tokens, actual.tokens, strict=False)
        return next(
            (f"{left} became {right}" for left, right in pairs if left != right),
            f"{len(expected.tokens)} parts became {len(actual.tokens)}",
        )
    for left, right in zip(expected.tensors, actual.tensors, strict=True):
        if not torch.equal(left, right):
            allowed = {"rtol": TOLERANCE, "atol": atol} if left.dtype == torch.float32 else {}
            try:
                assert_close(right, left, equal_nan=True, **allowed)
            except AssertionError as error:
                text = " ".join(str(error).split())[:160]
                values = [each.flatten()[:6].tolist() for each in (left, right)]
                return f"values: {values[0]} became {values[1]}: {text}"
        if left.is_floating_point() and not torch.equal(
            left.signbit() & (left == 0), right.signbit() & (right == 0)
        ):
            return "values: the sign of a zero"
    return ""
