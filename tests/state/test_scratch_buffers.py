"""Scratch buffers: each call leaves them with another shape, and none computes with what is there.

Those that a later call could notice are refused.
"""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from monograph.diagnostics import SideEffectError
from tests.state.program_forms import forms_of


class Holding(nn.Module):
    """Something with an empty buffer that is in no state_dict."""

    def __init__(self, persistent=False):
        super().__init__()
        self.register_buffer("mem", torch.zeros(0), persistent=persistent)


class Spiking(Holding):
    """A neuron whose state begins anew with each call, as spiking networks have it."""

    def step(self, x, mem=None):
        if mem is not None:
            self.mem = mem
        if self.mem.shape != x.shape:
            self.mem = torch.zeros_like(x)
        spike = (self.mem > 1).to(x.dtype)
        self.mem = 0.9 * self.mem + x - spike
        return self.mem

    def forward(self, x):
        self.mem = torch.zeros_like(self.mem)
        mem = self.mem
        for _ in range(3):
            mem = self.step(x, mem)
        return mem


class Zeros(Holding):
    """What is there is asked for its shape, and for zeros of it."""

    def forward(self, x):
        if self.mem.shape != x.shape:
            self.mem = torch.zeros_like(x)
        y = x + torch.zeros_like(self.mem)
        self.mem = x * 2
        return y


class Remembering(Spiking):
    """The next call begins with what this one left."""

    def forward(self, x):
        return self.step(x)


class Counting(Holding):
    """The next call asks for the first size of what this one left."""

    def forward(self, x):
        rows = self.mem.shape[0] if self.mem.dim() == 2 else 0
        self.mem = torch.ones_like(x)
        return x * rows


class AskingForOne(Holding):
    """Another call is told from the first, and calls of as many rows from others."""

    def forward(self, x):
        factor = 2.0 if self.mem.dim() == 2 and self.mem.shape[0] != x.shape[0] else 1.0
        self.mem = torch.ones_like(x)
        return x * factor


class AskingForTwo(Holding):
    """What is as large in one dimension alone is told from what is as large in both or none."""

    def forward(self, x):
        same = self.mem.dim() == 2 and self.mem.shape[0] == x.shape[0]
        odd = same and self.mem.shape[1] != x.shape[1]
        self.mem = torch.ones_like(x)
        return x * (2.0 if odd else 1.0)


class Lengthening(Holding):
    """It grows."""

    def forward(self, x):
        self.mem = torch.cat([self.mem, x[0].detach()])
        return x + 1


class InPlace(Holding):
    """What is there is written to, which the caller may see who has the last result."""

    def forward(self, x):
        self.mem.zero_()
        self.mem = x * 1
        return self.mem


class Twice(nn.Module):
    """Two names of one buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("one", torch.zeros(0), persistent=False)
        self.other = Holding()
        self.other.mem = self.one

    def forward(self, x):
        self.one = torch.zeros_like(x)
        return x + 1


SIZES = ({"x": {0: Dim.AUTO}}, {"x": {0: Dim.AUTO, 1: Dim.AUTO}})


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("dynamic_shapes", [None, *SIZES])
@pytest.mark.parametrize("kind", [Spiking, Zeros])
def test_what_no_call_computes_with_is_no_part_of_the_program(kind, dynamic_shapes, strict):
    """One call after the other, of sizes as before and others, also from a file and lowered."""
    program = monograph.export(
        kind(), (torch.randn(4, 5),), dynamic_shapes=dynamic_shapes, strict=strict
    )
    assert list(program.state_dict) == []
    sizes = [(4, 5)] * 2
    if dynamic_shapes is not None:
        sizes += [(7, 5), (7, 5), (1, 5), (4, 5)]
    if dynamic_shapes is SIZES[1]:
        sizes += [(4, 6), (3, 6), (3, 1)]
    for form in forms_of(program) if dynamic_shapes is SIZES[1] else [program.module()]:
        module = kind()
        for size in sizes:
            x = torch.randn(size)
            assert torch.equal(form(x), module(x))


REFUSED = [Remembering, Counting, Lengthening, InPlace, Twice]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("dynamic_shapes", [None, SIZES[1]])
@pytest.mark.parametrize("kind", REFUSED)
def test_what_the_next_call_notices_is_refused(kind, dynamic_shapes, strict):
    """Values, sizes, and memory that somebody else has."""
    example = (torch.randn(4, 5),)
    with pytest.raises(SideEffectError, match=r"buffer-reshaped|attribute-changed"):
        monograph.export(kind(), example, dynamic_shapes=dynamic_shapes, strict=strict)


@pytest.mark.parametrize("kind", [AskingForOne, AskingForTwo])
def test_calls_of_other_sizes_are_traced_too(kind):
    """With fixed sizes nobody notices; where they vary, somebody does."""
    example = (torch.randn(4, 5),)
    fixed = monograph.export(kind(), example).module()
    x = torch.randn(4, 5)
    assert torch.equal(fixed(x), x)
    assert torch.equal(fixed(x), x)
    with pytest.raises(SideEffectError, match="buffer-reshaped"):
        monograph.export(kind(), example, dynamic_shapes=SIZES[1])


def test_a_buffer_of_the_state_dict_is_refused():
    """Whoever saves the module would find it there."""
    with pytest.raises(SideEffectError, match="buffer-reshaped"):
        monograph.export(Zeros(persistent=True), (torch.randn(4, 5),))
