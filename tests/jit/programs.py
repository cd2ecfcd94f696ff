"""Programs as users write them, run just in time: each equal to eager over six calls.

A program is a function that makes what is called, the arguments of the calls, and what else to
compare after each call. It is made anew for each way of running it.
"""

import collections
import contextlib
import dataclasses
import enum
import functools
import itertools
import logging
import math
import random
import types

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

PROGRAMS = {}


def program(make):
    """Enter a program."""
    PROGRAMS[make.__name__] = make
    return make


def six(*sizes, sign=(1, 1, -1, 1, -1, 1)):
    """Six calls with one tensor each, of these sizes in turn."""
    sizes = sizes or ((3, 4), (3, 4), (5, 4), (3, 4), (1, 4), (3, 4))
    made = itertools.islice(itertools.cycle(sizes), 6)
    return [
        ((torch.randn(size).abs() + 0.5) * each,) for size, each in zip(made, sign, strict=False)
    ]


SCALE = 2.0
SEEN = []
TABLE = {"mode": "relu", "gain": 3}
COUNT = 0
LOG = logging.getLogger("tests.jit")


# --- output in the middle -------------------------------------------------------------------------


@program
def whole_function():
    def f(x):
        return torch.relu(x) * 2 + 1

    return f, six()


@program
def print_in_the_middle():
    def f(x):
        y = x * 2
        print("shape", tuple(y.shape))
        return y + 1

    return f, six()


@program
def print_a_value():
    def f(x):
        y = x.sum()
        print("sum", round(y.item(), 3))
        return y * 2

    return f, six()


@program
def print_twice_in_a_callee():
    def g(x):
        print("in", x.dim())
        return x - 1

    def f(x):
        return g(g(x) * 2) + 1

    return f, six()


@program
def logging_in_the_middle():
    def f(x):
        y = x.exp()
        LOG.warning("mean %.3f", y.mean())
        return y.log()

    return f, six()


@program
def print_in_a_loop():
    def f(x):
        for i in range(4):
            x = x + i
            print(i)
        return x

    return f, six()


@program
def print_in_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 8), nn.Linear(8, 2)

        def forward(self, x):
            x = self.one(x)
            print("between", x.shape[-1])
            return self.two(x)

    net = nn.Sequential(Net(), nn.ReLU())
    return net, six()


# --- data -----------------------------------------------------------------------------------------


@program
def branch_on_data():
    def f(x):
        y = x * 2
        if y.sum() > 0:
            return y + 1
        return y - 1

    return f, six()


@program
def branch_on_item():
    def f(x):
        n = x.sum().item()
        return x * 2 if n > 0 else x * 3

    return f, six()


@program
def item_is_used():
    def f(x):
        n = int(x.abs().max().item())
        return x + n

    return f, six()


@program
def loop_on_data():
    def f(x):
        n = 0
        while x.abs().sum() > 1:
            x = x / 2
            n += 1
        return x, n

    return f, six()


@program
def loop_over_tensor():
    def f(x):
        total = 0
        for row in x:
            total = total + row.sum() * 2
        return total

    return f, six()


@program
def loop_over_values():
    def f(x):
        for value in x.flatten()[:3].tolist():
            x = x + round(value)
        return x

    return f, six()


@program
def nonzero_shape():
    def f(x):
        rows = x[x > 1]
        return rows * 2, rows.shape[0]

    return f, six()


@program
def bool_of_tensor():
    def f(x):
        ok = bool((x > 0).all())
        return {"ok": ok, "x": x.neg() if ok else x}

    return f, six()


@program
def assert_on_data():
    def f(x):
        assert x.sum() > -1000, "small"
        return x.sqrt()

    return f, six()


@program
def raise_on_data():
    def f(x):
        SEEN.append("called")
        if x.sum() < 0:
            raise ValueError(f"negative: {x.dim()}")
        return x.sqrt()

    return f, six(), lambda: list(SEEN)


# --- mutation -------------------------------------------------------------------------------------


@program
def list_outside_grows():
    kept = []

    def f(x):
        y = x * 2
        kept.append(y.sum())
        return y

    return f, six(), lambda: [float(each) for each in kept]


