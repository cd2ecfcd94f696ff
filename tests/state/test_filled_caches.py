"""What the first call keeps for the next ones: a program where all calls do the same, or none."""

import pytest
import torch
from torch import nn

import monograph


class Keeps(nn.Module):
    """Has an attribute that is filled by the first call."""

    def __init__(self):
        super().__init__()
        self.kept = None


class Table(Keeps):
    """Made once."""

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.arange(4.0).sin()
        return x * self.kept


class TableOfWeights(Keeps):
    """Made once, of weights."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        if self.kept is None:
            self.kept = self.linear.weight @ self.linear.weight.T
        return x @ self.kept


class TableOfConjugates(Keeps):
    """Made once, of complex numbers whose conjugation waits."""

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.polar(torch.ones(4), torch.arange(4.0)).conj()
        return x * self.kept


class MadeAnew(Keeps):
    """Made by every call."""

    def forward(self, x):
        self.kept = torch.arange(4.0).cos()
        return x * self.kept + self.kept


class Settles(Keeps):
    """Changed by every call into what it is."""

    def forward(self, x):
        self.kept = torch.ones(4) if self.kept is None else self.kept.clamp(0, 1)
        return x * self.kept


class Counts(Keeps):
    """Changed by every call."""

    def forward(self, x):
        self.kept = torch.ones(4) if self.kept is None else self.kept + 1
        return x * self.kept


class Returns(Keeps):
    """Changed by every call, and returned, beside what is computed without it."""

    def forward(self, x):
        self.kept = torch.ones(4) if self.kept is None else self.kept * 2
        return x * 1 + 0 * self.kept.sum(), self.kept.clone()


class CountsInADict(Keeps):
    """Changed by every call."""

    def __init__(self):
        super().__init__()
        self.table = {}

    def forward(self, x):
        self.table["c"] = self.table["c"] + 1 if "c" in self.table else torch.zeros(4)
        return x + self.table["c"]


class AddsToABuffer(Keeps):
    """Changed by every call, and added to a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("sum", torch.zeros(4))

    def forward(self, x):
        self.kept = torch.ones(4) if self.kept is None else self.kept + 1
        self.sum.add_(self.kept)
        return x + self.sum


class UsedInAnotherWay(Keeps):
    """Made once; later calls do something else with it."""

    def forward(self, x):
        if self.kept is None:
            self.kept = torch.ones(4)
            return x * self.kept
        return x * self.kept.exp()


CAPTURED = [Table, TableOfWeights, TableOfConjugates, MadeAnew, Settles]
REFUSED = [Counts, Returns, CountsInADict, AddsToABuffer, UsedInAnotherWay]


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("kind", CAPTURED)
def test_where_all_calls_do_the_same_there_is_a_program(kind, strict):
    """Its calls agree with the module's, one after the other."""
    module = kind()
    program = monograph.export(module, (torch.randn(4),), strict=strict).module()
    for _ in range(3):
        x = torch.randn(4)
        assert torch.equal(program(x), module(x))


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("kind", REFUSED)
def test_where_the_second_call_does_something_else_there_is_none(kind, strict):
    """The program would do what the first call did, always."""
    with pytest.raises(monograph.MonographError) as refused:
        monograph.export(kind(), (torch.randn(4),), strict=strict)
    assert refused.value.diagnostic.name == "attribute-changed"
