"""Operators that give their argument, or a view of it, although their schema does not say so."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import monograph

WAYS = {
    "atleast_2d": torch.atleast_2d,
    "broadcast_tensors": lambda t: torch.broadcast_tensors(t)[0],
    "cartesian_prod": lambda t: torch.cartesian_prod(t[0]),
    "conj_physical": torch.conj_physical,
    "dropout": lambda t: F.dropout(t, training=False),
    "einsum": lambda t: torch.einsum("ij->ji", t),
    "meshgrid": lambda t: torch.meshgrid(t[0], indexing="ij")[0],
    "reshape": lambda t: t.reshape(-1),
    "unsafe_chunk": lambda t: torch.unsafe_chunk(t, 1)[0],
    "sum_to_size": lambda t: t.sum_to_size(3, 4),
}


class WritesBuffer(nn.Module):
    """Writes to a buffer by way of an operator."""

    def __init__(self, way):
        super().__init__()
        self.way = way
        self.register_buffer("count", torch.zeros(3, 4))

    def forward(self, x):
        self.way(self.count).add_(1)
        return x * self.count


class WritesBufferInBranch(WritesBuffer):
    """The same where data decides it."""

    def forward(self, x):
        if x.sum() > 0:
            self.way(self.count).add_(1)
        return x * self.count


class WritesLiteral(WritesBuffer):
    """Reads a literal after it was written to."""

    def forward(self, x):
        literal = torch.tensor([[0.0, 0.0, 0.0, 0.0]] * 3)
        self.way(literal).add_(1)
        return x + (1 if literal[0, 0].item() > 0 else 2)


@pytest.mark.parametrize("lowered", [False, True])
@pytest.mark.parametrize("cls", [WritesBuffer, WritesBufferInBranch, WritesLiteral])
@pytest.mark.parametrize("name", WAYS)
def test_what_is_written_through_them_is_seen(name, cls, lowered):
    """By the program, and once lowered."""
    module, x = cls(WAYS[name]), torch.ones(3, 4)
    program = monograph.export(cls(WAYS[name]), (x,))
    called = (program.run_decompositions() if lowered else program).module()
    for _ in range(2):
        assert torch.equal(called(x), module(x))
    assert torch.equal(dict(called.named_buffers())["count"], module.count)


class Flattened(nn.Module):
    """Flattening one dimension gives the tensor itself."""

    def forward(self, x):
        return x + (1 if x.flatten(1) is x else 2)


def test_flattening_one_dimension_gives_the_argument():
    """Also of a tensor with more dimensions."""
    x = torch.zeros(3, 4)
    assert torch.equal(monograph.export(Flattened(), (x,)).module()(x), Flattened()(x))


class GivesParameter(nn.Module):
    """An idle dropout gives a tensor that autograd follows, in any mode."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        with torch.no_grad():
            weight = F.dropout(self.weight, training=False)
        return x * weight + (1 if weight.requires_grad else 2)


def test_an_idle_dropout_keeps_what_autograd_follows():
    """Under `no_grad`, too."""
    x = torch.zeros(3)
    program = monograph.export(GivesParameter(), (x,)).module()
    assert torch.equal(program(x), GivesParameter()(x))
