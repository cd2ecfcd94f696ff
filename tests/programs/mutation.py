"""Programs that write in place: to inputs, to buffers, to views of them."""

import warnings

import torch
from torch import nn

from tests.programs.registry import program, variants


def one(n=4, m=5):
    """Give a matrix."""
    return (torch.randn(n, m),)


def square(n=4):
    """Give a square matrix."""
    return (torch.randn(n, n),)


def two(n=4, m=5):
    """Give two matrices."""
    return (torch.randn(n, m), torch.randn(n, m))


def _then(effect):
    def forward(x):
        effect(x)
        return x * 1

    return forward


variants(
    one,
    {
        f"inplace_{name}": _then(effect)
        for name, effect in {
            "add": lambda x: x.add_(1),
            "mul_alpha": lambda x: x.add_(x, alpha=2),
            "transposed": lambda x: x.T.add_(1),
            "chunk": lambda x: x.chunk(2)[0].mul_(3),
            "chunk_last": lambda x: x.chunk(2, 1)[-1].mul_(3),
            "split": lambda x: x.split(1, 1)[0].zero_(),
            "unbind": lambda x: x.unbind(1)[0].zero_(),
            "select": lambda x: x.select(1, 0).fill_(2),
            "view_of_view": lambda x: x[1:][:, 0].neg_(),
            "flat_view": lambda x: x.view(-1)[0].fill_(9),
            "reshape_view": lambda x: x.reshape(-1).mul_(2),
            "flatten": lambda x: x.flatten().mul_(2),
            "unsqueeze_view": lambda x: x.unsqueeze(0).mul_(2),
            "expand": lambda x: x[:, :1].expand(-1, 1).add_(1),
            "diagonal": lambda x: x.diagonal().fill_(0),
            "as_strided": lambda x: x.as_strided((2,), (1,)).fill_(0),
            "narrow": lambda x: x.narrow(1, 0, 1).exp_(),
            "detach": lambda x: x.detach().mul_(2),
            "data": lambda x: x.data.mul_(2),
            "copy": lambda x: x.copy_(x * 2),
            "copy_broadcast": lambda x: x.copy_(torch.arange(1.0)),
            "copy_scalar_tensor": lambda x: x.copy_(torch.tensor(3)),
            "copy_to_row": lambda x: x[0].copy_(x[1]),
            "fill_tensor": lambda x: x.fill_(x.sum()),
            "zero": lambda x: x.zero_(),
            "clamp": lambda x: x.clamp_(-0.5, 0.5),
            "relu": lambda x: torch.relu_(x),
            "dropout_eval": lambda x: nn.functional.dropout(x, 0.5, False, True),
            "masked_fill": lambda x: x.masked_fill_(x > 0, 0),
            "where_put": lambda x: x.index_fill_(0, torch.tensor([0]), 1.0),
            "index_add": lambda x: x.index_add_(0, torch.tensor([0]), x[:1].clone()),
            "index_copy": lambda x: x.index_copy_(1, torch.tensor([0]), x[:, 1:2].clone()),
            "scatter": lambda x: x.scatter_(1, torch.zeros(1, 1, dtype=torch.int64), 5.0),
            "addcmul": lambda x: x.addcmul_(x, x),
            "lerp": lambda x: x.lerp_(x * 2, 0.5),
            "pow": lambda x: x.pow_(2),
            "sub_iadd": lambda x: operator_iadd(x),
            "out": lambda x: torch.add(x, 1, out=x),
            "out_of_row": lambda x: torch.mul(x[0], 2, out=x[1]),
            "triu": lambda x: x.triu_(),
            "fill_diagonal": lambda x: x.fill_diagonal_(0),
            "cumsum": lambda x: x.cumsum_(0),
            "floor_divide": lambda x: x.div_(2, rounding_mode="floor"),
            "round": lambda x: x.round_(decimals=1),
            "logical": lambda x: x.gt_(0),
            "real_where": lambda x: x.copy_(torch.where(x > 0, x, -x)),
            "sum_into": lambda x: torch.sum(x, 0, out=x[0]) if False else None,
        }.items()
    },
)


