"""Iterators of a module that forward uses up: no run can put them back, and all are refused."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from monograph.diagnostics import MonographError


def _begun():
    def numbers():
        yield 1
        yield 2

    made = numbers()
    next(made)
    return made


class Holds(nn.Module):
    """Holds an iterator, and something that uses it."""

    def __init__(self, held, use):
        super().__init__()
        self.held, self.use = held, use

    def forward(self, x):
        return x * self.use(self.held)


def _first(held):
    for each in held:
        return each
    return 9


def _closes(held):
    held.close()
    return 2


ITERATORS = {
    "generator": _begun,
    "expression": lambda: (n for n in [5]),
    "list": lambda: iter([5]),
    "map": lambda: map(int, ["5"]),
    "zip": lambda: (pair[0] for pair in zip([5], [6], strict=True)),
}
USES = {
    "next": lambda held: next(held, 7),
    "for": _first,
    "sum": sum,
    "list": lambda held: len([*held]),
    "iter": lambda held: next(iter(held), 7),
}


@pytest.mark.parametrize("is_dynamic", [False, True])
@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ITERATORS)
def test_an_iterator_that_a_run_uses_up_is_refused(kind, use, strict, is_dynamic):
    """The run after it would find nothing left, and take that for what every call finds."""
    module = Holds(ITERATORS[kind](), USES[use])
    dims = ({0: Dim("n", min=2, max=9)},) if is_dynamic else None
    with pytest.raises(MonographError) as caught:
        monograph.export(module, (torch.ones(4),), strict=strict, dynamic_shapes=dims)
    assert caught.value.diagnostic.name == "attribute-changed"
    assert caught.value.diagnostic.at[0].code.co_filename == __file__


@pytest.mark.parametrize("strict", [True, False])
def test_a_generator_that_is_closed_is_refused(strict):
    """The program would close none."""
    with pytest.raises(MonographError):
        monograph.export(Holds(_begun(), _closes), (torch.ones(4),), strict=strict)


@pytest.mark.parametrize("strict", [True, False])
def test_an_iterator_that_is_left_alone_is_no_write(strict):
    """Nor is one that has ended before."""
    ended = iter([])
    next(ended, None)
    for held, use in ((_begun(), lambda _: 2), (ended, lambda held: next(held, 3))):
        x = torch.rand(4)
        program = monograph.export(Holds(held, use), (x,), strict=strict).module()
        assert torch.equal(program(x), Holds(held, use)(x))
