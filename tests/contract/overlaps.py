"""Row `overlap`: inputs that are one tensor, or share storage, in the example or at the call."""

import numpy as np
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


@probe("overlap", twice, calls={**PAIRS, "apart": apart}, refused=("outside-read",))
def identity_asked(x, y):
    """A branch on whether two inputs are one."""
    return x * 2 if x is y else x * 3


@probe("overlap", apart, calls=PAIRS, refused=("outside-read",))
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


ROW = torch.ones(2, 3)


class _Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(3))
        self.lin = nn.Linear(3, 2)


@probe(
    "overlap",
    lambda: (v(),),
    calls={"twice": Call(lambda: (v(),), times=2)},
    refused=("buffer-is-input",),
)
class WeightKeptInABuffer(_Kept):
    """From the second call on the buffer is a row of the weight, and what is written reaches it."""

    def forward(self, x):
        self.last.add_(x)
        self.last = self.lin.weight[0].detach()
        return self.lin(x)


@probe(
    "overlap",
    lambda: (v(),),
    calls={"twice": Call(lambda: (v(),), times=2)},
    refused=("buffer-is-input",),
)
class GlobalKeptInABuffer(_Kept):
    """The same with a tensor that belongs to nobody's module."""

    def forward(self, x):
        self.last.add_(x)
        self.last = ROW[0]
        return self.lin(x)


@probe("overlap", lambda: (v(),), agrees={"twice": Call(lambda: (v(),), times=2)})
def results_that_share(x):
    """Results share storage with each other, not with the input."""
    y = x * 2
    return y, y[1:], y, [y.view(1, 3)]


def of_one_array():
    """Give two tensors of one array of NumPy's, whose storages are two."""
    room = np.arange(5, dtype=np.float32)
    return (torch.from_numpy(room[:3]), torch.from_numpy(room[2:]))


def beside_in_one_array():
    """As above, where they only touch."""
    room = np.arange(6, dtype=np.float32)
    return (torch.from_numpy(room[:3]), torch.from_numpy(room[3:]))


@probe(
    "overlap",
    apart,
    calls={"one array": of_one_array},
    agrees={"beside": beside_in_one_array, "halves": halves, "interleaved": interleaved},
)
def two_storages_of_one_memory(x, y):
    """Memory is shared by tensors that share no storage."""
    x.add_(1)
    return y.sum() + x


@probe("overlap", apart, agrees={**PAIRS, "one array": of_one_array})
def looked_at_after_the_write(x, y):
    """After the write, the other input is only viewed, and returned."""
    z = y * 2
    x.add_(1)
    return z, y[1:], y


@probe("overlap", apart, agrees={**PAIRS, "one array": of_one_array})
def asked_for_its_size_alone(x, y):
    """Of the other input no data is read."""
    x.add_(y.shape[0])
    return x * 2


@probe("overlap", lambda: (v(), v(), v()), agrees={"the readers are one": lambda: (v(), *twice())})
def three_of_which_one_is_written(x, y, z):
    """Inputs that are only read may share whatever they like."""
    x.mul_(y)
    return x + y - z


@probe("overlap", lambda: (v(), v(4)), calls={"a part": lambda: ((x := v(4))[:3], x)})
def written_and_then_gathered(x, y):
    """The read is of other elements than the write, as the values say."""
    x[0] = 5
    return y.index_select(0, torch.tensor([3])) + y[1:2]


def expanded():
    """Give a vector that repeats one element."""
    return (torch.randn(1).expand(4),)


def unfolded():
    """Give windows that overlap."""
    return (torch.randn(4).unfold(0, 3, 1),)


@probe("overlap", lambda: (v(4),), calls={"expanded": expanded})
def an_element_in_many_places(x):
    """The input's elements may be one, and all are written to."""
    return x.add_(1) * 2


@probe("overlap", lambda: (m(2, 3),), calls={"windows": unfolded})
def windows_written(x):
    """Elements of the input may share memory in part."""
    x.mul_(2).add_(1)
    return x.sum(0)


@probe(
    "overlap",
    lambda: (m(2, 3),),
    agrees={"windows": unfolded, "expanded": lambda: (m(1, 3).expand(2, 3),)},
)
def windows_read(x):
    """As above, without a write."""
    return x * 2


@probe("overlap", lambda: (v(4),), calls={"expanded": expanded})
def a_part_of_it_written(x):
    """One element is written to, and the others may be the same one."""
    x[0] = 3
    return x + 1


@probe("overlap", lambda: (v(4),), calls={"expanded": lambda: (torch.randn(1).expand(4),)})
def elements_copied_to_one(x):
    """As above, from other memory, and of another stride: that raises."""
    y = x[:1].expand(4)
    try:
        y.copy_(x)
    except RuntimeError:
        return x + 1
    return x * 2


@probe(
    "overlap", lambda: (m(3, 3), m(3, 3)), calls={"its transpose": lambda: ((x := m(3, 3)), x.t())}
)
def the_transpose_read(x, y):
    """The whole of one is the whole of the other, in another order."""
    x.tril_()
    return x @ y


@probe(
    "overlap",
    lambda: (v(4), torch.zeros(4, dtype=torch.int32)),
    calls={"the bits": lambda: ((x := v(4)), x.view(torch.int32))},
)
def of_another_dtype(x, y):
    """One memory is seen in two types."""
    x.neg_()
    return x, y + 1


@probe(
    "overlap",
    lambda: (v(), {"cache": v()}, [v()]),
    calls={
        "the cache": lambda: ((x := v()), {"cache": x}, [v()]),
        "the list": lambda: ((x := v()), {"cache": v()}, [x]),
        "these two": lambda: (v(), {"cache": (x := v())}, [x.view(3)]),
    },
)
def in_containers(x, d, xs):
    """Inputs overlap wherever they stand."""
    d["cache"].copy_(x)
    xs[0].sub_(1)
    return d["cache"] + xs[0]
