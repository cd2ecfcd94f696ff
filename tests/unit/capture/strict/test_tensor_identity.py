"""`is` between a tensor and what an operator gave back: as in eager, or refused."""

import types

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import monograph
from monograph.diagnostics import MonographError


class Asks(torch.nn.Module):
    """Branches on whether an operator gave back its argument."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        y = self.function(x)
        return x * 2 if y is x else x * 3


KNOWN = {
    "to the same dtype": lambda x: x.to(torch.float32),
    "to another dtype": lambda x: x.to(torch.float64),
    "to the same device": lambda x: x.to("cpu"),
    "float": lambda x: x.float(),
    "idle dropout": lambda x: F.dropout(x, 0.5, training=False),
    "dropout": lambda x: F.dropout(x, 0.5),
    "no probability": lambda x: F.dropout(x, 0.0),
    "atleast_2d": torch.atleast_2d,
    "atleast_3d": torch.atleast_3d,
    "positive": torch.positive,
    "clone": torch.clone,
    "view": lambda x: x.view(3, 4),
    "written": lambda x: x.mul(1).add_(1),
    "twice": lambda x: F.dropout(x.to(torch.float32), 0.0),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_answer_is_that_of_eager(name):
    """Both ways of the branch are told apart."""
    module = Asks(KNOWN[name])
    program = monograph.export(module, (torch.ones(3, 4),)).module()
    x = torch.rand(3, 4)
    assert torch.equal(program(x), module(x))


def test_a_tensor_written_since_is_still_that_tensor():
    """A write makes no other tensor."""

    class Writes(torch.nn.Module):
        def forward(self, x):
            x = x + 0
            y = x.to(torch.float32)
            x.add_(1)
            return x * 2 if y is x else x * 3

    program = monograph.export(Writes(), (torch.ones(3),)).module()
    assert torch.equal(program(torch.zeros(3)), Writes()(torch.zeros(3)))


@pytest.mark.parametrize("name", ["contiguous", "resolve_neg"])
def test_what_the_layout_decides_is_refused(name):
    """The caller's tensors lie otherwise in another call."""
    with pytest.raises(MonographError) as caught:
        monograph.export(Asks(lambda x: getattr(x, name)()), (torch.ones(3, 4),))
    assert caught.value.diagnostic.name == "outside-read"
    assert name in str(caught.value)


def test_a_dropout_of_what_may_be_empty_is_refused():
    """It gives back what has no elements, which it may have where sizes vary from 0 on."""
    asks = Asks(lambda x: F.dropout(F.dropout(x, 0.5), 0.5))
    n, some = monograph.Dim("n", min=0), monograph.Dim("n", min=1)
    with pytest.raises(MonographError, match="whether `dropout` gave back its argument"):
        monograph.export(asks, (torch.ones(3),), dynamic_shapes=({0: n},), strict=True)
    program = monograph.export(asks, (torch.ones(3),), dynamic_shapes=({0: some},), strict=True)
    assert torch.equal(program.module()(torch.ones(1)), torch.full((1,), 3.0))


HELD: list = []


class Holds(nn.Module):
    """Its parameter is in a list, a dict, an object, a variable and a global, too."""

    def __init__(self):
        super().__init__()
        self.w = w = nn.Parameter(torch.ones(4))
        self.register_buffer("b", torch.zeros(4))
        self.places = [w], {"w": (w,)}, types.SimpleNamespace(w=w), lambda: w
        self.decayed, self.rates = {w}, {w: 2.0, self.b: 3.0}
        HELD[:] = [w]


class AsksWhereItIsHeld(Holds):
    """By identity."""

    def forward(self, x):
        listed, named, spaced, closed = self.places
        others = listed[0], named["w"][0], spaced.w, closed(), HELD[0], *self.decayed
        return x * self.w * sum(2**n for n, each in enumerate(others) if each is self.w)


class AsksWhatItIsNot(Holds):
    """The buffer is in none of these."""

    def forward(self, x):
        others = self.places[0][0], HELD[0], *self.decayed
        return x * (2 if any(each is self.b for each in others) else 3)


class LooksForKeys(Holds):
    """In a dict, in order."""

    def forward(self, x):
        return x * sum(rate for key, rate in self.rates.items() if key is self.w)


@pytest.mark.parametrize("made", [AsksWhereItIsHeld, AsksWhatItIsNot, LooksForKeys])
def test_a_parameter_is_itself_wherever_it_is_held(made):
    """The tables of modules hold others during a capture, lists and objects do not."""
    x = torch.randn(3, 4)
    program = monograph.export(made(), (x,)).module()
    assert torch.equal(program(x), made()(x))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize(
    "ask",
    [
        lambda module: module.w in module.decayed,
        lambda module: module.rates.get(module.w, 1),
        lambda module: module.rates[module.w],
        lambda module: {module.w, module.b} & module.decayed,
    ],
)
def test_a_parameter_that_is_looked_for_in_a_set_from_before_is_refused(ask, strict):
    """C compares the real one with what stands for it: it was not found there."""

    class Asks(Holds):
        def forward(self, x):
            return x * (2 if ask(self) else 3)

    with pytest.raises(monograph.MonographError):
        monograph.export(Asks(), (torch.randn(3, 4),), strict=strict)


def test_one_of_several_results_that_may_be_the_argument_is_refused():
    """`broadcast_tensors` gives back what needs no change; `ravel` where it is whole."""

    class Broadcasts(torch.nn.Module):
        def forward(self, x):
            first = torch.broadcast_tensors(x, x)[0]
            return x * 2 if first is x else x * 3

    for strict in (True, False):
        with pytest.raises(MonographError) as caught:
            monograph.export(Broadcasts(), (torch.randn(3, 4),), strict=strict)
        assert caught.value.diagnostic.name == "outside-read"
