"""Attributes that a class computes in Python are interpreted, whichever builtin it derives from."""

from collections import OrderedDict, deque
from types import ModuleType, SimpleNamespace

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError

WRITTEN = []
BASES = {
    **dict.fromkeys((dict, list, set, deque, OrderedDict, SimpleNamespace, Exception), ()),
    int: (3,),
    float: (3.0,),
    str: ("a",),
    tuple: (),
    ModuleType: ("held",),
}


def made(base):
    """An object that computes attributes, of a class of its own."""

    class Computing(base):
        @property
        def told(self):
            WRITTEN.append(1)
            return 2.0

        def __getattr__(self, name):
            if name != "missing":
                raise AttributeError(name)
            WRITTEN.append(1)
            return 2.0

    return Computing(*BASES[base])


class Asks(nn.Module):
    """Reads an attribute of an object from outside."""

    def __init__(self, held, ask):
        super().__init__()
        self.forward = lambda x: ask(held, x)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("ask", [lambda held, x: x * held.told, lambda held, x: x * held.missing])
def test_writes_are_seen(ask, base, strict):
    """A property, and `__getattr__`, that write outside of the call are refused."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Asks(made(base), ask), (torch.ones(2),), strict=strict)
    assert caught.value.diagnostic.name == "write-outlives-call"


class Signed(tuple):
    """A tuple with a property that branches on what is in it."""

    __slots__ = ()

    @property
    def doubled(self):
        """One or the other."""
        return self[0] * 2 if self[0].sum() > 0 else self[0] * 3


class Branches(nn.Module):
    """Reads the property."""

    def forward(self, x):
        return Signed((x,)).doubled


def test_branches_are_captured():
    """Where there is a condition on data, both sides are in the graph."""
    program = monograph.export(Branches(), (torch.ones(2),)).module()
    for x in (torch.ones(2), -torch.ones(2)):
        assert torch.equal(program(x), Branches()(x))


class Lazy(ModuleType):
    """A module whose file has a `__getattr__` of its own, and whose class has one."""

    def __getattr__(self, name):
        if name == "of_class":
            return 3.0
        raise AttributeError(name)


def test_a_module_is_asked_before_its_class():
    """As CPython asks: what it holds, the file's `__getattr__`."""
    lazy = Lazy("lazy")
    without = monograph.export(Asks(lazy, lambda held, x: x * held.of_class), (torch.ones(2),))
    assert torch.equal(without.module()(torch.ones(2)), torch.full((2,), 3.0))
    lazy.__dict__["__getattr__"] = lambda name: 5.0
    within = monograph.export(Asks(lazy, lambda held, x: x * held.of_class), (torch.ones(2),))
    assert torch.equal(within.module()(torch.ones(2)), torch.full((2,), 5.0))
    assert lazy.of_class == 5.0
