"""A block as in Llama, and its plan for tensor parallelism."""

import torch
from torch import nn
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
from torch.nn import functional as F


class Block(nn.Module):
    """Attention over four heads and a gated layer, each behind a norm."""

    def __init__(self, width=16, heads=4):
        super().__init__()
        names = dict.fromkeys(("q", "k", "v", "o"), (width, width))
        names |= {"up": (width, 32), "gate": (width, 32), "down": (32, width)}
        for name, sizes in names.items():
            setattr(self, name, nn.Linear(*sizes, bias=False))
        self.first, self.second = nn.RMSNorm(width), nn.RMSNorm(width)
        self.head = width // heads

    def forward(self, x):
        batch, length, _ = x.shape
        h = self.first(x)
        q, k, v = (
            each(h).view(batch, length, -1, self.head).transpose(1, 2)
            for each in (self.q, self.k, self.v)
        )
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(a.transpose(1, 2).reshape(batch, length, -1))
        h = self.second(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


def plan():
    """Columns into what is split over ranks, rows out of it."""
    columns = {name: ColwiseParallel() for name in ("q", "k", "v", "up", "gate")}
    return columns | {"o": RowwiseParallel(), "down": RowwiseParallel()}


def block():
    """The same weights on every rank."""
    torch.manual_seed(0)
    return Block()


def inputs(batch, length):
    """The same on every rank."""
    return torch.randn(batch, length, 16, generator=torch.Generator().manual_seed(length))
