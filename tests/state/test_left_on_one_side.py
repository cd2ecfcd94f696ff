"""Attributes that one way of a condition sets and the other leaves: the next call finds them."""

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import MonographError


class Begins(nn.Module):
    """A flag says what was made, a tensor what it is."""

    def __init__(self):
        super().__init__()
        self.ready, self.last = False, torch.zeros(3)
        self.register_buffer("kept", torch.zeros(3))
        self.parts = {"a": torch.zeros(3)}


class ByData(Begins):
    """No flag: the sum decides."""

    def forward(self, x):
        if x.sum() > 0:
            self.last = x + 1
        return x + self.last


class ByAFlag(Begins):
    """As data initialise at the first call."""

    def forward(self, x):
        if not self.ready:
            self.last, self.ready = x.detach() + 5, True
        return x + self.last


class ByAFlagFromNothing(Begins):
    """There was none."""

    def forward(self, x):
        if not self.ready:
            self.made, self.ready = torch.ones(3), True
        return x + self.made


class ByAFlagInADict(Begins):
    """The dict is the same one."""

    def forward(self, x):
        if not self.ready:
            self.parts["a"], self.ready = torch.ones(3), True
        return x + self.parts["a"]


FOUND = [ByData, ByAFlag, ByAFlagFromNothing, ByAFlagInADict]


class NobodyReads(Begins):
    """Set on one side, for others to look at."""

    def forward(self, x):
        if x.sum() > 0:
            self.last = x + 1
        return x * 2


class ReadWhereItIsSet(Begins):
    """On the same side, and within it."""

    def forward(self, x):
        if x.sum() > 0:
            self.last = x + 1
            if x[0] > 0:
                x = x + self.last
        return x * 2


class SetOnBoth(Begins):
    """And then once more."""

    def forward(self, x):
        if x.sum() > 0:
            self.last = x + 1
        self.last = x * 3
        return x + self.last


class ABufferByAFlag(Begins):
    """Buffers are state of the program."""

    def forward(self, x):
        if not self.ready:
            self.kept, self.ready = self.kept + x, True
        return x + self.kept


class BesideAFlag(Begins):
    """Every call sets it before it looks."""

    def forward(self, x):
        self.last = x * 2
        if not self.ready:
            self.ready = True
            return self.last
        return self.last + 1


RIGHT = [NobodyReads, ReadWhereItIsSet, SetOnBoth, ABufferByAFlag, BesideAFlag]


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("kind", FOUND)
def test_what_the_next_call_finds_is_refused(kind, strict):
    """It holds what an earlier one left."""
    with pytest.raises(MonographError):
        monograph.export(kind(), (torch.ones(3),), strict=strict)


@pytest.mark.parametrize("strict", [False, True], ids=["plain", "strict"])
@pytest.mark.parametrize("kind", RIGHT)
def test_what_no_call_finds_is_not(kind, strict):
    """Calls in a row agree, whichever way they go."""
    program, eager = monograph.export(kind(), (torch.ones(3),), strict=strict).module(), kind()
    for sign in (1, -1, -1, 1, -1):
        x = torch.rand(3) * sign
        assert torch.equal(program(x), eager(x))
