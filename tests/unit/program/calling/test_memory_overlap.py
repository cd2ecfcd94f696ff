"""Two tensors overlap where they have a byte in common, and only there."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from monograph.program.calling.memory_overlap import is_folded, meets, overlap

ROOM = 24


def elements(tensor):
    """The addresses of all bytes, one set for each element."""
    width = tensor.element_size()
    places = itertools.product(*map(range, tensor.shape))
    for place in places:
        steps = sum(i * stride for i, stride in zip(place, tensor.stride(), strict=True))
        start = tensor.data_ptr() + steps * width
        yield set(range(start, start + width))


def reached(tensor):
    """The addresses of all bytes."""
    return set().union(*elements(tensor))


@st.composite
def views(draw):
    """Two ways to see one room."""
    room = torch.zeros(ROOM, dtype=torch.int16)
    return [draw(seen(room)), draw(seen(room))]


@st.composite
def seen(draw, room):
    """Sizes, strides and an offset that stay inside of the room, in one of three types."""
    room = room.view(draw(st.sampled_from([torch.int8, torch.int16, torch.int64])))
    sizes = draw(st.lists(st.integers(0, 3), max_size=3))
    strides = [draw(st.integers(0, 4)) for _ in sizes]
    last = sum(max(n - 1, 0) * step for n, step in zip(sizes, strides, strict=True))
    if last >= room.numel():
        return room[:0]
    return room.as_strided(sizes, strides, draw(st.integers(0, room.numel() - 1 - last)))


@given(views())
def test_overlap_is_a_byte_in_common(pair):
    """All the addresses, counted one by one, say the same."""
    one, other = pair
    assert overlap(one, other) == bool(reached(one) & reached(other))
    assert meets(pair, (0, 1), ((0, 1),)) == overlap(one, other)


@given(views())
def test_folded_is_a_byte_in_two_elements(pair):
    """The addresses of one element are those of no other, unless the tensor is folded."""
    for tensor in pair:
        found = list(elements(tensor))
        assert is_folded(tensor) == (sum(map(len, found)) > len(reached(tensor)))


def test_only_the_pairs_that_are_named_count():
    """Others may overlap as they like."""
    room = torch.zeros(8)
    leaves = (room[:4], room[4:], room)
    assert meets(leaves, (0, 1, 2), ((0, 1), (1, 2)))
    assert meets(leaves, (0, 2), ((0, 2),))
    assert not meets(leaves, (0, 1, 2), ((0, 1),))


def test_two_storages_of_one_memory():
    """What counts is the memory, not the object that owns it."""
    array = np.zeros(5, dtype=np.float32)
    one, other = torch.from_numpy(array[:3]), torch.from_numpy(array[2:])
    assert one.untyped_storage().data_ptr() != other.untyped_storage().data_ptr()
    assert overlap(one, other)
    assert not overlap(one[:2], other)


@pytest.mark.parametrize("make", [lambda: torch.zeros(0), lambda: torch.zeros(3, device="meta")])
def test_what_has_no_memory_meets_nothing(make):
    """Tensors without elements, and tensors without data."""
    one, other = make(), make()
    assert not overlap(one, other)
    assert not meets((one, other), (0, 1), ((0, 1),))


def test_a_default_device_changes_nothing():
    """The marks are made where there is memory."""
    room = torch.zeros(8)
    with torch.device("meta"):
        assert overlap(room[:5], room[4:])
        assert not overlap(room[::2], room[1::2])
        assert is_folded(room.unfold(0, 3, 1))


def test_spans_too_long_to_mark_count_as_overlapping():
    """Refusing is right where looking would take too much memory."""
    room = torch.empty((1 << 28) + 2, dtype=torch.int8)
    ends = room[:: (1 << 28) + 1]
    assert overlap(ends, room[1:3])
    assert not overlap(ends[:1], room[1:3])
