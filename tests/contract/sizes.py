"""Rows `size` and `assumption`: what is fixed stays fixed, what varies keeps its conditions."""

import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.registry import probe
from tests.contract.structures import v
from tests.contract.tensor_types import m


def at(*sizes):
    """How to make one tensor of a size."""
    return lambda: (m(*sizes),)


@probe(
    "size",
    at(3, 4),
    calls={"longer": at(5, 4), "wider": at(3, 5), "one": at(1, 4), "none": at(0, 4)},
)
def sizes_by_default(x):
    """No size varies unless it is declared."""
    return x * 2, x.mean(), x.shape[0]


@probe(
    "size",
    at(3, 1),
    calls={"wider": at(3, 4), "none": at(3, 0)},
)
def a_size_of_one_that_broadcasts(x):
    """A fixed size of 1 broadcasts, others do not."""
    return x + torch.ones(3, 4), x.squeeze(1) * 2


@probe(
    "size",
    at(3, 4),
    agrees={"two": at(2, 4), "many": at(50, 4)},
    calls={"one": at(1, 4), "none": at(0, 4), "wider": at(3, 5)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def a_batch(x):
    """One size varies, the other does not."""
    return x.softmax(-1), x.sum(0) / x.shape[0]


@probe(
    "size",
    at(3, 4),
    agrees={"within": at(7, 4)},
    calls={"below": at(1, 4), "above": at(17, 4), "zero": at(0, 4)},
    shapes=lambda dim: {"x": {0: dim("batch", min=2, max=16)}},
)
def a_range(x):
    """A declared range is held."""
    return x * x.shape[0]


@probe(
    "size",
    lambda: (m(3, 4), m(3, 4)),
    agrees={"both": lambda: (m(5, 4), m(5, 4))},
    calls={
        "one differs": lambda: (m(5, 4), m(3, 4)),
        "one is one": lambda: (m(5, 4), m(1, 4)),
        "both one": lambda: (m(1, 4), m(1, 4)),
        "both none": lambda: (m(0, 4), m(0, 4)),
    },
    shapes=lambda dim: {"x": {0: dim.AUTO}, "y": {0: dim.AUTO}},
)
def two_sizes_that_meet(x, y):
    """A sum makes two sizes equal."""
    return x + y


@probe(
    "size",
    lambda: (m(3, 4), m(1, 4)),
    calls={
        "no longer one": lambda: (m(3, 4), m(3, 4)),
        "longer": lambda: (m(5, 4), m(1, 4)),
        "other one": lambda: (m(1, 4), m(1, 4)),
        "other way": lambda: (m(1, 4), m(3, 4)),
    },
    shapes=lambda dim: {"x": {0: dim.AUTO}, "y": {0: dim.AUTO}},
)
def an_example_of_one(x, y):
    """The example's 1 must not choose that broadcasting happens."""
    return x + y


@probe(
    "size",
    at(1, 4),
    agrees={"one": at(1, 4)},
    calls={"two": at(2, 4), "none": at(0, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def squeezed(x):
    """A size of 1 goes away, another does not."""
    return x.squeeze(0) * 2


@probe(
    "size",
    at(4, 6),
    agrees={"rows": at(6, 6)},
    calls={"odd": at(5, 6), "one": at(1, 6), "none": at(0, 6)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def a_size_that_divides(x):
    """Half as many rows."""
    return x.view(x.shape[0] // 2, 2, 6).sum(1)


@probe(
    "size",
    at(4, 6),
    calls={"longer": at(5, 6), "one": at(1, 6), "none": at(0, 6)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def a_size_as_a_plain_number(x):
    """`int(n)`, `range(n)` and `len` fix a size or follow it."""
    total = sum(x[i] for i in range(x.shape[0]))
    return total, len(x), int(x.shape[0]) * 2


@probe(
    "size",
    at(4, 6),
    calls={"longer": at(5, 6), "one": at(1, 6)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def a_size_as_a_key(x):
    """A size looks up a table."""
    table = {4: 2.0, 5: 3.0}
    return x * table.get(x.shape[0], 1.0)


@probe(
    "size",
    at(4, 6),
    calls={"longer": at(5, 6), "one": at(1, 6), "ten": at(10, 6)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def a_size_as_a_text(x):
    """A size is formatted, hashed and compared as text."""
    return x * len(f"{x.shape[0]}"), x * len(str(tuple(x.shape)))


@probe(
    "size",
    at(4, 6),
    agrees={"longer": at(5, 6)},
    calls={"one": at(1, 6), "none": at(0, 6)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def sizes_returned(x):
    """Sizes come back as numbers of the call."""
    return x.shape, x.shape[0] * 2 + 1, x.numel(), x.shape[0] / 2, x.size()


@probe(
    "size",
    at(2, 3, 4),
    agrees={"both": at(5, 7, 4)},
    calls={"ones": at(1, 1, 4), "none": at(0, 3, 4), "none inside": at(2, 0, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO, 1: dim.AUTO}},
)
def merged_and_split(x):
    """Two sizes become one and come back."""
    flat = x.flatten(0, 1)
    return flat, flat.unflatten(0, (x.shape[0], -1)), flat.mean(0)


@probe(
    "assumption",
    at(12, 4),
    agrees={"same side": at(20, 4)},
    calls={"other side": at(3, 4), "edge": at(8, 4), "one": at(1, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def longer_than(x):
    """One side of a branch on a size."""
    return x * 2 if x.shape[0] > 8 else x * 3


@probe(
    "assumption",
    at(12, 4),
    agrees={"same side": at(20, 4)},
    calls={"odd": at(13, 4), "none": at(0, 4), "one": at(1, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def even(x):
    """One side of a question of divisibility."""
    return F.pad(x, (0, 0, 0, 1)) if x.shape[0] % 2 else x * 3


@probe(
    "assumption",
    lambda: (m(3, 4), m(5, 4)),
    agrees={"still unequal": lambda: (m(7, 4), m(2, 4))},
    calls={"equal": lambda: (m(5, 4), m(5, 4)), "ones": lambda: (m(1, 4), m(1, 4))},
    shapes=lambda dim: {"x": {0: dim.AUTO}, "y": {0: dim.AUTO}},
)
def unequal(x, y):
    """Equal sizes take another way."""
    return x.sum() - y.sum() if x.shape != y.shape else x - y


@probe(
    "assumption",
    at(3, 4),
    agrees={"other": at(5, 4)},
    calls={"one": at(1, 4), "none": at(0, 4), "two": at(2, 4), "many": at(11, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def truth_of_a_size(x):
    """`if n`, `not n`, `n or m`, `min`, `max`, `n in (...)`."""
    n = x.shape[0]
    scale = 2 if n else 3
    other = 5 if n in (1, 10) else 7
    return x * scale * other * max(n, 3), x[: min(n, 10)]


@probe(
    "assumption",
    at(3, 4),
    calls={"longer": at(6, 4), "one": at(1, 4), "none": at(0, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def an_error_that_is_caught(x):
    """Whether sizes fit is asked by trying."""
    try:
        return x + torch.ones(3, 4)
    except RuntimeError:
        return x * 2


@probe(
    "assumption",
    at(3, 4),
    agrees={"longer": at(6, 4)},
    calls={"one": at(1, 4), "none": at(0, 4), "thirty": at(30, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
class PositionsThatEnd(nn.Module):
    """A table of positions is cut to length; beyond its end eager gives what broadcasts or not."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.randn(16, 4))

    def forward(self, x):
        return x + self.table[: x.shape[0]]


@probe(
    "assumption",
    at(1, 3, 8, 8),
    calls={"smaller": at(1, 3, 4, 4), "larger": at(1, 3, 9, 11), "tiny": at(1, 3, 1, 1)},
    shapes=lambda dim: {"x": {2: dim.AUTO, 3: dim.AUTO}},
)
def pooled(x):
    """How pooling rounds depends on sizes."""
    return F.max_pool2d(x, 3, 2, 1, ceil_mode=True), F.adaptive_avg_pool2d(x, 2)


@probe(
    "assumption",
    at(7, 4),
    calls={"eight": at(8, 4), "two": at(2, 4), "one": at(1, 4), "none": at(0, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def chunks(x):
    """How many chunks there are depends on the size."""
    parts = x.chunk(3)
    return parts[-1], len(parts)


@probe(
    "assumption",
    at(7, 4),
    calls={"eight": at(8, 4), "two": at(2, 4), "one": at(1, 4), "none": at(0, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def parts_of_three(x):
    """How many parts of three there are depends on the size."""
    return [part.sum(0) for part in x.split(3)]


@probe(
    "assumption",
    at(7, 4),
    calls={"eight": at(8, 4), "two": at(2, 4), "one": at(1, 4), "none": at(0, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def beyond_the_end(x):
    """Slices stop at the end, wherever it is."""
    return x[2:5], x[-3:], x[5:2], x[:-6], x[::3]


@probe(
    "assumption",
    at(5, 4),
    calls={"none": at(0, 4), "one": at(1, 4), "seven": at(7, 4)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
)
def reductions_of_nothing(x):
    """Some reductions of nothing raise, others give nan or an identity."""
    return x.mean(0), x.std(0), x.prod(0), x.amax(0)


@probe(
    "assumption",
    lambda: (v(4), v(6)),
    agrees={"other": lambda: (v(6), v(9))},
    calls={"not related": lambda: (v(4), v(7)), "ones": lambda: (v(1), v(1))},
    shapes=lambda dim: {"x": {0: dim.AUTO}, "y": {0: dim.AUTO}},
)
def two_and_three(x, y):
    """A condition on two sizes together."""
    return x.view(2, -1).sum() * (2 if x.shape[0] * 3 == y.shape[0] * 2 else 3)


def _image(*shape):
    return lambda: (torch.arange(float(torch.Size(shape).numel())).view(shape),)


def _open_image(build):
    return probe(
        "size",
        _image(2, 3, 4, 8),
        calls={
            "higher": _image(2, 3, 9, 8),
            "wider": _image(3, 3, 4, 16),
            "low": _image(2, 3, 1, 4),
            "channels last": lambda: (
                _image(2, 3, 9, 8)()[0].to(memory_format=torch.channels_last),
            ),
            "transposed": lambda: (_image(2, 3, 8, 9)()[0].transpose(2, 3),),
        },
        shapes=lambda dim: {"x": {0: dim.AUTO, 2: dim.AUTO, 3: dim.AUTO}},
    )(build)


@_open_image
def a_view_by_a_size_that_happens_to_be_one(x):
    """One row of patches is a view of the map, two are a copy."""
    y = x[:, :, ::4, ::4]
    b, c, h, w = y.shape
    return y.transpose(1, 2).reshape(b, c * h, w) * 2


@_open_image
def such_a_view_is_written_to(x):
    """What a view of it would show is changed."""
    y = x[:, :, ::4, ::4] * 1
    z = y.transpose(1, 2).flatten(1, 2)
    y += 1
    return z * 2


@_open_image
def such_a_view_and_its_source_are_results(x):
    """Callers may see that they are one."""
    y = x[:, :, ::4, ::4] * 1
    return y.transpose(1, 2).flatten(1, 2), y


@_open_image
def such_a_view_is_asked_how_it_lies(x):
    """One is contiguous and the other is not."""
    z = x[:, :, ::4, ::4].transpose(1, 2).flatten(1, 2)
    return z + (1 if z.is_contiguous() else 2)