def operator_iadd(x):
    """`x += 1` and relatives in a function of their own."""
    x += 1
    x -= 2
    x *= 3
    x /= 4
    return x


variants(
    one,
    {
        f"reshaped_inplace_{name}": function
        for name, function in {
            "t": lambda x: x.clone().t_() + 1,
            "unsqueeze": lambda x: x.clone().unsqueeze_(1) * 2,
            "squeeze": lambda x: x[:1].clone().squeeze_(0) * 2,
            "transpose": lambda x: x.clone().transpose_(0, 1).contiguous(),
            "swapaxes": lambda x: x.clone().swapaxes_(0, 1).relu(),
            "t_then_add": lambda x: x.clone().t_().add_(1).t_(),
            "resize_like": lambda x: torch.empty(0).new_empty(x.shape).copy_(x),
        }.items()
    },
)


@program(one)
def shape_after_t(x):
    """Sizes follow a transposition in place, views made before keep theirs."""
    y = x.clone()
    row = y[0]
    row.add_(1)
    y.t_()
    return y.new_zeros(y.shape) + y, row * 1, y.shape[0], y[:, 0] + row


@program(one)
def input_transposed_in_place(x):
    """`x.t_()` changes the caller's tensor itself."""
    x.t_()
    return x * 1


@program(one)
def input_unsqueezed_in_place(x):
    """`x.unsqueeze_(0)` changes the caller's tensor itself."""
    return x.unsqueeze_(0) * 1


@program(two)
def one_input_into_another(x, y):
    """Copy between inputs."""
    x.copy_(y)
    y.add_(1)
    return x + y


@program(two)
def returned_after_write(x, y):
    """Inputs and views of them are returned as they are."""
    x.add_(y)
    return x, y, x[0], y.T


@program(one)
def read_before_and_after(x):
    """Order of reads and writes."""
    before = x * 2
    view = x[0]
    x.add_(1)
    after = x * 2
    view.mul_(2)
    return before, after, x * 2, view * 1


@program(one)
def write_to_clone(x):
    """Writing to a clone does not write to the input."""
    y = x.clone()
    y[0] = 1
    z = x.contiguous()
    w = x.to(torch.float32)
    return y, z + 0, w + 0


@program(one)
def contiguous_is_the_same(x):
    """`contiguous` of a contiguous tensor is the tensor, so this writes to x."""
    x.contiguous().add_(1)
    return x * 1


@program(one)
def to_is_the_same(x):
    """`to` of what it is already is the tensor, so this writes to x; another dtype copies."""
    x.to(torch.float32).add_(1)
    x.float().add_(1)
    x.double().add_(1)
    x.to("cpu").add_(1)
    return x * 1


@program(one)
def returned_contiguous(x):
    """What is the tensor itself is returned as it is."""
    return x.contiguous(), x.to(torch.float32), x.float(), x.expand(x.shape), x.view(x.shape)


@program(one)
def returned_views(x):
    """Views of an input are views of it when returned."""
    return x[1:], x.T, x.view(-1), x[..., None], x.detach(), x.reshape(-1), x.flatten(), x.ravel()


@program(one)
def returned_twice(x):
    """One value under two names."""
    y = x + 1
    return y, y, y[0], (y, [y.T])


@program(one)
def out_variants(x):
    """`out=` into new tensors."""
    out = torch.empty_like(x)
    torch.add(x, x, out=out)
    total = x.new_empty(x.shape[1])
    torch.sum(x, 0, out=total)
    values, indices = torch.empty(x.shape[0]), torch.empty(x.shape[0], dtype=torch.int64)
    torch.max(x, 1, out=(values, indices))
    return out, total, values, indices


@program(one)
def out_resized(x):
    """`out=` of an empty tensor resizes it."""
    out = torch.empty(0)
    torch.mul(x, 2, out=out)
    return out


# ---------------------------------------------------------------------------------------- buffers
@program(one)
class CountsInPlace(nn.Module):
    """`n += 1` on a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.n += 1
        return x + self.n


@program(one)
class CountsByReassignment(nn.Module):
    """`self.n = self.n + 1` replaces a buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.n = self.n + 1
        return x + self.n