@program
def dict_outside_is_filled():
    kept = {}

    def f(x):
        kept["last"] = x + 1
        kept[x.shape[0]] = kept["last"].sum()
        return x * 2

    return f, six(), lambda: dict(kept)


@program
def argument_list_grows():
    def f(xs):
        xs.append(xs[-1] * 2)
        return sum(xs)

    return f, [([x, x + 1],) for (x,) in six()]


@program
def argument_dict_changes():
    def f(d):
        d["y"] = d["x"] * 2
        d["n"] = d.get("n", 0) + 1
        return d

    return f, [({"x": x},) for (x,) in six()]


@program
def attribute_counts():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0
            self.line = nn.Linear(4, 4)

        def forward(self, x):
            self.calls += 1
            return self.line(x) * self.calls

    net = Net()
    return net, six(), lambda: net.calls


@program
def attribute_remembers():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            before, self.last = self.last, x.sum()
            return x if before is None else x + before

    net = Net()
    return net, six(), lambda: net.last


@program
def buffer_in_place():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("total", torch.zeros(()))

        def forward(self, x):
            self.total += x.sum()
            return x * self.total

    net = Net()
    return net, six(), lambda: net.total.clone()


@program
def buffer_reassigned():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("mean", torch.zeros(4))

        def forward(self, x):
            self.mean = self.mean * 0.9 + x.mean(0) * 0.1
            return x - self.mean

    net = Net()
    return net, six(), lambda: (net.mean, dict(net.named_buffers()))


@program
def batch_norm():
    net = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU())
    return net, six((3, 4), (5, 4)), lambda: [each.clone() for each in net.buffers()]


@program
def global_rebound():
    def f(x):
        global COUNT
        COUNT = COUNT + 1
        return x * COUNT

    return f, six(), lambda: COUNT


@program
def global_read():
    def f(x):
        return x * SCALE + TABLE["gain"]

    return f, six()


@program
def closure_counts():
    n = 0

    def f(x):
        nonlocal n
        n += 1
        return x + n

    return f, six(), lambda: n


@program
def input_in_place():
    def f(x):
        x.mul_(2)
        x[0] = 1
        return x.sum()

    return f, six()


@program
def object_attribute_set():
    box = types.SimpleNamespace(n=0, x=None)

    class Box:
        pass

    own = Box()
    own.n = 0

    def f(x):
        own.n = own.n + 1
        own.x = x * own.n
        box.x = x
        return own.x

    return f, six(), lambda: (own.n, own.x, box.x)


@program
def mutation_then_read():
    kept = [1]

    def f(x):
        kept.append(2)
        return x * len(kept)

    return f, six(), lambda: list(kept)


# --- Python of all kinds --------------------------------------------------------------------------


@program
def dataclass_results():
    @dataclasses.dataclass
    class Result:
        x: torch.Tensor
        n: int = 0
        extra: list = dataclasses.field(default_factory=list)

    def f(x):
        r = Result(x * 2, x.shape[0])
        r.extra.append(x.sum())
        return r.x, r.n, r.extra

    return f, six()


@program
def dataclass_across_break():
    @dataclasses.dataclass
    class State:
        x: torch.Tensor
        step: int

    def f(x):
        state = State(x, 0)
        print("step", state.step)
        state.step += 1
        state.x = state.x * 2
        print("step", state.step)
        return state.x, state.step

    return f, six()


@program
def frozen_dataclass_argument():
    @dataclasses.dataclass(frozen=True)
    class Config:
        gain: float
        name: str

    def f(x, config):
        return x * config.gain if config.name == "a" else x + config.gain

    return f, [(x, Config(float(i % 2), "ab"[i % 2])) for i, (x,) in enumerate(six())]


@program
def keyword_arguments():
    def g(x, *rest, scale=1, **others):
        return x * scale + sum(others.values()) + len(rest)

    def f(x, **kwargs):
        return g(x, 1, 2, scale=3, bias=1, **kwargs)

    return f, six()


@program
def named_tuples():
    Pair = collections.namedtuple("Pair", "a b")

    def f(x):
        p = Pair(x + 1, x.shape)
        print(p.b)
        return p._replace(b=p.a * 2)

    return f, six()


