"""Row `write`: a buffer's new value is kept; whatever else outlives a call is refused."""

import torch
from torch import nn
from torch.utils import _pytree as pytree

from tests.contract.registry import Call, probe
from tests.contract.structures import Batch, v
from tests.contract.tensor_types import m

KEPT = ("attribute-changed",)
ARGUMENT = ("write-outlives-call",)
SEEN: list = []


def vec():
    """Give a vector."""
    return (v(),)


def two_in_a_list():
    """Give a list of two."""
    return ([v(), v()],)


def one_twice():
    """Give a list that holds one vector twice."""
    return ([v()] * 2,)


class Store:
    """A cache of a user's own: a registered class, with more in it than its structure tells."""

    def __init__(self, items, n=0):
        self.items = items
        self.n = n
        self.names = set()

    def __repr__(self):
        return f"Store({vars(self)})"

    def add(self, item):
        """Keep an item."""
        self.items.append(item)
        self.n += 1

    def with_two_names(self):
        """Hold the list under a second name."""
        self.other = self.items
        return self


pytree.register_pytree_node(
    Store,
    lambda store: ([store.items], None),
    lambda children, _: Store(*children),
    serialized_type_name="tests.contract.Store",
)


def rows():
    """Give some rows."""
    return (m(4, 3),)


THREE_TIMES = {"thrice": Call(vec, times=3)}


@probe("write", vec, agrees=THREE_TIMES)
class BufferReplaced(nn.Module):
    """A buffer is replaced by a new tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total = self.total + x
        return self.total * 2


@probe("write", vec, agrees=THREE_TIMES)
class BufferWritten(nn.Module):
    """A buffer is written in place, also through a view, and is read in between."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        before = self.total.clone()
        self.total[1:].add_(x[1:])
        self.calls += 1
        return before, self.total * self.calls


@probe("write", rows, agrees={"thrice": Call(rows, times=3)})
class RunningStatistics(nn.Module):
    """A normalisation in training keeps a running mean, and counts."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)


@probe("write", vec, calls=THREE_TIMES, refused=KEPT)
class Counted(nn.Module):
    """A plain number counts calls."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@probe("write", vec, calls=THREE_TIMES, refused=KEPT)
class Listed(nn.Module):
    """A list grows."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, x):
        self.seen.append(1)
        return x * len(self.seen)


@probe("write", vec, calls=THREE_TIMES, refused=KEPT)
class Remembered(nn.Module):
    """The last input is kept and read by the next call."""

    def __init__(self):
        super().__init__()
        self.last = None

    def forward(self, x):
        y = x if self.last is None else x - self.last
        self.last = x
        return y


@probe(
    "write",
    lambda: ([v()],),
    calls={"two": lambda: ([v(), v()],)},
    agrees={"one": lambda: ([v()],)},
)
def an_argument_appended_to(xs):
    """The caller's list grows."""
    xs.append(xs[0] * 2)
    return xs[0] + 1


@probe("write", lambda: ({"a": v()},), agrees={"same": lambda: ({"a": v()},)})
def an_argument_filled(d):
    """The caller's dict gets a key."""
    d["b"] = d["a"] * 2
    return d["a"] + 1


@probe(
    "write",
    lambda: ({"a": v(), "b": v()},),
    agrees={"same": lambda: ({"a": v(), "b": v()},)},
)
def an_argument_emptied(d):
    """The caller's dict loses a key."""
    return d.pop("a") + d["b"]


@probe("write", two_in_a_list, agrees={"same": two_in_a_list}, calls={"one twice": one_twice})
def an_argument_replaced(xs):
    """An element of the caller's list is replaced."""
    xs[0] = xs[1] * 2
    return xs[0] + 1


@probe("write", two_in_a_list, agrees={"same": two_in_a_list}, calls={"one twice": one_twice})
def an_argument_reversed(xs):
    """The caller's list is reordered."""
    xs.reverse()
    return xs[0] * 2


@probe("write", lambda: ({"a": v(), "b": v()},), agrees={"same": lambda: ({"a": v(), "b": v()},)})
def an_argument_reordered(d):
    """A key of the caller's dict is taken out and put at its end."""
    d["a"] = d.pop("a")
    return d["a"] - d["b"]


@probe("write", two_in_a_list, agrees={"same": two_in_a_list})
def an_argument_changed_and_returned(xs):
    """What is returned is the caller's list, with a view and a size in it."""
    xs.append(xs[0].view(3, 1))
    xs.append(xs[0].numel())
    return xs


