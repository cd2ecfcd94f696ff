"""Arrays of state: those from outside that lie in the memory of a parameter or buffer.

Of NumPy, or whatever else has memory that code reads, such as a `bytearray`.

Law: nobody reads one during a capture, since every call finds what it holds changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from monograph.abstract.tensor_type import type_text
from monograph.diagnostics import problem
from monograph.host.dispatch import address_of, has_memory

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch import Tensor
    from torch.fx.node import Node

    from monograph.capture.queries.noted_answers import Subject
    from monograph.diagnostics import MonographError


class ArrayOfState(NamedTuple):
    """The class of such an array, and the placeholder of what it lies in the memory of."""

    kind: str
    node: Node

    def refusal(self) -> MonographError:
        """The refusal of a read, here."""
        what = type_text(self.node.meta["val"].tensor_type)
        return problem("memory-exposed", call=self.kind, tensor=what)


def array_of_state(value: Any, subjects: Mapping[Node, Subject]) -> ArrayOfState | None:
    """In whose memory an object lies; None of most objects."""
    array = _array_over(value)
    if array is None or not array.size:
        return None
    begin, end = _bounds(array)
    for node, subject in subjects.items():
        if subject.argument is None and _is_readable(subject.example):
            first, last = _bounds_of_tensor(subject.example)
            if begin < last and first < end:
                return ArrayOfState(type(value).__name__, node)
    return None


def _array_over(value: Any) -> np.ndarray[Any, Any] | None:
    """An array over the memory that an object shows, None of what shows none."""
    if issubclass(type(value), np.ndarray):
        return value
    held: Any = value.obj if type(value) is memoryview else value
    try:
        return np.frombuffer(held, np.uint8)
    except (TypeError, ValueError, BufferError):
        return None


def _is_readable(tensor: Tensor) -> bool:
    """Whether NumPy may have a tensor's memory."""
    return has_memory(tensor) and tensor.device.type == "cpu" and bool(tensor.numel())


def _bounds(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Where an array's memory begins, and where it ends."""
    start: int = array.__array_interface__["data"][0]
    return _span(start, array.shape, array.strides, array.itemsize)


def _bounds_of_tensor(tensor: Tensor) -> tuple[int, int]:
    size = tensor.itemsize
    return _span(address_of(tensor), tensor.shape, [size * n for n in tensor.stride()], size)


def _span(start: int, sizes: Sequence[int], steps: Sequence[int], n_bytes: int) -> tuple[int, int]:
    """The first byte and the one behind the last; steps are in bytes, and may be negative."""
    ways = [(size - 1) * step for size, step in zip(sizes, steps, strict=True)]
    ahead = sum(way for way in ways if way > 0)
    return start + sum(ways) - ahead, start + ahead + n_bytes
