"""What objects with slots hold, and how it comes back."""

from __future__ import annotations

import array
import functools
import io
import itertools

import pytest
import torch
from torch import nn

import monograph
from monograph.capture.hidden_state import native_state
from monograph.capture.hidden_state.opaque_objects import keep
from monograph.diagnostics import MonographError


class Number:
    """An object with slots, one of them with a private name."""

    __slots__ = ("__private", "value")

    def __init__(self, value):
        self.value = value
        self.__private = value

    @property
    def private(self):
        """Show what the private slot holds."""
        return self.__private

    def change(self):
        """Change both."""
        self.value += 1
        self.__private += 1


class Computed(Number):
    """A property stands where the base class has a slot; and there is a `__dict__`."""

    def __init__(self):
        self.name = "pi"

    @property
    def value(self):
        """Another one every time."""
        self.name += "i"
        return len(self.name)


def test_slots_come_back_whatever_they_are_called():
    """Also a private one."""
    number = Number(1)
    kept = keep(number)
    number.change()
    assert not kept.is_still_in(number)
    kept.put_back(number)
    assert kept.is_still_in(number)
    assert (number.value, number.private) == (1, 1)


def test_a_property_in_the_place_of_a_slot_is_not_asked():
    """It is no state, and cannot be set."""
    number = Computed()
    kept = keep(number)
    assert number.name == "pi"
    assert kept.is_still_in(number)
    number.name, number.other = "tau", 1
    assert not kept.is_still_in(number)
    kept.put_back(number)
    assert (number.name, hasattr(number, "other")) == ("pi", False)


def test_a_slot_that_was_empty_is_empty_again():
    """What was never set is deleted."""
    number = Number.__new__(Number)
    kept = keep(number)
    number.value = 3
    kept.put_back(number)
    assert not hasattr(number, "value")


@pytest.mark.parametrize("kind", [bytearray, lambda data: array.array("b", data)])
def test_a_buffer_that_is_looked_into_gets_its_bytes_back(kind):
    """Nobody may change its length then, and nothing is raised in place of the refusal."""
    buffer = kind(b"ab")
    before = native_state.read_native(buffer)
    buffer.extend(b"c")
    buffer[0] = 1
    with memoryview(buffer):
        native_state.write_native(buffer, before)
        assert bytes(buffer) == b"abc"
    native_state.write_native(buffer, before)
    assert bytes(buffer) == b"ab"


class Endless(tuple):
    """A tuple that tells of its own items without end."""

    __slots__ = ()
    asked = 0

    def __iter__(self):
        Endless.asked += 1
        return itertools.repeat(1)


class EndlessSet(frozenset):
    """As much of a set."""

    __slots__ = ()
    __iter__ = Endless.__iter__


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("kind", [Endless, EndlessSet])
def test_looking_runs_no_code_of_a_tuples_class(kind, strict):
    """What is in it is read past `__iter__`, which may have no end."""
    held = kind([1, 2])

    class Module(nn.Module):
        def forward(self, x):
            return x * len(held)

    assert monograph.export(Module(), (torch.ones(2),), strict=strict)
    assert Endless.asked == 0


@pytest.mark.parametrize("strict", [True, False])
def test_what_is_in_a_tuple_is_watched(strict):
    """Whatever its class tells of it."""
    held = Endless([[1]])

    class Module(nn.Module):
        def forward(self, x):
            held[0].append(1)
            return x * 2

    with pytest.raises(MonographError) as caught:
        monograph.export(Module(), (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"


SCALE = functools.partial(torch.mul, other=2)


def _is_told():
    SCALE.told = 1


CHANGES = {
    "state": lambda: SCALE.__setstate__((torch.add, (), {"other": 2}, {})),
    "keyword": lambda: SCALE.keywords.update(other=3),
    "attribute": _is_told,
    "called by C": lambda: list(map(SCALE.__setstate__, [(torch.add, (), {}, None)])),
}


class Changes(nn.Module):
    """Changes something from outside."""

    def __init__(self, change):
        super().__init__()
        self.change = change

    def forward(self, x):
        self.change()
        return x + 1


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("change", CHANGES)
def test_partial_functions_from_outside_are_not_changed(change, strict):
    """Nor while they are refused."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Changes(CHANGES[change]), (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert caught.value.diagnostic.at[0].code.co_filename == __file__
    assert (SCALE.func, SCALE.keywords, vars(SCALE)) == (torch.mul, {"other": 2}, {})


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("make", [lambda: (each for each in "ab"), io.StringIO])
def test_what_is_closed_is_not_open_again(make, strict):
    """The next call leaves it as it is, and nobody can put it back."""
    held = [make()]

    def change():
        held[0].close()

    with pytest.raises(MonographError) as caught:
        monograph.export(Changes(change), (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"
    assert caught.value.diagnostic.at[0].code.co_filename == __file__