@program(one)
class RunningMean(nn.Module):
    """Several ways to write to buffers, one through a view."""

    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(5))
        self.register_buffer("history", torch.zeros(3, 5), persistent=False)

    def forward(self, x):
        mean = x.detach().sum() * torch.ones(5)
        self.mean.mul_(0.9).add_(mean, alpha=0.1)
        self.history[1:] = self.history[:-1].clone()
        self.history[0] = self.mean
        self.history.view(-1)[0].add_(1)
        return x.sum() + self.history.sum(), self.mean


@program(one)
class SwapsBuffers(nn.Module):
    """Two buffers exchanged."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        self.a, self.b = self.b, self.a + 1
        return x.sum() + self.a - self.b


@program(one)
class ReturnsOldBuffer(nn.Module):
    """The replaced buffer is returned: eager leaves its values alone."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(3))

    def forward(self, x):
        old = self.n
        self.n = self.n + x.sum()
        return old * 1, self.n * 1


@program(one)
class SetsBufferInChild(nn.Module):
    """A buffer of a submodule is replaced from outside."""

    def __init__(self):
        super().__init__()
        self.child = CountsInPlace()

    def forward(self, x):
        y = self.child(x)
        self.child.n = self.child.n * 2
        return y + self.child.n


@program(one)
class BufferFromInput(nn.Module):
    """The last input is remembered."""

    def __init__(self):
        super().__init__()
        self.register_buffer("last", torch.zeros(()))

    def forward(self, x):
        previous = self.last.clone()
        self.last.copy_(x.sum())
        return x - previous


@program(one)
class BufferReadLater(nn.Module):
    """A buffer read before and after the write."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.ones(()))

    def forward(self, x):
        before = x * self.n
        self.n.add_(1)
        return before + x * self.n


@program(one)
class BatchNormTraining(nn.Module):
    """Running statistics and `num_batches_tracked`."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x.sum() * torch.ones(4, 3) + torch.arange(12.0).view(4, 3))


@program(one, refused="specialized-value")
class BatchNormMomentumNone(nn.Module):
    """A cumulative average divides by the number of batches, a value known at run time."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3, momentum=None)

    def forward(self, x):
        return self.norm(x.sum() * torch.ones(4, 3) + torch.arange(12.0).view(4, 3))


@program(one)
class WritesParameter(nn.Module):
    """A parameter written to under no_grad, as in a forward that normalises its weights."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        with torch.no_grad():
            self.weight.div_(self.weight.norm())
        return x.sum() * self.weight


@program(one)
class WritesParameterData(nn.Module):
    """`weight.data` written to."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        self.weight.data.clamp_(max=1.5)
        return x.sum() * self.weight


@program(one)
class ReplacesParameterData(nn.Module):
    """`weight.data = ...` gives the parameter other values."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        self.weight.data = self.weight.data / 2
        return x.sum() * self.weight


@program(one)
class TiedBuffers(nn.Module):
    """One buffer under two names, written to under one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("b", self.a)

    def forward(self, x):
        self.a.add_(1)
        return x.sum() + self.b


@program(one)
class TiedViews(nn.Module):
    """A buffer that is a view of another, written to through it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("first", self.a[:1])

    def forward(self, x):
        self.a.add_(1)
        return x.sum() + self.first


@program(one, refused="buffer-reshaped")
class BufferGrows(nn.Module):
    """A buffer replaced by one of another shape, as caches do."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 2))

    def forward(self, x):
        self.seen = torch.cat([self.seen, torch.ones(1, 2)])
        return x + self.seen.sum()


@program(one, refused="buffer-reshaped")
class BufferChangesDtype(nn.Module):
    """A buffer replaced by one of another dtype."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros((), dtype=torch.int64))

    def forward(self, x):
        self.n = self.n + 0.5
        return x + self.n


@program(one, refused="buffer-reshaped")
class BufferBecomesNone(nn.Module):
    """A buffer replaced by nothing."""

    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        y = x + self.n
        self.n = None
        return y


