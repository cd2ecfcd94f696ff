"""State in memory that others see as well: arrays, objects of ctypes, mapped memory."""

from __future__ import annotations

import ctypes
import mmap
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from monograph.capture.hidden_state.container_contents import attributes_of, same_content
from monograph.capture.hidden_state.native_state import write_native
from monograph.capture.hidden_state.readings import Reading

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


# --- memory by its address -------------------------------------------------------------------


class _Addressed(NamedTuple):
    """Bytes of an object of ctypes, and the objects that live for the addresses among them."""

    memory: bytes
    kept: tuple[Any, ...]


C_DATA: Final[Any] = ctypes.Structure.__base__
"""The class of all objects of ctypes."""
_KEPT_FOR_GOOD: Final[list[Any]] = []
"""What addresses lead to that were put back: the object itself does not keep it alive any more."""


def _read_c_data(owner: Any) -> _Addressed:
    with memoryview(owner) as memory:
        kept = owner._objects  # noqa: SLF001 - ctypes has no other name for it
        return _Addressed(memory.tobytes(), tuple(_kept_alive(kept)))


def _kept_alive(kept: Any) -> Iterator[Any]:
    """The objects in nested dicts, which may lead back to themselves."""
    waiting, seen = [kept], set[int]()
    while waiting:
        each = waiting.pop()
        if not isinstance(each, dict):
            yield each
        elif id(each) not in seen:
            seen.add(id(each))
            waiting.extend(each.values())


def _write_c_data(owner: Any, content: _Addressed) -> None:
    _KEPT_FOR_GOOD.extend(content.kept)
    write_native(owner, content.memory)


def _read_mapped(mapped: mmap.mmap) -> tuple[bytes, int] | None:
    """What can be written in it, and where it stands; None of one that is closed."""
    if mapped.closed:
        return None
    with memoryview(mapped) as memory:
        return b"" if memory.readonly else memory.tobytes(), mapped.tell()


def _write_mapped(mapped: mmap.mmap, content: tuple[bytes, int] | None) -> None:
    if content is not None and not mapped.closed:
        write_native(mapped, content[0])
        mapped.seek(content[1])


def looked_into(view: memoryview) -> tuple[Any, ...]:
    """What a memoryview looks into, which it does not say once it is released.

    Who keeps the view keeps the length of what it looks into.
    """
    try:
        return (view.obj,)
    except ValueError:
        return ()


# --- arrays -------------------------------------------------------------------------------------


class _Array(NamedTuple):
    """All that an array holds."""

    numbers: Any
    layout: tuple[Any, ...]
    attributes: dict[str, Any]
    objects: list[Any]


def _read_array(array: Any) -> _Array:
    plain = array.view(np.ndarray)
    objects = plain.ravel().tolist() if plain.dtype.hasobject else []
    layout = (plain.shape, plain.strides, plain.dtype, plain.flags.writeable)
    return _Array(plain.copy(), layout, dict(attributes_of(array)), objects)


def _write_array(array: Any, content: _Array) -> None:
    shape, _, dtype, is_writeable = content.layout
    if not array.flags.writeable:
        array.flags.writeable = True
    if array.dtype != dtype:
        array.dtype = dtype
    if array.shape != shape:  # by `resize`, which raises where anything refers to it weakly
        np.ndarray.__setstate__(array, content.numbers.__reduce__()[2])
    array.view(np.ndarray)[...] = content.numbers
    if content.attributes:
        attributes_of(array).update(content.attributes)
    if array.flags.writeable != is_writeable:
        array.flags.writeable = is_writeable


def _same_arrays(one: _Array, other: _Array) -> bool:
    return (
        one.layout == other.layout
        and same_content(one.attributes, other.attributes)
        and one.numbers.tobytes() == other.numbers.tobytes()
    )


def _in_array(content: _Array) -> Iterable[Any]:
    return [*content.objects, *content.attributes.values()]


def _write_numpy_generator(generator: Any, content: Any) -> None:
    generator.bit_generator.state = content


def _same_text(one: Any, other: Any) -> bool:
    return repr(one) == repr(other)


READINGS: Final[tuple[tuple[Any, Reading], ...]] = (
    (np.ndarray, Reading(_read_array, _write_array, _same_arrays, _in_array)),
    (
        np.random.Generator,
        Reading(lambda g: g.bit_generator.state, _write_numpy_generator, _same_text),
    ),
    (
        np.random.RandomState,
        Reading(
            lambda g: g.get_state(legacy=False), lambda g, state: g.set_state(state), _same_text
        ),
    ),
    (
        C_DATA,
        Reading(
            _read_c_data,
            _write_c_data,
            lambda one, other: one.memory == other.memory,
            lambda content: content.kept,
        ),
    ),
    (mmap.mmap, Reading(_read_mapped, _write_mapped)),
)
"""Classes, and how to read what their objects keep to themselves."""
