"""What native code changes on one side of a branch or in a round: as in eager code, or refused."""

from __future__ import annotations

import contextvars
import decimal
import threading
import types
import xml.etree.ElementTree as ET

import pytest
import torch
from torch import nn

import monograph
from tests.control_flow.looped import Function


class SetsItsMode(nn.Module):
    """By assignment."""

    def forward(self, x):
        was = self.training
        if x.sum() > 0:
            self.training = False
        y = x * (1 if self.training else 2)
        self.training = was
        return y


class SetsModeOfAPart(nn.Module):
    """By `eval`, which is PyTorch's own code."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(1.0)

    def forward(self, x):
        was = self.drop.training
        if x.sum() > 0:
            self.drop.eval()
        y = self.drop(x)
        self.drop.train(was)
        return y


class RestoresWithin(nn.Module):
    """The mode is what it was where the side ends."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(1.0)

    def forward(self, x):
        if x.sum() > 0:
            self.drop.eval()
            y = self.drop(x) * 2
            self.drop.train()
        else:
            y = x
        return y + self.drop(x)


class DecidesItsMode(nn.Module):
    """By data."""

    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(1.0)

    def forward(self, x):
        self.drop.train((x.sum() > 0).item())
        y = self.drop(x)
        self.drop.train()
        return y


def appends_a_module(x):
    """To a container that forward made."""
    layers = nn.Sequential(nn.ReLU())
    if x.sum() > 0:
        layers.append(nn.ReLU())
    return x * len(layers)


def appends_in_rounds(x):
    """A module in each."""
    layers = nn.ModuleList()
    for _ in x:
        layers.append(nn.ReLU())
    return x * len(layers)


def sets_an_event(x):
    """Python's own code sets an attribute."""
    event = threading.Event()
    if x.sum() > 0:
        event.set()
    return x * (1 if event.is_set() else 2)


def acquires(x):
    """A number in an object of Python's library."""
    semaphore = threading.Semaphore(5)
    if x.sum() > 0:
        semaphore.acquire()
    return x * semaphore._value


def initialises_again(x):
    """An object of C's with attributes."""
    space = types.SimpleNamespace(a=1)
    if x.sum() > 0:
        space.__init__(a=4)
    return x * space.a


def updates_variables(x):
    """By the dict of an object."""
    space = types.SimpleNamespace(a=1)
    if x.sum() > 0:
        vars(space).update(a=4)
    return x * space.a


def sets_a_context_variable(x):
    """Which ends with forward."""
    variable = contextvars.ContextVar("v", default=1)
    if x.sum() > 0:
        variable.set(5)
    return x * variable.get()


def sets_an_attribute_of_c(x):
    """Which cannot be put back."""
    element = ET.Element("a")
    if x.sum() > 0:
        element.set("k", "1")
    return x * (len(element.attrib) + 1)


def raises_a_flag(x):
    """Of an object that the collector does not know."""
    context = decimal.Context(prec=5)
    if x.sum() > 0:
        context.divide(1, 3)
    return x * (2 if context.flags[decimal.Inexact] else 3)


CHANGING = [
    *(SetsItsMode(), SetsModeOfAPart(), RestoresWithin(), DecidesItsMode()),
    *map(
        Function,
        (
            *(appends_a_module, appends_in_rounds, sets_an_event, acquires, initialises_again),
            *(updates_variables, sets_a_context_variable, sets_an_attribute_of_c, raises_a_flag),
        ),
    ),
]
CAPTURED = {RestoresWithin, "sets_an_event", "acquires", "initialises_again", "updates_variables"}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("positive", [True, False], ids=["positive", "negative"])
@pytest.mark.parametrize(
    "module",
    CHANGING,
    ids=lambda m: getattr(getattr(m, "function", m), "__name__", type(m).__name__),
)
def test_what_a_side_changes_is_as_in_eager_code_or_refused(module, positive, strict):
    """Whichever side the example takes."""
    example = torch.ones(4, 3) * (1 if positive else -1)
    shapes = ({0: monograph.Dim.AUTO},)
    try:
        program = monograph.export(module, (example,), dynamic_shapes=shapes, strict=strict)
    except monograph.MonographError:
        kinds = {type(module), getattr(getattr(module, "function", None), "__name__", "")}
        assert not kinds & CAPTURED
        return
    for x in (torch.ones(4, 3), -torch.ones(4, 3), torch.ones(1, 3)):
        try:
            got = program.module()(x)
        except monograph.ContractError:
            continue
        assert torch.equal(got, module(x))