@probe(
    "write",
    lambda: ({"k": [v()], "n": 0},),
    agrees={"same": lambda: ({"k": [v()], "n": 0},)},
    calls={"other number": lambda: ({"k": [v()], "n": 1},)},
)
def an_argument_inside_an_argument(d):
    """A list in the caller's dict grows, and the dict counts."""
    d["k"].append({"x": d["k"][0] + 1, "first": d["k"][0]})
    d["n"] += 1
    return d["k"][1]["x"] * d["n"]


@probe(
    "write",
    lambda: ([v()], [v()]),
    agrees={"same": lambda: ([v()], [v()])},
    calls={"one list": lambda: ([v()],) * 2, "one in another": lambda: (lambda x: (x, x))([v()])},
)
def one_of_two_arguments_appended_to(xs, ys):
    """How long the second list is shows whether it is the first."""
    xs.append(xs[0] * 2)
    return ys[0] * len(ys)


@probe("write", lambda: (v(), [v()]), agrees={"same": lambda: (v(), [v()])})
def an_argument_takes_an_input_that_is_written(x, xs):
    """What the caller's list holds is the caller's tensor, written to afterwards."""
    xs[0] = x
    x.mul_(2)
    return x + 1


@probe("write", lambda: (v(), []), agrees={"same": lambda: (v(), [])})
class AnArgumentTakesState(nn.Module):
    """The caller's list gets a buffer, a parameter, and what the module makes of them."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(3))
        self.weight = nn.Parameter(torch.randn(3))

    def forward(self, x, xs):
        self.seen.add_(x.detach())
        xs += [self.seen, self.weight, x * self.weight]
        return xs[2] + self.seen


@probe("write", lambda: (v(), Batch(v())), agrees={"same": lambda: (v(), Batch(v()))})
def an_attribute_of_an_argument(x, batch):
    """An object that the caller passes in gets another tensor, and an attribute."""
    batch.x = batch.x + x
    batch.scale = 2.0
    return batch.x * batch.scale


@probe(
    "write",
    lambda: (v(), Store([v()])),
    agrees={"same": lambda: (v(), Store([v()]))},
    calls={
        "counted": lambda: (v(), Store([v()], n=4)),
        "longer": lambda: (v(), Store([v(), v()])),
        "one list": lambda: (lambda store: (v(), store.with_two_names()))(Store([v()])),
    },
)
def a_store_that_counts(x, store):
    """What the count was is no input: it must be what it was at the export."""
    store.add(x * 2)
    return store.items[-1] + store.n


@probe("write", lambda: (v(), Store([])), agrees={"same": lambda: (v(), Store([]))})
def a_store_returned(x, store):
    """The result holds the caller's object itself."""
    store.add(x * 2)
    return {"store": store, "last": store.items[-1]}


@probe("write", lambda: (v(), Store([])), refused=ARGUMENT)
def a_store_with_names(x, store):
    """A set in an object that the caller passes in grows."""
    store.names.add("x")
    return x * 2


@probe("write", lambda: (v(), [v()]), refused=ARGUMENT)
def an_argument_holds_itself(x, xs):
    """A list that is in itself has no structure."""
    ys = []
    ys.append(ys)
    xs.append(ys)
    return x * 2


@probe("write", lambda: (v(), [v()]), refused=ARGUMENT)
def an_argument_gets_a_function(x, xs):
    """What is put there can be no output."""
    xs.append(lambda: x)
    return x * 2


@probe("write", lambda: (v(), [v()]), refused=ARGUMENT)
def an_argument_gets_an_iterator(x, xs):
    """An iterator can be no output either."""
    xs.append(iter((1, 2)))
    return x * 2


@probe("write", vec, agrees=THREE_TIMES)
def temporaries(x):
    """Containers made within the call are free."""
    xs = [x]
    for i in range(3):
        xs += [x * i, x]
        xs.pop()
    d = {"a": xs}
    d.setdefault("b", []).append(x)
    return sum(d["a"]) + d["b"][0]


@probe("write", vec, agrees=THREE_TIMES)
class SetAndReset(nn.Module):
    """An attribute is set and put back within the call."""

    def __init__(self):
        super().__init__()
        self.scale = 1.0

    def forward(self, x):
        before, self.scale = self.scale, 2.0
        y = x * self.scale
        self.scale = before
        return y