@program(one, refused="attribute-changed")
class AttributeCounts(nn.Module):
    """A plain attribute that outlives the call."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls


@program(one)
class AttributeKeepsTensor(nn.Module):
    """A tensor kept in an attribute, which every call writes before it reads it."""

    def forward(self, x):
        self.last = x * 2
        return self.last + 1


@program(one, refused="attribute-changed")
class ListKeepsTensor(nn.Module):
    """A list attribute appended to outlives the call."""

    def __init__(self):
        super().__init__()
        self.history = []

    def forward(self, x):
        self.history.append(x.sum())
        return x + len(self.history)


@program(one)
class AttributeMemo(nn.Module):
    """An attribute that is made anew by every call, and then read."""

    def forward(self, x):
        self.shape = x.shape
        self.cache = {"double": x * 2}
        self.steps = [1]
        self.steps.append(len(self.steps))
        return self.cache["double"].view(self.shape) + sum(self.steps)


@program(one, refused="attribute-changed")
class AttributeMadeOnce(nn.Module):
    """A value made by the first call and read by the others."""

    def forward(self, x):
        if not hasattr(self, "first"):
            self.first = x * 1
        return x - self.first


@program(one, refused="attribute-changed")
class DictKeepsTensor(nn.Module):
    """A dict attribute written to outlives the call."""

    def __init__(self):
        super().__init__()
        self.cache = {}

    def forward(self, x):
        if "x" not in self.cache:
            self.cache["x"] = x * 2
        return x + self.cache["x"]


class Settings:
    """An object of a user's class."""

    def __init__(self):
        self.calls = 0
        self.seen = [[]]


@program(one, refused="attribute-changed")
class ObjectCounts(nn.Module):
    """An object held by an attribute is changed."""

    def __init__(self):
        super().__init__()
        self.settings = Settings()

    def forward(self, x):
        self.settings.calls += 1
        return x + self.settings.calls


@program(one, refused="attribute-changed")
class NestedListGrows(nn.Module):
    """A list inside of an object's list is changed."""

    def __init__(self):
        super().__init__()
        self.settings = (Settings(),)

    def forward(self, x):
        self.settings[0].seen[0].append(1)
        return x + len(self.settings[0].seen[0])


@program(one)
class AttributeSetToTheSame(nn.Module):
    """An attribute set to what it is."""

    def __init__(self):
        super().__init__()
        self.mode = "sum"
        self.scale = 2.0

    def forward(self, x):
        self.mode = "su" + "m"
        self.scale = self.scale * 1
        return x.sum() * self.scale if self.mode == "sum" else x


@program(one, refused="attribute-changed")
class SubmoduleMadeLate(nn.Module):
    """A submodule made by forward would have other weights in every call."""

    def forward(self, x):
        self.late = nn.ReLU()
        return self.late(x)


@program(one, refused="attribute-changed")
class BufferMadeLate(nn.Module):
    """A buffer made by forward."""

    def forward(self, x):
        self.register_buffer("late", x.sum())
        return x + self.late


@program(one)
class WeightNormed(nn.Module):
    """The hook of `weight_norm` sets an attribute before every call."""

    def __init__(self):
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            self.linear = nn.utils.weight_norm(nn.Linear(3, 2))

    def forward(self, x):
        return self.linear(x.sum() * torch.ones(1, 3))


@program(one)
class SpectralNormed(nn.Module):
    """`spectral_norm` updates its vectors in place in every training call."""

    def __init__(self):
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            self.linear = nn.utils.spectral_norm(nn.Linear(3, 2))

    def forward(self, x):
        return self.linear(x.sum() * torch.ones(1, 3))


@program(one)
class Parametrized(nn.Module):
    """A parametrization computes the weight."""

    def __init__(self):
        super().__init__()
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(3, 2))

    def forward(self, x):
        return self.linear(x.sum() * torch.ones(1, 3))


STEPS = torch.zeros(())


@program(one, refused="mutated-constant")
def global_written(x):
    """A global tensor is a constant, and is written to."""
    STEPS.add_(1)
    return x + STEPS


@program(one, refused="mutated-constant")
class ConstantWritten(nn.Module):
    """A plain tensor attribute is a constant, and is written to."""

    def __init__(self):
        super().__init__()
        self.steps = torch.zeros(())

    def forward(self, x):
        self.steps.add_(1)
        return x + self.steps


