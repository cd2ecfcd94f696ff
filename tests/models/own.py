"""Models of our own and of torch.nn: every size that the model lets vary, varies."""

import torch
from torch import nn

from bench.models import GPT, ResNet
from tests.models.registry import model

TEXT = {"ids": {0: "batch", 1: "seq"}}
TEXT_SIZES = [{"batch": 3, "seq": 16}, {"batch": 5, "seq": 9}, {"batch": 2, "seq": 48}]
TEXT_EDGES = [{"batch": 1, "seq": 16}, {"batch": 2, "seq": 1}, {"batch": 1, "seq": 1}]
IMAGE = {"image": {0: "batch", 2: "height", 3: "width"}}
IMAGE_SIZES = [
    {"batch": 3, "height": 64, "width": 64},
    {"batch": 2, "height": 64, "width": 96},
    {"batch": 5, "height": 75, "width": 50},
]


def ids(batch, seq):
    """Give token ids as the only argument."""
    return (torch.randint(0, 250, (batch, seq)),), {}


def image(batch, height, width):
    """Give a batch of images as the only argument."""
    return (torch.randn(batch, 3, height, width),), {}


@model(
    axes=TEXT,
    sizes=TEXT_SIZES,
    edges=[*TEXT_EDGES, {"batch": 0, "seq": 7}],
    ranges={"seq": (1, 128)},
)
def gpt():
    """A decoder-only transformer of three layers."""
    return GPT(n_layers=3), ids


@model(axes=TEXT, sizes=TEXT_SIZES, ranges={"seq": (1, 128)}, training=True)
def gpt_train():
    """The same in training mode: dropout draws from torch's own generator."""
    return GPT(n_layers=2, dropout=0.1), ids


@model(
    axes=IMAGE,
    sizes=IMAGE_SIZES,
    edges=[{"batch": 1, "height": 64, "width": 64}, {"batch": 2, "height": 1, "width": 3}],
    ranges={"batch": (1, 64), "height": (1, 512), "width": (1, 512)},
)
def resnet():
    """A residual network of eighteen layers, any image size."""
    return ResNet(), image


@model(
    axes=IMAGE,
    sizes=IMAGE_SIZES,
    ranges={"batch": (2, 64), "height": (32, 512), "width": (32, 512)},
    training=True,
)
def resnet_train():
    """The same in training mode: the running statistics of its norms are updated."""
    return ResNet(), image


@model(
    axes={"x": {0: "batch", 1: "seq"}},
    sizes=[{"batch": 3, "seq": 7}, {"batch": 2, "seq": 11}, {"batch": 6, "seq": 4}],
    edges=[{"batch": 1, "seq": 7}, {"batch": 3, "seq": 1}],
)
def lstm():
    """Two stacked bidirectional LSTM layers and the last state."""

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(24, 5)

        def forward(self, x):
            steps, (hidden, _cell) = self.lstm(x)
            return self.head(steps), hidden

    return Recurrent(), lambda batch, seq: ((torch.randn(batch, seq, 8),), {})


@model(
    axes={"src": {0: "batch", 1: "source"}, "tgt": {0: "batch", 1: "target"}},
    sizes=[
        {"batch": 3, "source": 10, "target": 7},
        {"batch": 2, "source": 6, "target": 13},
        {"batch": 5, "source": 8, "target": 8},
    ],
    edges=[{"batch": 1, "source": 10, "target": 7}, {"batch": 2, "source": 1, "target": 1}],
)
def transformer():
    """The encoder and decoder of torch.nn."""

    def inputs(batch, source, target):
        return (torch.randn(batch, source, 16), torch.randn(batch, target, 16)), {}

    return nn.Transformer(16, 4, 2, 2, 32, dropout=0.0, batch_first=True), inputs


@model(
    axes={"query": {0: "batch", 1: "target"}, "memory": {0: "batch", 1: "source"}},
    sizes=[
        {"batch": 3, "source": 10, "target": 7},
        {"batch": 2, "source": 6, "target": 13},
        {"batch": 4, "source": 9, "target": 9},
    ],
    edges=[{"batch": 1, "source": 1, "target": 1}],
)
def attention():
    """Attention of torch.nn between two sequences, with the weights it used."""

    class Cross(nn.Module):
        def __init__(self):
            super().__init__()
            self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

        def forward(self, query, memory):
            return self.attention(query, memory, memory, need_weights=True)

    def inputs(batch, source, target):
        return (torch.randn(batch, target, 16), torch.randn(batch, source, 16)), {}

    return Cross(), inputs


@model(
    axes={"x": {0: "rows"}, "scale": None},
    sizes=[{"rows": 4}, {"rows": 9}, {"rows": 2}],
    edges=[{"rows": 1}, {"rows": 0}],
)
def containers():
    """Keyword arguments in, a dictionary of views, copies and a constant out."""

    class Containers(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(6, 6)
            self.register_buffer("table", torch.arange(6.0))

        def forward(self, x, *, scale):
            y = self.linear(x) * scale
            halves = y.chunk(2, dim=1)
            return {"halves": halves, "sum": [y.sum(0), self.table + 1], "n": 3, "none": None}

    return Containers(), lambda rows: ((torch.randn(rows, 6),), {"scale": torch.randn(6)})
