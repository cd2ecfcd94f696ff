"""Example inputs: torch.load reads what is written, what torch.save wrote is read."""

import io
from collections import OrderedDict
from typing import Any, NamedTuple

import pytest
import torch

from monograph.archive.budget import Budget
from monograph.archive.errors import Refused
from monograph.archive.files.pickle_reading import unpickled
from monograph.archive.files.pickle_writing import pickled


class Pair(NamedTuple):
    """A class of named tuples that nobody registered."""

    left: Any
    right: Any


DTYPES = [
    *(torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.bool),
    *(torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.complex64),
    *(torch.complex128, torch.uint16, torch.uint32, torch.uint64, torch.float8_e4m3fn),
    torch.float8_e5m2,
]
VALUES = [
    None,
    (True, False, 0, -1, 1 << 31, -(1 << 63), 1 << 70, 1.5, float("inf"), "text", "ü"),
    [[], (), {}, [1, (2, {"k": 3})]],
    OrderedDict([("b", 1), ("a", 2)]),
    torch.Size([2, 3]),
    (torch.float32, torch.device("cpu")),
    Pair(1, [2]),
]


def there(blob):
    """Read as torch reads."""
    return torch.load(io.BytesIO(blob), weights_only=False)


def saved_there(value):
    """Write as torch writes."""
    file = io.BytesIO()
    torch.save(value, file)
    return file.getvalue()


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_go_both_ways(value):
    """Equal, and of the same type, whoever wrote and whoever reads."""
    for again in (
        unpickled(memoryview(pickled(value)), Budget()),
        there(pickled(value)),
        unpickled(memoryview(bytearray(saved_there(value))), Budget()),
    ):
        assert again == value
        assert type(again) is type(value)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_go_both_ways(dtype):
    """Every dtype; contiguous, strided, empty, of no dimension."""
    whole = torch.arange(24).view(4, 6).to(dtype)
    given = (whole, whole.t()[1:3], whole[:0], whole[0, 0], whole[1:, ::2])
    for again in (
        unpickled(memoryview(bytearray(pickled(given))), Budget()),
        there(pickled(given)),
        unpickled(memoryview(bytearray(saved_there(given))), Budget()),
    ):
        for left, right in zip(given, again, strict=True):
            assert (left.dtype, left.shape, left.stride()) == (
                right.dtype,
                right.shape,
                right.stride(),
            )
            assert left.tolist() == right.tolist()


def test_what_is_shared_stays_shared():
    """A tensor given twice is one tensor; views of one storage are views of one storage."""
    x = torch.arange(6.0)
    a, b, c = unpickled(memoryview(bytearray(pickled((x, x, x[2:])))), Budget())
    assert a is b
    a[3] = 9
    assert c[1] == 9


def test_flags_are_kept():
    """A tensor that requires gradients, and a parameter."""
    given = (torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(2)))
    for again in (
        unpickled(memoryview(bytearray(pickled(given))), Budget()),
        unpickled(memoryview(bytearray(saved_there(given))), Budget()),
    ):
        assert [each.requires_grad for each in again] == [True, True]
        assert isinstance(again[1], torch.nn.Parameter)


def test_attributes_of_tensors_are_left_out():
    """torch.export leaves some on examples of which it was told `Dim.DYNAMIC`."""
    given = (torch.arange(3.0), torch.nn.Parameter(torch.ones(2), requires_grad=False))
    for each in given:
        each.note = {0: []}
    again = unpickled(memoryview(bytearray(saved_there(given))), Budget())
    assert not hasattr(again[0], "note")
    assert [type(each) for each in again] == [torch.Tensor, torch.nn.Parameter]
    assert [each.tolist() for each in again] == [[0, 1, 2], [1, 1]]


class Marked(torch.Tensor):
    """A tensor of a class that nobody registered."""


class Unknown:
    """A class nobody registered."""


def test_other_classes_are_refused():
    """On the way out and on the way in."""
    with pytest.raises(Refused):
        pickled((Unknown(),))
    for value in (Unknown(), torch.ones(2).as_subclass(Marked), torch.Tensor):
        with pytest.raises(Refused):
            unpickled(memoryview(bytearray(saved_there(value))), Budget())