@program
def comprehensions():
    def f(x):
        parts = [x * i for i in range(3)]
        named = {f"p{i}": p.sum() for i, p in enumerate(parts)}
        return named, [p for p in parts if p.dim() == 2], tuple(p + 1 for p in parts)

    return f, six()


@program
def generators():
    def pieces(x):
        for i in range(x.dim()):
            yield x.sum(i)

    def f(x):
        return [p * 2 for p in pieces(x)]

    return f, six()


@program
def generator_across_breaks():
    def pieces(x):
        print("begin")
        for i in range(3):
            yield x + i
        print("end")

    def f(x):
        total = x
        for p in pieces(x):
            print("got")
            total = total + p
        return total

    return f, six()


@program
def generator_returned():
    def f(x):
        return list(y * 2 for y in [x, x + 1])

    return f, six()


@program
def recursion():
    def f(x, n=3):
        if n == 0:
            return x
        return f(x * 2, n - 1) + n

    return f, six()


@program
def recursion_with_breaks():
    def f(x, n=3):
        print("depth", n)
        if n == 0:
            return x
        return f(x * 2, n - 1) + n

    return f, six()


@program
def recursion_on_data():
    def f(x):
        if x.abs().sum() < 1:
            return x
        return f(x / 2) + 1

    return f, six()


@program
def closures_made():
    def f(x):
        def scale(y, by=2):
            return y * by + x

        fs = [functools.partial(scale, by=i) for i in range(3)]
        print(len(fs))
        return sum(g(x) for g in fs)

    return f, six()


@program
def closure_returned():
    def f(x):
        y = x * 2

        def g(z):
            return y + z

        return g(1), g.__name__

    return f, six()


@program
def lambdas_and_sorting():
    def f(x):
        items = sorted([(2, "b"), (1, "a"), (3, "c")], key=lambda p: -p[0])
        for n, _ in items:
            x = x + n
        return x, max(items, key=lambda p: p[1])

    return f, six()


@program
def exceptions_inside():
    def g(d, key):
        try:
            return d[key]
        except KeyError:
            return 1

    def f(x):
        d = {"a": 2}
        return x * g(d, "a") + g(d, "b")

    return f, six()


@program
def exceptions_through_breaks():
    def g(x):
        print("g")
        raise KeyError("k")

    def f(x):
        try:
            g(x)
        except KeyError as e:
            print("caught", e.args)
            return x * 2
        finally:
            print("finally")
        return x

    return f, six()


@program
def finally_and_break():
    def f(x):
        try:
            y = x * 2
            print("try")
        finally:
            print("finally")
        return y

    return f, six()


@program
def error_of_an_operator():
    def f(x):
        try:
            return x @ torch.ones(7, 2)
        except RuntimeError:
            return x * 2

    return f, six()


@program
def index_error_of_data():
    table = torch.arange(5.0)

    def f(x):
        SEEN.append(1)
        try:
            return F.embedding((x.abs() * 3).long(), table[:, None])
        except IndexError:
            return x

    return f, six(), lambda: len(SEEN)


@program
def properties():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        @property
        def scale(self):
            return self.weight * 2

        @functools.cached_property
        def table(self):
            return torch.arange(4.0)

        def forward(self, x):
            return x * self.scale + self.table

    return Net(), six()


@program
def property_that_prints():
    class Net(nn.Module):
        @property
        def scale(self):
            print("scale")
            return 2

        def forward(self, x):
            return x * self.scale

    return Net(), six()


@program
def static_and_class_methods():
    class Net(nn.Module):
        gain = 3

        @staticmethod
        def twice(x):
            return x * 2

        @classmethod
        def scaled(cls, x):
            return x * cls.gain

        def forward(self, x):
            return self.twice(x) + self.scaled(x)

    return Net(), six()


@program
def inheritance():
    class Base(nn.Module):
        def forward(self, x):
            return x + 1

    class Net(Base):
        def forward(self, x):
            return super().forward(x) * 2

    return Net(), six()


