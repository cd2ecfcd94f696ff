"""Row `data`: the data in a tensor never decides what the program does for other inputs."""

import logging

import torch
from torch import nn

from tests.contract.registry import probe
from tests.contract.structures import v

BRANCH = (
    "data-dependent-branch",
    "data-dependent-size",
    "specialized-value",
    "value-read",
    "data-dependent-loop",
)


def vec():
    """Give a vector."""
    return (v(),)


def high():
    """Give positive numbers."""
    return (v().abs() + 1,)


SIGNS = {
    "negative": lambda: (-v().abs() - 1,),
    "zero": lambda: (torch.zeros(3),),
    "nan": lambda: (torch.full((3,), float("nan")),),
}


def number(n):
    """How to make a vector and a number in a tensor."""
    return lambda: (v(8), torch.tensor(n))


NUMBERS = {
    "five": number(5),
    "zero": number(0),
    "one": number(1),
    "negative": number(-2),
    "large": number(100),
}


@probe("data", high, calls=SIGNS, refused=BRANCH)
def branch_on_data(x):
    """A branch on a sum."""
    return x * 2 if x.sum() > 0 else x * 3


@probe("data", high, calls=SIGNS, refused=BRANCH)
def branch_on_all(x):
    """A branch on every element."""
    if torch.all(x > 0):
        return x.log()
    return x


@probe("data", high, calls=SIGNS, refused=BRANCH)
def branch_on_equality(x):
    """`torch.equal`, `allclose` and `in` read data."""
    return x if torch.equal(x, torch.ones(3)) else x + 1


@probe("data", high, calls=SIGNS, refused=BRANCH)
def branch_on_item(x):
    """A number read out decides."""
    return x * 2 if x[0].item() > 0 else x * 3


@probe("data", high, calls=SIGNS, refused=BRANCH)
def loop_on_data(x):
    """How often depends on data."""
    while x.sum() > 1:
        x = x / 2
    return x


@probe("data", high, calls=SIGNS, refused=BRANCH)
def asserted(x):
    """An assertion reads data."""
    assert (x > 0).all(), "must be positive"
    return x * 2


@probe("data", high, calls=SIGNS)
def chosen_by_where(x):
    """Both sides are computed."""
    return torch.where(x.sum() > 0, x * 2, x * 3)


@probe("data", number(3), agrees={"five": number(5)}, calls=dict(list(NUMBERS.items())[1:]))
def number_read(x, n):
    """A number read out is a number of the call."""
    return x * n.item()


@probe("data", number(3), calls=NUMBERS)
def size_read(x, n):
    """A size that depends on data."""
    k = n.item()
    torch._check(k >= 0)
    torch._check(k <= 8)
    return x[:k], torch.zeros(k)


@probe("data", number(3), calls=NUMBERS, refused=BRANCH)
def plain_number_read(x, n):
    """`int(t)` and `range` ask for the number itself."""
    for _ in range(int(n)):
        x = x + 1
    return x


@probe("data", number(3), calls=NUMBERS)
def index_read(x, n):
    """A tensor as an index."""
    return x[n % 8], x.index_select(0, n[None] % 8)


@probe("data", lambda: (torch.tensor(2.5), v()), calls={"other": lambda: (torch.tensor(-1.0), v())})
def float_read(t, x):
    """A float read out."""
    return x * t.item(), x + t.item() * 2


@probe(
    "data",
    lambda: (torch.tensor(2.5), v()),
    calls={"other": lambda: (torch.tensor(-1.0), v())},
    refused=BRANCH,
)
def plain_float_read(t, x):
    """`float(t)` asks for the number itself."""
    return x * float(t)


@probe(
    "data", lambda: (torch.tensor(True), v()), calls={"false": lambda: (torch.tensor(False), v())}
)
def bool_read(t, x):
    """A bool read out."""
    return x * t.item()


@probe("data", vec, calls={**SIGNS, "positive": high})
def elements_chosen(x):
    """How many elements there are depends on data."""
    return x[x > 0], (x > 0).nonzero(), torch.unique(x)


@probe("data", vec, calls={**SIGNS, "positive": high})
def as_many_as_chosen(x):
    """The number of elements chosen is used."""
    y = x[x > 0]
    return y * y.shape[0], y.numel()