@probe("write", vec, agrees=THREE_TIMES)
class WrittenBeforeRead(nn.Module):
    """An attribute is written by each call before it is read: no call sees another's."""

    def forward(self, x):
        self.hidden = x * 2
        return self.hidden + 1


@probe("write", vec, calls=THREE_TIMES)
class ReadByTheUser(nn.Module):
    """A number for the user to read is set anew by each call."""

    def __init__(self):
        super().__init__()
        self.last_size = None

    def forward(self, x):
        self.last_size = x.shape[0]
        return x * 2


@probe("write", vec, calls=THREE_TIMES)
class ParameterWritten(nn.Module):
    """A parameter is written to without gradients."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        with torch.no_grad():
            self.weight.mul_(2)
        return x * self.weight


@probe("write", vec, calls=THREE_TIMES)
class ParameterData(nn.Module):
    """A parameter's data is replaced."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.weight.data = self.weight.data * 2
        return x * self.weight


@probe("write", vec, calls=THREE_TIMES, refused=("buffer-reshaped",))
class ResizedBuffer(nn.Module):
    """A buffer grows with each call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, 3))

    def forward(self, x):
        self.seen = torch.cat([self.seen, x[None]])
        return self.seen.sum(0)


@probe("write", vec, calls=THREE_TIMES, refused=("buffer-reshaped",))
class BufferOfAnotherDtype(nn.Module):
    """A buffer changes its dtype with the first call."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3, dtype=torch.int64))

    def forward(self, x):
        self.total = self.total + x
        return self.total * 2


@probe("write", vec, calls=THREE_TIMES)
class BufferWithGradient(nn.Module):
    """A buffer is replaced by something that requires gradients; the graph grows with each call."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x):
        self.total = self.total + x * self.weight
        return self.total * 2


@probe("write", vec, agrees=THREE_TIMES)
class BuffersSwapped(nn.Module):
    """Two buffers change places."""

    def __init__(self):
        super().__init__()
        self.register_buffer("one", torch.zeros(3))
        self.register_buffer("two", torch.ones(3))

    def forward(self, x):
        self.one, self.two = self.two, self.one + x
        return self.one * 2 + self.two


@probe("write", vec, calls=THREE_TIMES)
class BufferRegistered(nn.Module):
    """The first call registers a buffer."""

    def forward(self, x):
        if not hasattr(self, "table"):
            self.register_buffer("table", torch.ones(3) * 2)
        return x + self.table


@probe("write", vec, calls=THREE_TIMES, refused=("attribute-changed",))
class SubmoduleMade(nn.Module):
    """The first call makes a layer."""

    def forward(self, x):
        if not hasattr(self, "layer"):
            self.layer = nn.Linear(3, 3)
        return self.layer(x)


@probe("write", vec, calls=THREE_TIMES, refused=("write-outlives-call",))
def global_list_appended(x):
    """A list of the file grows, and nothing reads it."""
    SEEN.append(1)
    return x * 2


@probe("write", lambda: (v(), v()), agrees={"same": lambda: (v(), v())})
def inputs_written(x, y):
    """Inputs are written in place and returned."""
    x.add_(y)
    y[0] = 5.0
    return x, y * 2


@probe("write", lambda: (v(),), calls={"same": lambda: (v(),)})
def metadata_of_an_input_changed(x):
    """The caller's tensor gets another shape."""
    x.unsqueeze_(0)
    return x * 2


@probe("write", lambda: (v(),), calls={"same": lambda: (v(),)})
def an_input_resized(x):
    """The caller's tensor gets more elements."""
    x.resize_(5).fill_(1.0)
    return x * 2


@probe("write", lambda: (v(), v()), calls={"same": lambda: (v(), v())}, refused=("data-replaced",))
def data_of_an_input_replaced(x, y):
    """The caller's tensor gets other memory: what both see afterwards is shared."""
    x.data = y
    x.add_(1)
    return x * 2


@probe("write", lambda: (v(), v()), calls={"same": lambda: (v(), v())})
def set_to_another(x, y):
    """The caller's tensor shares storage with another afterwards."""
    x.set_(y)
    return x + 1


@probe("write", lambda: (v(),), refused=("write-outlives-call",))
def an_attribute_of_an_input(x):
    """The caller's tensor carries an attribute afterwards."""
    x.note = 5
    return x * x.note


