"""Row `overlap`: inputs that are one tensor, or share storage, in the example or at the call."""

import torch
from torch import nn

from tests.contract.registry import Call, probe
from tests.contract.structures import v
from tests.contract.tensor_types import m


def twice():
    """Give one tensor two times."""
    x = v()
    return (x, x)


def halves():
    """Give two tensors that share a storage and no element."""
    x = torch.randn(6)
    return (x[:3], x[3:])


def overlapping():
    """Give two tensors that share an element."""
    x = torch.randn(5)
    return (x[:3], x[2:])


def interleaved():
    """Give every other element, and the others."""
    x = torch.randn(6)
    return (x[::2], x[1::2])


def view_of_it():
    """Give a tensor and a view of all of it."""
    x = v()
    return (x, x.view(3))


def leaf_twice():
    """Give one leaf that requires gradients two times."""
    x = v().requires_grad_()
    return (x, x)


def apart():
    """Give two tensors."""
    return (v(), v())


PAIRS = {
    "twice": twice,
    "halves": halves,
    "overlapping": overlapping,
    "interleaved": interleaved,
    "a view": view_of_it,
}


@probe("overlap", apart, calls=PAIRS)
def first_written(x, y):
    """The second input is read after a write to the first."""
    x.add_(1)
    return y * 2


@probe("overlap", apart, calls=PAIRS)
def both_written(x, y):
    """Both are written to, one after the other."""
    x.mul_(2)
    y.add_(x)
    return x - y


@probe("overlap", apart, calls=PAIRS)
def read_before_the_write(x, y):
    """What is read before a write does not see it."""
    z = y * 2
    x.zero_()
    return z


@probe("overlap", apart, calls=PAIRS)
def only_read(x, y):
    """Nothing is written: sharing changes nothing."""
    return x + y


@probe("overlap", apart, calls=PAIRS)
def both_returned(x, y):
    """Results share storage where the inputs do."""
    return x, y


@probe("overlap", apart, calls=PAIRS)
def views_returned(x, y):
    """As above, through views."""
    return x[1:], y.view(1, 3), x


@probe("overlap", twice, calls={**PAIRS, "apart": apart})
def one_tensor_in_the_example(x, y):
    """The example gives one tensor two times: the arguments stay two."""
    return x * 2 + y * 3


@probe("overlap", twice, calls={**PAIRS, "apart": apart})
def one_tensor_written(x, y):
    """As above, and the first is written to."""
    x.add_(1)
    return y * 2


@probe("overlap", twice, calls={**PAIRS, "apart": apart})
def identity_asked(x, y):
    """A branch on whether two inputs are one."""
    return x * 2 if x is y else x * 3


@probe("overlap", apart, calls=PAIRS)
def identity_denied(x, y):
    """As above, where they are not."""
    return x * 2 if x is y else x * 3


@probe("overlap", apart, calls={**PAIRS, "leaf": leaf_twice})
def gradients_add_up(x, y):
    """One leaf in two places receives both gradients."""
    return x * 2 + y * y


@probe(
    "overlap",
    lambda: ([v(), v(), v()],),
    calls={"all one": lambda: ([v()] * 3,)},
)
def a_list_of_one(xs):
    """A list holds one tensor three times, and the first is written to."""
    xs[0].add_(1)
    return xs[1] * 2 + xs[2]


@probe("overlap", apart, calls=PAIRS)
def copied_into_the_other(x, y):
    """A copy between inputs that may overlap."""
    x.copy_(y * 2)
    return x, y + 1


@probe("overlap", apart, calls=PAIRS)
def out_given(x, y):
    """`out=` writes to an input."""
    torch.add(x, 1, out=y)
    return x * 1


@probe(
    "overlap",
    lambda: (m(), v(4)),
    calls={
        "a row of it": lambda: ((a := m()), a[1]),
        "another": lambda: (m(), v(4)),
    },
)
def a_row_of_a_matrix(x, row):
    """The second input may be a row of the first, which is written to."""
    x[1].add_(10)
    return row * 2


@probe(
    "overlap",
    lambda: (v(),),
    agrees={"again": lambda: (v(),)},
)
def input_returned(x):
    """The input comes back, itself."""
    return x, x.view(3), x + 0


@probe(
    "overlap",
    lambda: (m(),),
    calls={"transposed": lambda: (m(4, 3).T,)},
)
def written_through_a_view(x):
    """The caller sees a write through a view of a view."""
    x.T[1].view(-1)[::2].mul_(3)
    return x[:, 1]


@probe("overlap", lambda: (v(),), agrees={"again": Call(lambda: (v(),), times=3)})
class BufferReturned(nn.Module):
    """A buffer and a view of it come back; the caller may write to them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("table", torch.arange(3.0))

    def forward(self, x):
        return self.table, self.table[1:], x + self.table


@probe("overlap", lambda: (v(),), calls={"twice": Call(lambda: (v(),), times=2)})
class InputKeptInABuffer(nn.Module):
    """The buffer is replaced by the input itself: later writes of the caller reach eager's."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        y = x - self.last
        self.last = x.clone()
        return y


@probe(
    "overlap",
    lambda: (v(),),
    calls={"twice": Call(lambda: (v(),), times=2)},
    refused=("buffer-is-input",),
)
class InputItselfKept(nn.Module):
    """As above without a copy, and the input is returned too: result and buffer are one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x):
        y = x - self.last
        self.last = x
        return y, x


@probe("overlap", lambda: (v(),), agrees={"twice": Call(lambda: (v(),), times=2)})
def results_that_share(x):
    """Results share storage with each other, not with the input."""
    y = x * 2
    return y, y[1:], y, [y.view(1, 3)]