@probe("data", vec, calls=SIGNS, refused=(*BRANCH,))
def listed(x):
    """`tolist` reads every element."""
    return x * max(x.tolist())


@probe("data", vec, calls=SIGNS)
def as_numpy(x):
    """NumPy computes with data."""
    return x + torch.from_numpy(x.numpy() * 2)


@probe("data", vec, calls=SIGNS, refused=(*BRANCH,))
def iterated(x):
    """Python's `max` compares elements."""
    return max(x) * 2


@probe("data", vec, calls=SIGNS, refused=BRANCH)
def formatted(x):
    """A number is formatted."""
    return x * len(f"{x[0]:.3f}")


@probe("data", vec, calls=SIGNS, refused=BRANCH)
def text_asked(x):
    """The text of a tensor holds its values."""
    return x * len(str(x))


@probe("data", vec, agrees=SIGNS)
def shown_to_people(x):
    """What is printed decides nothing."""
    print("a tensor", [x])  # noqa: T201
    logging.getLogger("tests.contract").debug("a tensor %s", x)
    return x * 2


@probe(
    "data",
    lambda: (torch.tensor([3, 1, 2]), v(6)),
    calls={"other": lambda: (torch.tensor([1, 1, 4]), v(6))},
)
def split_by_data(sizes, x):
    """Sizes of parts that depend on data."""
    return [part.sum() for part in x.split(sizes.tolist())]


@probe(
    "data", lambda: (torch.tensor([3, 1, 2]),), calls={"other": lambda: (torch.tensor([0, 5, 1]),)}
)
def repeated_by_data(n):
    """`repeat_interleave` and `bincount` have sizes that depend on data."""
    return torch.repeat_interleave(n), torch.bincount(n)


@probe("data", vec, calls=SIGNS)
class ItemKept(nn.Module):
    """A number read out of the input is used as a scale, by name and in place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("scale", torch.ones(()))

    def forward(self, x):
        self.scale.fill_(x.sum().item())
        return x / self.scale


@probe(
    "data",
    lambda: (torch.ones(4),),
    calls={"none": lambda: (torch.ones(0),), "negative": lambda: (-torch.ones(3),)},
    shapes=lambda dim: {"x": {0: dim.AUTO}},
    refused=("data-dependent-branch",),
)
def sizes_asked_on_one_side(x):
    """One side of a condition on data asks whether there are elements."""
    if (x > 0).any():
        return x * 2
    return x.min() * x if x.numel() else x


@probe("size", lambda: (torch.ones(4, 3),), agrees={"negative": lambda: (-torch.ones(4, 3),)})
def operators_that_fail_and_are_caught(x):
    """What an operator raises for the sizes of every call leads to the module's handler."""
    try:
        y = x.view(5, 5)
    except RuntimeError:
        y = x + 1
    try:
        return y @ y
    except RuntimeError:
        return torch.cat([y, y], 1)


@probe(
    "size", lambda: (torch.ones(4, 3),), refused=("view-impossible", "value-read", "memory-exposed")
)
def failing_operator_that_nobody_catches(x):
    """A handler of other exceptions is around it."""
    try:
        return x.view(5, 5)
    except KeyError:
        return x + 1


@probe("data", lambda: (torch.ones(4),), refused=("specialized-value", "value-read"))
def values_read_where_errors_are_caught(x):
    """Eager code reads them: a refusal is no exception of the operator's."""
    try:
        return x * float(x.numpy()[0])
    except RuntimeError:
        return x + 1


def _may_divide(divide):
    """A module that catches a division by a number out of data that is zero."""

    def forward(x):
        try:
            return x * divide(x.sum())
        except ZeroDivisionError:
            return x * 7

    return forward


for _name, _divide in {
    "inverse": lambda total: 1 / total.item(),
    "quotient": lambda total: 10 // total.int().item(),
    "remainder": lambda total: 10 % total.int().item(),
}.items():
    _function = _may_divide(_divide)
    _function.__name__ = f"{_name}_where_zero_is_caught"
    probe("data", lambda: (torch.ones(4),), refused=("outside-read",))(_function)


@probe("data", lambda: (torch.ones(4),), agrees={"other": lambda: (torch.full((4,), 3.0),)})
def inverse_that_nobody_catches(x):
    """Both raise alike."""
    return x * (1 / x.sum().item())