class Replaced(nn.Module):
    """A buffer of four numbers, for a forward that replaces it."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.arange(4.0))


@probe("write", lambda: (v(4),), agrees={"thrice": Call(lambda: (v(4),), times=3)})
class OldBufferExpanded(Replaced):
    """A view of the replaced buffer comes back, whose elements share memory."""

    def forward(self, x):
        y = self.b.expand(2, -1)
        self.b = self.b + x
        return y


@probe("write", lambda: (v(4),), agrees={"thrice": Call(lambda: (v(4),), times=3)})
class OldBufferTwice(Replaced):
    """Views of the replaced buffer come back, which share memory with each other."""

    def forward(self, x):
        y, z = self.b[1:], self.b.view(2, 2).t()
        y.add_(1)
        self.b = self.b * 2 + x
        return y, z, y.detach(), [y], x


@probe("write", lambda: (v(4),), agrees={"thrice": Call(lambda: (v(4),), times=3)})
class OldBufferItself(Replaced):
    """The replaced buffer itself comes back, and a part of it in another type."""

    def forward(self, x):
        old = self.b
        self.b = old + x
        return old, old[2:], old.view(torch.int32)[:1]


@probe("write", lambda: (v(4),), agrees={"thrice": Call(lambda: (v(4),), times=3)})
class OldBufferBesideANumber(Replaced):
    """A number of data is checked last of all, after the copy of the old buffer is made."""

    def forward(self, x):
        old = self.b
        self.b = old + x
        n = (x - x).sum().long().item() + 1
        torch._check(n > 0)
        return old, n


@probe("write", lambda: (v(4), v(4)), refused=("outside-read",))
def one_object_that_takes_other_memory(x, y):
    """Two names of it are one object still."""
    z = y * 2
    one = z.real
    z.set_(x.clone())
    return one is z, one, z + one


def followed():
    """Give a matrix that requires gradients."""
    return (torch.randn(3, 4).requires_grad_(),)


@probe("write", lambda: (m(3, 4),), calls={"followed": Call(followed, times=2)})
class BufferWithAHistory(Replaced):
    """A buffer receives what has a gradient, and is read."""

    def forward(self, x):
        self.b.copy_(x.sum(0))
        return x.flip(0), self.b.clone() * 2


@probe("write", lambda: (m(3, 4),), agrees={"followed": Call(followed, times=2)})
class WrittenBufferReplaced(Replaced):
    """What a buffer received is computed with, and the history is not its successor's."""

    def forward(self, x):
        self.b.copy_(x.sum(0))
        y = self.b * x
        self.b = x.detach()[0] * 2
        return y.flip(0)


@probe("write", lambda: (m(3, 4),), calls={"again": lambda: (m(3, 4),)})
class DataWritten(Replaced):
    """What autograd keeps is written to behind its back."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4))

    def forward(self, x):
        y = self.w * x
        x.data.add_(1)
        return y


class Weighted(nn.Module):
    """A parameter of four numbers, and what autograd keeps of a product with it."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full((4,), 2.0))


@probe("write", lambda: (v(4),), agrees={"again": Call(lambda: (v(4),), times=2)})
class DataOfAResultWritten(Weighted):
    """As above, with memory that the caller sees afterwards."""

    def forward(self, x):
        t = x * 2
        y = self.w * t
        t.data.add_(1)
        return y, t


@probe("write", lambda: (v(4),), agrees={"again": Call(lambda: (v(4),), times=2)})
class WrittenBesideData(Weighted):
    """What `.data` gave is kept, and the tensor itself written to."""

    def forward(self, x):
        t = x * 2
        y = self.w * t.data
        t.add_(1)
        return y


@probe("write", lambda: (v(4),), agrees={"again": Call(lambda: (v(4),), times=2)})
class DataWrittenBefore(Weighted):
    """A weight is clamped behind autograd's back, and then used."""

    def forward(self, x):
        self.w.data.clamp_(-1.0, 1.0)
        return self.w * x


@probe("write", lambda: (v(4),), refused=("value-read",))
class DataCountsItself(Weighted):
    """A branch on how often memory was written to, which `.data` counts on its own."""

    def forward(self, x):
        t = x * 2
        t.data.add_(1)
        return t * 3 if t._version else t


@probe("write", vec, refused=("write-outlives-call",))
class CountsOnItsMethod(nn.Module):
    """A counter that is an attribute of the function `forward`."""

    def forward(self, x):
        function = type(self).forward
        function.calls = getattr(function, "calls", 0) + 1
        return x * function.calls
