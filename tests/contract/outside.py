"""Row `outside`: values that differ between calls though the inputs do not."""

import random
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m


def vec():
    """Give a vector."""
    return (v(),)


TWICE = {"twice": Call(vec, times=2)}


@probe("outside", vec, agrees=TWICE)
def torch_random(x):
    """Torch's own random numbers are part of the graph."""
    return x + torch.rand(3), torch.randn_like(x), torch.randperm(4), torch.bernoulli(x.sigmoid())


@probe("outside", vec, agrees=TWICE)
def dropped(x):
    """Dropout draws."""
    return F.dropout(x, 0.5, training=True), F.rrelu(x, training=True)


@probe("outside", vec, calls=TWICE, refused=("write-outlives-call",))
def seeded(x):
    """The seed is set within the call."""
    torch.manual_seed(3)
    return x + torch.rand(3)


@probe("outside", vec, calls=TWICE, refused=("own-generator", "attribute-changed"))
def drawn_from_a_generator(x):
    """A generator made within the call."""
    return x + torch.rand(3, generator=torch.Generator().manual_seed(7))


GENERATOR = torch.Generator().manual_seed(1)


def generator_reset(_):
    """Seed the generator of the file as it was at first."""
    GENERATOR.manual_seed(1)


@probe(
    "outside",
    Call(vec, before=generator_reset),
    calls={"twice": Call(vec, before=generator_reset, times=2)},
    refused=("own-generator", "attribute-changed"),
)
def drawn_from_a_global_generator(x):
    """A generator of the file goes on with each call."""
    return x + torch.rand(3, generator=GENERATOR)


@probe("outside", vec, calls=TWICE, refused=("own-generator", "attribute-changed"))
class DrawnFromItsOwn(nn.Module):
    """A generator of the module goes on with each call."""

    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(2)

    def forward(self, x):
        return x + torch.rand(3, generator=self.generator)


@probe("outside", vec, calls=TWICE, refused=("outside-read",))
def random_state_asked(x):
    """The state of the generator is read."""
    return x * torch.get_rng_state().sum() + torch.initial_seed() % 7


@probe("outside", vec, calls={"once more": vec}, refused=("outside-read",))
def python_random(x):
    """Python's random numbers."""
    return x * random.random()


@probe("outside", vec, calls={"once more": vec}, refused=("outside-read",))
def numpy_random(x):
    """NumPy's random numbers."""
    return x * float(np.random.rand())  # noqa: NPY002


@probe("outside", vec, calls={"once more": vec}, refused=("outside-read",))
def clock_read(x):
    """The time."""
    return x * (time.time_ns() % 1_000_003)


@probe("outside", vec, calls={"once more": vec}, refused=("outside-read",))
def identity_of_an_object(x):
    """Where an object happens to lie."""
    return x * (id(object()) % 1_000_003)


@probe("outside", vec, calls={"once more": vec}, refused=("outside-read",))
def identity_of_an_input(x):
    """Where the input happens to lie."""
    return x * (id(x) % 1_000_003)


@probe("outside", vec, calls={"once more": vec}, refused=("outside-read",))
def address_of_an_input(x):
    """The address of the data."""
    return x * (x.data_ptr() % 1_000_003)


@probe("outside", lambda: (m(3, 4),), calls={"twice": Call(lambda: (m(3, 4),), times=2)})
class DropoutLayers(nn.Module):
    """Layers that draw, in training."""

    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, dropout=0.5, batch_first=True)
        self.drop = nn.AlphaDropout(0.3)

    def forward(self, x):
        y, _ = self.attention(x[None], x[None], x[None], need_weights=False)
        return self.drop(y)
