"""Row `outside`: values that differ between calls though the inputs do not."""

import logging
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


@probe("outside", vec, calls=TWICE)
def drawn_from_a_generator(x):
    """A generator made within the call: it draws the same in each."""
    generator = torch.Generator().manual_seed(7)
    y = torch.rand(3, generator=generator) + torch.randint(0, 9, (3,), generator=generator)
    return x + y.mul_(2), torch.empty(4, 3).normal_(generator=generator)


@probe("outside", vec, calls=TWICE)
def drawn_from_the_default_generator(x):
    """It is PyTorch's own, by name."""
    return x + torch.rand(3, generator=torch.default_generator)


@probe("outside", vec, calls=TWICE, refused=("own-generator",))
def drawn_from_a_random_seed(x):
    """The system gives another seed to each call."""
    generator = torch.Generator()
    generator.seed()
    return x + torch.rand(3, generator=generator)


@probe("outside", vec, calls=TWICE, refused=("own-generator",))
def filled_as_inputs_lie(x):
    """The order in which a tensor is filled is that of its memory."""
    y = torch.empty_like(x.view(3, 1).expand(3, 4).clone())
    return y.uniform_(generator=torch.Generator().manual_seed(7)) + x.sum()


GENERATOR = torch.Generator().manual_seed(1)


def generator_reset(_):
    """Seed the generator of the file as it was at first."""
    GENERATOR.manual_seed(1)


@probe(
    "outside",
    Call(vec, before=generator_reset),
    calls={"twice": Call(vec, before=generator_reset, times=2)},
    refused=("write-outlives-call",),
)
def drawn_from_a_global_generator(x):
    """A generator of the file goes on with each call."""
    return x + torch.rand(3, generator=GENERATOR)


@probe("outside", vec, calls=TWICE, refused=("attribute-changed",))
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


@probe("outside", vec, agrees=TWICE)
def measured(x):
    """How long a line took is shown to nobody."""
    begin, at = time.perf_counter(), time.time_ns()
    y = x * 2
    taken = [time.perf_counter() - begin, (time.time_ns() - at) // 1000]
    return y, len(taken)


class Timer:
    """Keeps how long its block took."""

    def __enter__(self):
        self.begin = time.monotonic()
        return self

    def __exit__(self, *_):
        self.taken = (time.monotonic() - self.begin) * 1e3


@probe("outside", vec, agrees=TWICE)
def timed_block(x):
    """A context manager measures, and logs what it found."""
    with Timer() as timer:
        y = x.sin()
    logging.getLogger(__name__).debug("took %.2f ms", timer.taken)
    return y


@probe("outside", vec, calls=TWICE, refused=("outside-read",))
def decided_by_a_clock(x):
    """What is returned depends on how fast the machine is."""
    begin = time.perf_counter()
    y = x.cos()
    return y if time.perf_counter() - begin < 1e-9 else y + 1


@probe("outside", vec, calls=TWICE, refused=("outside-read",))
def returned_clock(x):
    """The time is part of the result."""
    return x, time.time()


@probe("outside", vec, calls=TWICE, refused=("outside-read",))
def text_of_a_clock(x):
    """The time goes through a text."""
    return x * float(str(time.time()))


@probe("outside", vec, agrees=TWICE)
def own_random_numbers(x):
    """A generator that the call makes of a plain seed draws the same in every call."""
    rng = random.Random(7)
    order = list(range(3))
    rng.shuffle(order)
    return x[order] * rng.uniform(0, 1) + rng.gauss(0, 1)


@probe("outside", vec, calls=TWICE, refused=("outside-read",))
def own_random_numbers_of_nothing(x):
    """A generator that the call makes of the system's random bytes."""
    return x * random.Random().random()


@probe("outside", vec, calls=TWICE, refused=("outside-read",))
def reseeded(x):
    """A generator of a plain seed is seeded again, with the system's random bytes."""
    rng = random.Random(7)
    rng.seed()
    return x * rng.random()


@probe("outside", vec, calls=TWICE, refused=("outside-read", "attribute-changed"))
class KeptGenerator(nn.Module):
    """A generator of the module goes on with each call."""

    def __init__(self):
        super().__init__()
        self.rng = random.Random(3)

    def forward(self, x):
        return x * self.rng.random()
