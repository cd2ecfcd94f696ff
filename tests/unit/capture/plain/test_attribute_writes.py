"""Attribute writes: what code sets attributes of, found in its instructions and without running."""

import types

import pytest
from torch import nn

from monograph.bytecode import MISSING
from monograph.capture.plain.attribute_writes import at_end, attribute_writes

other = types.SimpleNamespace(a=1)


def kind_of(x):
    """Its class."""
    return type(x)


def plainly(x, *, y):
    """Arguments and globals."""
    x.a = y.b = other.a = 1
    x.a += y.b if x else 2
    del x.a
    setattr(y, x.a, 1)


def by_steps(x):
    """What arguments and globals hold."""
    x.a.b.c = x.a.d = 1
    other.e.f *= 2


def in_a_cell(x):
    """An argument that an inner function reads."""
    x.a = 1
    return lambda: x


def assigned_within(x):
    """An argument that an inner function assigns to."""

    def inner(y):
        nonlocal x
        x = kind_of(y)

    inner(x)
    x.a = 1


def local(x):
    """A variable of its own."""
    y = kind_of(x)
    y.a = 1


def reassigned(x):
    """An argument that is another object by then."""
    x = kind_of(x)
    x.a = 1


def of_a_call(x):
    """What a call gives."""
    kind_of(x).a += 1


def of_either(x, y):
    """What a condition chooses."""
    (x if y else kind_of(y)).a = 1


def of_an_attribute_of_either(x, y):
    """What a condition chooses, and a step from there."""
    (x if y else kind_of(y)).b.a = 1


def of_an_item(x):
    """What a container holds."""
    x[0].a = 1


def by_name(x):
    """What a call gives, by name."""
    setattr(kind_of(x), "a" * 2, 1)


def by_name_of_either(x, y):
    """What a condition chooses, by name."""
    setattr(x and kind_of(y), "a" * 2, 1)


def by_name_of_an_attribute(x):
    """What an argument holds, by name."""
    setattr(x.__class__, "a" * 2, 1)


def passed_on(x, names):
    """It is somebody else's to call."""
    return [*map(setattr, x, names)]


@pytest.mark.parametrize(
    "function",
    [
        *(assigned_within, local, reassigned, of_a_call, of_either, of_an_attribute_of_either),
        *(of_an_item, by_name, by_name_of_either, by_name_of_an_attribute, passed_on),
    ],
)
def test_it_may_be_anything(function):
    """Nothing says what the object is."""
    assert written_by(function).others


@pytest.mark.parametrize(
    ("function", "ways"),
    [
        (plainly, set()),
        (by_steps, {("x", "a", "b"), ("x", "a"), ("other", "e")}),
        (in_a_cell, set()),
    ],
)
def test_it_is_known(function, ways):
    """An argument, a global, or what is read from one by name."""
    assert written_by(function) == (ways, False)


def written_by(function):
    """Give the analysis of its code."""
    code = function.__code__
    texts = [each for each in code.co_consts if isinstance(each, str)]
    return attribute_writes(code, [*code.co_names, *texts])


class Held(nn.Module):
    """A module that holds others, a class and a property."""

    kind = dict

    def __init__(self):
        super().__init__()
        self.inner, self.record = nn.Linear(1, 1), other

    @property
    def asked(self):
        """What only running it tells."""
        return self.inner

    def method(self):
        """A function."""


class Reads:
    """It answers itself what it is asked for."""

    def __getattribute__(self, name):
        return other


def test_what_stands_there():
    """It is found in objects, tables of modules, and classes, and nothing is run."""
    module = Held()
    variables = {"m": module, "r": Reads(), "f": types}
    ends = {
        ("m", "inner"): module.inner,
        ("m", "record", "a"): 1,
        ("m", "kind"): dict,
        ("m", "method"): Held.method,
        ("f", "SimpleNamespace"): types.SimpleNamespace,
        ("m", "asked"): MISSING,
        ("m", "nothing"): MISSING,
        ("r", "a"): MISSING,
        ("nobody", "a"): MISSING,
        ("other", "a"): 1,
    }
    assert {way: at_end(way, variables, {"other": other}) for way in ends} == ends