@program(one)
class PureSwap(nn.Module):
    """Two buffers exchanged as they are."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        self.a, self.b = self.b, self.a
        return x.sum() + self.a - 2 * self.b


@program(one, refused="attribute-changed")
class TieBroken(nn.Module):
    """Two names of one buffer, of which one is replaced: the other keeps the old values."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("b", self.a)

    def forward(self, x):
        self.b = self.b + 1
        return x.sum() + self.a - self.b


@program(one, refused="attribute-changed")
class TieMade(nn.Module):
    """Two buffers become one."""

    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(2))
        self.register_buffer("b", torch.ones(2))

    def forward(self, x):
        self.a.add_(1)
        self.b = self.a
        return x.sum() + self.a - self.b


@program(one)
class InstallsOnce(nn.Module):
    """What the first call installs, later ones find; they compute the same."""

    def __init__(self):
        super().__init__()
        self.child = nn.ReLU()
        self.scales = {}

    def forward(self, x):
        if not getattr(self, "installed", False):
            self.installed = True
            self.scales["x"] = 2.0
        return self.child(x) * self.scales["x"]


@program(one, refused="attribute-changed")
class DiffersTheSecondTime(nn.Module):
    """The second call computes something else."""

    def forward(self, x):
        if not getattr(self, "warm", False):
            self.warm = True
            return x * 2
        return x * 3


@program(one)
class Recurrent(nn.Module):
    """An LSTM renews its own list of weights."""

    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(5, 3, batch_first=True)

    def forward(self, x):
        y, (h, c) = self.rnn(x.sum() * torch.ones(2, 4, 5))
        return y, h, c


@program(one)
class TableFilledOnce(nn.Module):
    """A table made of a parameter on the first call and kept for the others."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2))
        self.table = None
        self.by_device = {}

    def forward(self, x):
        if self.table is None:
            self.table = self.weight.exp()
        if "cpu" not in self.by_device:
            self.by_device["cpu"] = self.weight * 2
        return x.sum() + self.table + self.by_device["cpu"]


@program(one, refused="attribute-changed")
class FirstInputKept(nn.Module):
    """What the first call saw decides what the others return."""

    def __init__(self):
        super().__init__()
        self.first = None

    def forward(self, x):
        if self.first is None:
            self.first = x * 2
        return x + self.first


@program(lambda n=4: (torch.randn(n),), refused="data-replaced")
def memories_exchanged(x):
    """What one held is read after it was given the other's."""
    a, b = x * 1, x * 2
    a.data, b.data = b.data, a.data
    return a, b


@program(lambda n=4: (torch.randn(n),), refused="data-replaced")
def memory_replaced_beside_a_view(x):
    """The view goes on showing what was there."""
    a = x * 1
    first = a[:1]
    a.data = x * 3
    return a, first


@program(lambda n=4: (torch.randn(n),))
def memory_of_a_value_that_is_let_go(x):
    """Nobody can tell a copy from it."""
    a, b = x * 1, x * 2
    b.add_(1)
    a.data = b
    return a * b.sum(), a.view(-1)


@program(lambda n=4: (torch.randn(n),), refused="data-replaced")
def memory_written_by_its_first_owner(x):
    """The tensor that took it over shows what is written."""
    a, b = x * 1, x * 2
    a.data = b
    b.add_(1)
    return a


@program(lambda n=4: (torch.randn(n),), refused="data-replaced")
def memory_written_by_whoever_took_it_over(x):
    """A view of the first owner shows what is written."""
    a, b = x * 1, x * 2
    first = b[:1]
    a.data = b.data
    a[:2].mul_(3)
    return first * 2


@program(lambda n=4: (torch.randn(n),), refused="data-replaced")
def memory_taken_over_twice(x):
    """All three are one."""
    a, b, c = x * 1, x * 2, x * 3
    a.data = b
    c.data = a
    b.add_(1)
    return c


@program(lambda n=4: (torch.randn(n),), refused="data-replaced")
def memory_returned_under_both_names(x):
    """The caller may write to one of them."""
    a, b = x * 1, x * 2
    a.data = b
    return a, b