@program
def special_methods():
    class Vector:
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            return Vector(self.x + other.x)

        def __getitem__(self, i):
            return self.x[i]

        def __len__(self):
            return self.x.shape[0]

        def __call__(self, y):
            return self.x * y

    def f(x):
        v = Vector(x) + Vector(x * 2)
        return v(2), v[0], len(v), bool(v)

    return f, six((3, 4), (2, 4))


@program
def init_that_prints():
    class Box:
        def __init__(self, x):
            print("made")
            self.x = x * 2

    def f(x):
        return Box(x + 1).x - 1

    return f, six()


@program
def enums():
    class Mode(enum.Enum):
        ADD = 1
        MUL = 2

    def f(x, mode):
        if mode is Mode.ADD:
            return x + 1
        return x * mode.value

    return f, [(x, [Mode.ADD, Mode.MUL][i % 2]) for i, (x,) in enumerate(six())]


@program
def numpy_in_the_middle():
    def f(x):
        a = (x * 2).numpy()
        b = np.cumsum(a, axis=0)
        return torch.from_numpy(b) + 1

    return f, six()


@program
def numpy_argument():
    def f(x, a):
        return x + torch.from_numpy(a) * float(a.sum())

    return f, [(x, np.ones(4, dtype=np.float32) * i) for i, (x,) in enumerate(six())]


@program
def random_numbers():
    def f(x):
        n = random.randint(1, 5)
        y = x * n + torch.rand(4)
        if random.random() < 0.5:
            y = y + np.random.rand()
        return y

    return f, six()


@program
def torch_random():
    def f(x):
        y = F.dropout(x, 0.5) + torch.randn_like(x)
        print("drawn")
        return y * torch.rand(())

    return f, six()


@program
def dropout_module():
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.3), nn.Linear(8, 2)), six()


@program
def no_grad_inside():
    w = torch.ones(4, requires_grad=True)

    def f(x):
        y = x * w
        with torch.no_grad():
            z = y * 2
        return y, z

    return f, six()


@program
def no_grad_across_break():
    w = torch.ones(4, requires_grad=True)

    def f(x):
        with torch.no_grad():
            y = x * w
            print("inside", torch.is_grad_enabled())
            z = y * 2
        return z, z * w, torch.is_grad_enabled()

    return f, six()


@program
def no_grad_decorator():
    w = torch.ones(4, requires_grad=True)

    @torch.no_grad()
    def g(x):
        return x * w

    def f(x):
        return g(x) + w

    return f, six()


@program
def own_context_manager():
    events = []

    class Scope:
        def __init__(self, name):
            self.name = name

        def __enter__(self):
            events.append(f"+{self.name}")
            return self

        def __exit__(self, *error):
            events.append(f"-{self.name}")
            return False

    def f(x):
        with Scope("a"):
            y = x * 2
            print("in a")
            with Scope("b") as b:
                y = y + len(b.name)
        return y

    return f, six(), lambda: list(events)


@program
def context_manager_of_generator():
    @contextlib.contextmanager
    def scope(name):
        print("enter", name)
        try:
            yield 3
        finally:
            print("leave", name)

    def f(x):
        with scope("s") as n:
            x = x * n
            print("within")
        return x + 1

    return f, six()


@program
def suppress():
    def f(x):
        with contextlib.suppress(KeyError):
            {}["a"]
            x = x + 100
        return x

    return f, six()


