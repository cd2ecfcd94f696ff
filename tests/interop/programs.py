"""The programs that are handed over: sizes that vary, state, regions, structures, conditions."""

import torch

import monograph
from tests.seeding import reseed


class Net(torch.nn.Module):
    """A small network in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.out = torch.nn.Linear(4, 5)

    def forward(self, image):
        x = torch.relu(self.norm(self.conv(image)))
        return self.out(x.mean((2, 3))).softmax(-1)


class Counts(torch.nn.Module):
    """Writes to a buffer, runs a region, takes and gives dictionaries, and asks for a size."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 8)
        self.register_buffer("seen", torch.zeros(8))
        self.scale = torch.full((8,), 2.0)

    def forward(self, x, given):
        with torch.no_grad():
            y = self.linear(x)
        self.seen.add_(y.sum(0))
        if x.shape[0] > 3:
            y = y * self.scale
        return {"y": y + given["a"], "seen": self.seen * 1}


class Attention(torch.nn.Module):
    """One block of a transformer; batch and length vary."""

    def __init__(self):
        super().__init__()
        self.embed = torch.nn.Embedding(16, 8)
        self.qkv = torch.nn.Linear(8, 24)
        self.out = torch.nn.Linear(8, 16)

    def forward(self, ids):
        batch, length = ids.shape
        qkv = self.qkv(self.embed(ids)).view(batch, length, 3, 2, 4).permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(*qkv, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(batch, length, 8))


def net():
    """Export the network; the batch varies."""
    reseed(0)
    module = Net().eval()
    batch = monograph.Dim("batch", min=1, max=64)
    return module, monograph.export(
        module, (torch.randn(2, 3, 6, 6),), dynamic_shapes={"image": {0: batch}}
    )


def counts():
    """Export what has state; the batch varies from four."""
    reseed(0)
    module = Counts()
    shapes = {"x": {0: monograph.Dim("batch", min=4, max=64)}, "given": None}
    example = (torch.randn(5, 4), {"a": torch.ones(8)})
    return module, monograph.export(module, example, dynamic_shapes=shapes)


def attention():
    """Export attention; batch and length vary."""
    reseed(0)
    module = Attention().eval()
    sizes = {0: monograph.Dim("batch", min=1, max=64), 1: monograph.Dim("length", min=1, max=64)}
    ids = torch.arange(10).view(2, 5)
    return module, monograph.export(module, (ids,), dynamic_shapes={"ids": sizes})