@program
def autocast_inside():
    line = nn.Linear(4, 4)

    def f(x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = line(x)
        return y.dtype, y.float() * 2

    return f, six()


@program
def strings_and_formats():
    def f(x):
        name = f"{x.shape[0]}x{x.shape[1]}-{SCALE:.1f}"
        return x + len(name), name.upper().split("-")

    return f, six()


@program
def many_containers():
    def f(xs, d):
        first, *rest = xs
        out = {**d, "rest": [r + 1 for r in rest], "set": sorted({3, 1, 2})}
        out["t"] = (first, *out["set"])
        del out["gone"]
        return out

    return f, [([x, x * 2, x * 3], {"gone": 1, "k": x.sum()}) for (x,) in six()]


@program
def iterators_of_python():
    def f(x):
        for i, (a, b) in enumerate(zip([1, 2], [3, 4], strict=True)):
            x = x * a + b + i
        for k, v in {"a": 1, "b": 2}.items():
            x = x + v + len(k)
        for v in reversed([1, 2, 3]):
            x = x - v
        return x

    return f, six()


@program
def enumerate_with_breaks():
    def f(x):
        for i, name in enumerate(["a", "b", "c"]):
            print(i, name)
            x = x + i
        return x

    return f, six()


@program
def match_statement():
    def f(x, command):
        match command:
            case {"op": "add", "by": by}:
                return x + by
            case ["mul", by]:
                return x * by
            case _:
                return x

    commands = [{"op": "add", "by": 2}, ["mul", 3], None]
    return f, [(x, commands[i % 3]) for i, (x,) in enumerate(six())]


@program
def walrus_and_chains():
    def f(x):
        if ((n := x.shape[0]) > 2 and 1 < n < 10) or n == 0:
            return x * n
        return x - n

    return f, six()


@program
def imports_inside():
    def f(x):
        import math
        from math import sqrt

        return x * math.pi + sqrt(4)

    return f, six()


@program
def math_of_sizes():
    def f(x):
        return x / math.sqrt(x.size(-1)) + math.ceil(x.numel() / 3)

    return f, six()


@program
def attention():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.heads = 2
            self.qkv = nn.Linear(8, 24)

        def forward(self, x):
            b, t, c = x.shape
            q, k, v = self.qkv(x).split(c, dim=-1)
            q, k, v = (y.view(b, t, self.heads, -1).transpose(1, 2) for y in (q, k, v))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return y.transpose(1, 2).reshape(b, t, c)

    return Attention(), six((2, 5, 8), (2, 5, 8), (1, 3, 8))


@program
def transformer_layer():
    net = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)
    return net, six((2, 5, 8), (2, 5, 8), (1, 3, 8))


@program
def recurrent():
    net = nn.LSTM(4, 6, batch_first=True)
    return net, six((2, 5, 4), (2, 3, 4))


@program
def convolution():
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten())
    return net.eval(), six((2, 3, 6, 6), (1, 3, 6, 6))


@program
def loss_inside():
    net = nn.Linear(4, 3)

    def f(x):
        target = torch.zeros(x.shape[0], dtype=torch.long)
        return F.cross_entropy(net(x), target)

    return f, six()


@program
def module_list():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
            self.named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})

        def forward(self, x):
            for i, layer in enumerate(self.layers):
                x = layer(x) + i
            for name, layer in self.named.items():
                x = layer(x) * len(name)
            return self.layers[0](x), self.named["a"](x)

    return Net(), six()


@program
def lru_cache():
    @functools.cache
    def factor(n):
        print("computed", n)
        return n * 2

    def f(x):
        return x * factor(x.shape[0])

    return f, six()


@program
def identity_of_results():
    def f(x):
        y = [x, x]
        return y, y[0] is x, x

    return f, six()


@program
def default_list_grows():
    def f(x, seen=[]):  # noqa: B006 - as users write it
        seen.append(x.shape[0])
        return x * len(seen)

    return f, six(), lambda: list(f.__defaults__[0])


@program
def several_returns():
    def f(x):
        for i in range(5):
            if x.sum() > 10 * i:
                return x * i
        return x

    return f, six()


@program
def while_with_break():
    def f(x):
        n = 0
        while True:
            x = x * 1.5
            n += 1
            if x.abs().max() > 10:
                break
        else:
            n = -1
        return x, n

    return f, six()


@program
def nested_lists_in_break():
    def f(x):
        rows = [[x * i for i in range(2)], [x]]
        shared = rows[0]
        print(len(rows))
        shared.append(x + 1)
        return rows, shared is rows[0]

    return f, six()


@program
def set_and_dict_state():
    def f(x):
        seen = {1, 2}
        d = collections.OrderedDict(a=x, b=x + 1)
        q = collections.deque([1, 2])
        print(sorted(seen))
        seen.add(3)
        d.move_to_end("a")
        q.append(4)
        return list(d), sorted(seen), list(q), d["a"] * 2

    return f, six()
