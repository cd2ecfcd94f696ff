"""More programs, as hostile users write them; see `programs`."""

import abc
import collections
import contextlib
import copy
import dataclasses
import functools
import itertools
import logging
import math
import operator
import random
import string
import sys
import time
import types
import warnings
import weakref

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from tests.jit import programs
from tests.jit.programs import PROGRAMS, SEEN, program, six

__all__ = ["PROGRAMS"]

LOG = logging.getLogger("tests.jit.more")
CONFIG = types.SimpleNamespace(gain=2.0, layers=[1, 2])


def tick():
    """A break: C that nobody knows."""
    time.sleep(0)


# --- output and logs ------------------------------------------------------------------------------


@program
def print_of_tensors_and_objects():
    class Named:
        def __str__(self):
            return "named"

    def f(x):
        print(x.sum() > 0, Named(), sep="/")
        y = x.round()
        print(y[0], end="\n\n")
        y += 1
        print(f"{y.shape}", *y.shape, {"a": [1.5, None]})
        return y

    return f, six()


@program
def progress_of_a_training_loop():
    w = torch.ones(4, requires_grad=True)

    def f(x):
        losses = []
        for step in range(3):
            loss = ((x * w).sum() - 1).square()
            losses.append(loss.item())
            print(f"step {step}: {losses[-1]:.3f}")
            (g,) = torch.autograd.grad(loss, w)
            with torch.no_grad():
                w.sub_(g, alpha=1e-4)
        return losses

    return f, six(), lambda: w.detach().clone()


@program
def log_levels():
    def f(x):
        if LOG.isEnabledFor(logging.DEBUG):
            LOG.debug("never %s", x.sum().item())
        y = x + 1
        LOG.info("shape %s", y.shape)
        return y * 2

    return f, six()


@program
def warnings_are_given():
    def f(x):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            warnings.warn("careful", UserWarning, stacklevel=1)
            y = x * 2
        return y, [str(each.message) for each in caught]

    return f, six()


@program
def output_of_a_callback():
    def f(x, report=print):
        total = 0
        for i, row in enumerate(x.unbind(0)):
            total = total + row.sum()
            if i % 2 == 0:
                report("row", i)
        return total

    return f, six()


# --- data -----------------------------------------------------------------------------------------


@program
def guards_of_users():
    def check(x, name):
        if not torch.isfinite(x).all():
            raise FloatingPointError(name)
        return x

    def f(x):
        x = check(x, "in")
        y = check(x.exp(), "out")
        assert y.min() >= 0, "negative"
        return y / y.max()

    return f, six()


@program
def early_exit_by_data():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))
            self.used = 0

        def forward(self, x):
            self.used = 0
            for layer in self.layers:
                x = layer(x)
                self.used += 1
                if x.norm() > 3:
                    break
            return x

    net = Net()
    return net, six(), lambda: net.used


@program
def argmax_is_an_index():
    names = ["low", "mid", "high", "top"]

    def f(x):
        best = int(x.sum(0).argmax())
        SEEN.append(names[best])
        return x[:, best] * best

    return f, six(), lambda: list(SEEN)


@program
def bucket_by_value():
    def f(x):
        buckets = collections.defaultdict(list)
        for i, value in enumerate(x.flatten()[:4].tolist()):
            buckets[value > 1].append(i)
        return x * len(buckets[True]), {k: list(v) for k, v in sorted(buckets.items())}

    return f, six()


@program
def newton_until_it_converges():
    def f(x):
        y = x.abs() + 1
        steps = 0
        while (delta := (y * y - x.abs()).abs().max()) > 1e-3 and steps < 20:
            y = (y + x.abs() / y) / 2
            steps += 1
        return y, steps, delta < 1

    return f, six()


@program
def mask_and_count():
    def f(x):
        mask = x > 0.8
        n = mask.sum().item()
        if n == 0:
            return x.new_zeros(0), n
        return x[mask][:n].sort().values, n

    return f, six()


@program
def ternary_and_boolean_operators():
    def f(x, y):
        big = x.sum() > y.sum()
        z = x if big else y
        return z * 2, bool(big and z.mean() > 0), (not big), big or None

    return f, [(x, x * k) for k, (x,) in zip((1, 2, 0.5, 3, -1, 1), six(), strict=True)]


# --- mutation -------------------------------------------------------------------------------------


@program
def cache_of_tensors():
    class Attention(nn.Module):
        def __init__(self):
            super().__init__()
            self.cache = {}
            self.line = nn.Linear(4, 4)

        def forward(self, x):
            k = self.line(x)
            if "k" in self.cache:
                k = torch.cat([self.cache["k"], k])
            self.cache["k"] = k[-4:].detach()
            return k.sum(0)

    net = Attention()
    return net, six(), lambda: dict(net.cache)


@program
def running_window():
    window = collections.deque(maxlen=3)

    def f(x):
        window.append(x.mean())
        while len(window) > 2:
            window.popleft()
        return x - sum(window) / len(window)

    return f, six(), lambda: [float(each) for each in window]


@program
def nested_state():
    state = {"opt": {"step": 0, "m": [None, None]}, "log": []}

    def f(x):
        opt = state["opt"]
        opt["step"] += 1
        for i in range(2):
            m = opt["m"][i]
            opt["m"][i] = x.sum(0) if m is None else m * 0.9 + x.sum(0)
        state["log"].append((opt["step"], tuple(x.shape)))
        return x * opt["step"] + opt["m"][0]

    return f, six(), lambda: copy.deepcopy(state)


@program
def swap_and_sort():
    def f(xs, order):
        xs[0], xs[-1] = xs[-1], xs[0]
        order.sort()
        order.reverse()
        del xs[order[0] :]
        xs[len(xs) :] = [xs[0] * 2]
        return xs, order

    return f, [([x, x + 1, x + 2], [1, 0, 2]) for (x,) in six()]


@program
def counters_and_defaultdicts():
    counts = collections.Counter()
    groups = collections.defaultdict(list)

    def f(x):
        counts[x.shape[0]] += 1
        groups[x.dim()].append(x.shape[0])
        return x * counts[x.shape[0]] + len(groups[2])

    return f, six(), lambda: (dict(counts), dict(groups))


@program
def attributes_of_a_shared_object():
    @dataclasses.dataclass
    class Stats:
        n: int = 0
        total: torch.Tensor | None = None
        seen: set = dataclasses.field(default_factory=set)

    stats = Stats()

    class Net(nn.Module):
        def forward(self, x):
            stats.n += 1
            stats.total = x.sum() if stats.total is None else stats.total + x.sum()
            stats.seen.add(x.shape[0])
            tick()
            stats.n += len(stats.seen)
            return x / stats.n

    net = nn.Sequential(Net(), Net())
    return net, six(), lambda: (stats.n, stats.total, sorted(stats.seen))


@program
def globals_of_another_module():
    def f(x):
        programs.COUNT += 1
        programs.SEEN.append(programs.COUNT)
        return x * programs.COUNT + len(programs.SEEN)

    return f, six(), lambda: (programs.COUNT, list(programs.SEEN))


@program
def buffers_by_name():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            for name in ("a", "b"):
                self.register_buffer(name, torch.zeros(4))

        def forward(self, x):
            for i, name in enumerate("ab"):
                setattr(self, name, getattr(self, name) + x.mean(0) * i)
                getattr(self, name).clamp_(max=5)
            return x + self.a + self.b

    net = Net()
    return net, six(), lambda: [each.clone() for each in net.buffers()]


@program
def views_written_through():
    def f(x):
        y = x.clone()
        rows = list(y)
        rows[0].mul_(3)
        y.T[1] = 7
        tick()
        rows[-1] += 1
        return y, rows[0]

    return f, six()


@program
def arguments_are_replaced():
    def f(x, *rest, **named):
        rest = [*rest, x.shape[0]]
        named["x"] = x
        named.setdefault("k", len(rest))
        named |= {"z": rest[0]}
        return sorted(named), named["x"] * named["k"] + sum(rest)

    return f, [(x, 1, 2) for (x,) in six()]


# --- classes --------------------------------------------------------------------------------------


@program
def property_with_a_break():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(4))

        @property
        def scale(self):
            tick()
            return self.weight * 2

        @scale.setter
        def scale(self, value):
            SEEN.append(value)

        def forward(self, x):
            self.scale = 3
            return x * self.scale + self.scale

    return Net(), six(), lambda: list(SEEN)


@program
def init_with_a_break():
    class Box:
        def __init__(self, x):
            self.x = x * 2
            tick()
            self.y = self.x + 1

        def __enter__(self):
            tick()
            return self

        def __exit__(self, *error):
            SEEN.append(error[0])
            return True

    def f(x):
        with Box(x) as b:
            y = b.y * 3
            raise KeyError("gone")
        return y, b.x

    return f, six(), lambda: list(SEEN)


@program
def operators_with_breaks():
    class Value:
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            tick()
            return Value(self.x + getattr(other, "x", other))

        __radd__ = __add__

        def __bool__(self):
            return bool(self.x.sum() > 0)

        def __eq__(self, other):
            return self.x.shape == other.x.shape

        __hash__ = None

        def __iter__(self):
            yield from self.x

        def __contains__(self, n):
            return n == self.x.shape[0]

    def f(x):
        v = sum([Value(x), Value(x * 2)], 1)
        return v.x if v else -v.x, v == Value(x), 3 in v, len([*v])

    return f, six()


@program
def abstract_classes_and_mixins():
    class Base(abc.ABC):
        @abc.abstractmethod
        def gain(self): ...

        def apply(self, x):
            return x * self.gain()

    class Loud:
        def apply(self, x):
            print(type(self).__name__)
            return super().apply(x) + 1

    class Three(Loud, Base):
        def gain(self):
            return 3

    def f(x):
        return Three().apply(x), isinstance(Three(), Base)

    return f, six()


@program
def class_counts_instances():
    class Node:
        made = 0

        def __init__(self, x, left=None):
            type(self).made += 1
            self.x, self.left = x, left

        @classmethod
        def chain(cls, x, n):
            node = None
            for i in range(n):
                node = cls(x + i, node)
            return node

    def f(x):
        node, total = Node.chain(x, 3), 0
        while node is not None:
            total = total + node.x
            node = node.left
        return total

    return f, six(), lambda: Node.made


@program
def slots_and_dynamic_attributes():
    class Point:
        __slots__ = ("x", "y")

        def __init__(self, x, y):
            self.x, self.y = x, y

    class Lazy:
        def __getattr__(self, name):
            if name.startswith("gain_"):
                return int(name[5:])
            raise AttributeError(name)

    lazy = Lazy()

    def f(x):
        p = Point(x, x.shape[0])
        tick()
        p.y += lazy.gain_3
        return p.x * p.y, getattr(lazy, "other", 5), hasattr(p, "z")

    return f, six()


@program
def descriptors_and_cached():
    class Scaled:
        def __set_name__(self, owner, name):
            self.name = f"_{name}"

        def __get__(self, owner, kind=None):
            return self if owner is None else getattr(owner, self.name) * 2

        def __set__(self, owner, value):
            setattr(owner, self.name, value)

    class Op:
        gain = Scaled()

        @functools.cached_property
        def table(self):
            SEEN.append("made")
            return [1, 2]

    op = Op()

    def f(x):
        op.gain = x.shape[0]
        return x * op.gain + sum(op.table)

    return f, six(), lambda: list(SEEN)


@program
def single_dispatch_and_partials():
    @functools.singledispatch
    def scale(by, x):
        return x

    @scale.register
    def _(by: int, x):
        return x * by

    @scale.register
    def _(by: str, x):
        return x + len(by)

    def f(x, by):
        return functools.reduce(lambda a, g: g(a), [functools.partial(scale, by)] * 2, x)

    return f, [(x, by) for (x,), by in zip(six(), (1, "ab", 2.5, 1, "abc", 3), strict=True)]


@program
def modules_that_call_each_other():
    class Block(nn.Module):
        def __init__(self, inner=None):
            super().__init__()
            self.inner = inner
            self.line = nn.Linear(4, 4)
            self.depth = 0 if inner is None else inner.depth + 1

        def forward(self, x, path=()):
            path = (*path, self.depth)
            y = F.relu(self.line(x))
            if self.inner is None:
                tick()
                return y, path
            y, path = self.inner(y, path)
            return x + y, path

    return Block(Block(Block())), six()


# --- functions ------------------------------------------------------------------------------------


@program
def defaults_and_kwargs_everywhere():
    def inner(x, /, a, *args, b=2, **kwargs):
        return x * a + b + sum(args) + kwargs.get("c", 0)

    def f(x, options):
        return inner(x, *options["args"], **options["kwargs"])

    options = itertools.cycle(
        [{"args": [1], "kwargs": {}}, {"args": (2, 3), "kwargs": {"b": 5, "c": 1}}]
    )
    return f, [(x, next(options)) for (x,) in six()]


@program
def decorators_of_users():
    calls = []

    def logged(function):
        @functools.wraps(function)
        def wrapper(*args, **kwargs):
            calls.append(function.__name__)
            try:
                return function(*args, **kwargs)
            finally:
                calls.append("end")

        return wrapper

    def repeat(n):
        return lambda function: lambda x: functools.reduce(lambda y, _: function(y), range(n), x)

    @repeat(2)
    @logged
    def step(x):
        tick()
        return x * 2

    return step, six(), lambda: list(calls)


@program
def closures_that_share_state():
    def make(n):
        def add(x):
            nonlocal n
            n += 1
            return x + n

        def get():
            return n

        return add, get

    add, get = make(0)

    def f(x):
        y = add(add(x))
        tick()
        return y * get(), [g(x).shape for g in (add, torch.relu)]

    return f, six(), get


@program
def generators_that_talk():
    def averages():
        total, n = 0, 0
        value = yield
        while value is not None:
            total, n = total + value, n + 1
            value = yield total / n
        return n

    def outer(xs):
        g = averages()
        next(g)
        for x in xs:
            yield g.send(x)
        try:
            g.send(None)
        except StopIteration as stop:
            yield stop.value

    def f(x):
        return list(outer([x, x + 1, x * 2]))

    return f, six()


@program
def generator_with_a_break_inside():
    def batches(x):
        try:
            for i in range(x.shape[0]):
                tick()
                yield x[i] * i
        finally:
            SEEN.append("closed")

    def f(x):
        total = torch.zeros(4)
        for i, row in enumerate(batches(x)):
            if i == 2:
                break
            total = total + row
        return total

    return f, six(), lambda: list(SEEN)


@program
def mutual_recursion():
    def even(x, n):
        return x if n == 0 else odd(x * 2, n - 1)

    def odd(x, n):
        tick()
        return -x if n == 0 else even(x + 1, n - 1)

    return lambda x: (even(x, 3), odd(x, x.shape[0] % 3)), six()


@program
def sorting_and_grouping():
    def f(x):
        rows = sorted(enumerate(x.unbind(0)), key=lambda p: (p[0] % 2, -p[0]))
        groups = {k: len(list(g)) for k, g in itertools.groupby(rows, key=lambda p: p[0] % 2)}
        pairs = list(itertools.pairwise([r for _, r in rows]))
        return [a - b for a, b in pairs], groups, max(rows, key=operator.itemgetter(0))[1]

    return f, six((4, 3), (4, 3), (3, 3))


@program
def map_filter_and_any():
    def f(xs):
        small = list(filter(lambda x: x.shape[0] < 4, xs))
        sums = list(map(torch.sum, small))
        return sums, any(x.dim() == 2 for x in xs), all(map(torch.is_tensor, xs)), [*zip(xs, sums)]

    return f, [([x, x[:1], x * 2],) for (x,) in six()]


@program
def strings_of_all_kinds():
    def f(x, name):
        parts = name.split(".")
        key = "_".join(reversed(parts)).title()
        text = string.Template("$a-${b}").substitute(a=key, b=x.dim())
        code = sum(ord(c) for c in text) % 7
        return x * code, text, "%s:%03d" % (key, code), f"{key!r:>12}|{code:+.2e}", key in text

    return f, [(x, ["a.b", "conv.weight"][i % 2]) for i, (x,) in enumerate(six())]


# --- exceptions and scopes ------------------------------------------------------------------------


@program
def exceptions_with_causes():
    class StepError(RuntimeError):
        def __init__(self, step, x):
            super().__init__(f"step {step}")
            self.step, self.x = step, x

    def work(x, step):
        if step > 1:
            raise StepError(step, x * 2)
        return x + step

    def f(x):
        for step in range(4):
            try:
                x = work(x, step)
            except StepError as error:
                SEEN.append(str(error))
                try:
                    raise ValueError("wrapped") from error
                except ValueError as wrapped:
                    return wrapped.__cause__.x, wrapped.__cause__.step
        return x

    return f, six(), lambda: list(SEEN)


@program
def finally_returns_and_loops():
    def f(x):
        out = []
        for i in range(3):
            try:
                if i == 1:
                    continue
                out.append(x * i)
                tick()
            finally:
                out.append(i)
        out.append("else")
        return out

    return f, six()


@program
def exception_after_a_break():
    def f(x):
        y = x * 2
        tick()
        if x.shape[0] == 5:
            raise LookupError(f"five: {tuple(y.shape)}")
        return y

    return f, six()


@program
def exit_stack():
    events = []

    @contextlib.contextmanager
    def scope(name):
        events.append(f"+{name}")
        try:
            yield len(name)
        finally:
            events.append(f"-{name}")

    def f(x):
        with contextlib.ExitStack() as stack:
            n = sum(stack.enter_context(scope(name)) for name in ("a", "bb"))
            stack.callback(events.append, "callback")
            y = x * n
            tick()
        with contextlib.nullcontext(3) as k:
            return y + k

    return f, six(), lambda: list(events)


@program
def locks_and_with_in_loops():
    class Timer:
        def __init__(self):
            self.marks = []

        def __enter__(self):
            self.marks.append("in")
            return self

        def __exit__(self, kind, error, trace):
            self.marks.append("out" if kind is None else kind.__name__)
            return kind is ValueError

    timer = Timer()

    def f(x):
        for i in range(2):
            with timer, torch.no_grad():
                x = x + i
                if i:
                    raise ValueError(i)
        with timer:
            tick()
            return x, torch.is_grad_enabled()

    return f, six(), lambda: list(timer.marks)


@program
def grad_modes_mixed():
    w = torch.ones(4, requires_grad=True)

    @torch.enable_grad()
    def inner(x):
        return x * w

    def f(x):
        with torch.set_grad_enabled(x.shape[0] > 3):
            y = x * w
            z = inner(x)
            tick()
            u = z + y
        return y.requires_grad, z.requires_grad, u.requires_grad, u * 2

    return f, six()


# --- numpy, random, time --------------------------------------------------------------------------


@program
def numpy_weights():
    table = np.linspace(0, 1, 4, dtype=np.float32)

    def f(x):
        y = x * torch.as_tensor(table)
        scale = np.sqrt(x.shape[1])
        table[0] += 1
        return y / scale, float(table.sum())

    return f, six(), table.copy


@program
def numpy_statistics():
    def f(x):
        a = x.detach().numpy()
        mean, n = a.mean(axis=0), np.count_nonzero(a > 1)
        order = np.argsort(-mean)
        return torch.tensor(mean)[torch.from_numpy(order)] * int(n), a.dtype.name

    return f, six()


@program
def shuffles_and_choices():
    def f(x):
        order = list(range(x.shape[0]))
        random.shuffle(order)
        gain = random.choice([1.0, 2.0])
        noise = np.random.default_rng(0).normal(size=4).astype(np.float32)
        return x[order] * gain + torch.from_numpy(noise), order

    return f, six()


@program
def generators_of_random_numbers():
    g = torch.Generator().manual_seed(3)

    def f(x):
        y = torch.rand(x.shape, generator=g) + x
        torch.manual_seed(x.shape[0])
        return y, torch.randperm(4), F.dropout(x, 0.5)

    return f, six()


@program
def timers_in_the_middle():
    def f(x):
        began = time.perf_counter()
        y = x.exp().sum(0)
        spent = time.perf_counter() - began
        SEEN.append(spent >= 0)
        return y, math.isfinite(spent)

    return f, six(), lambda: list(SEEN)


# --- reads of every kind --------------------------------------------------------------------------


@program
def attributes_under_other_names():
    class Config:
        names = {"gain": "scale"}  # noqa: RUF012 - as libraries have it

        def __init__(self):
            self.scale = 2.0
            self.extra = {"on": True}

        def __getattribute__(self, key):
            if key != "names" and key in super().__getattribute__("names"):
                key = super().__getattribute__("names")[key]
            return super().__getattribute__(key)

        def __getattr__(self, key):
            if key.startswith("n_"):
                return len(key)
            raise AttributeError(key)

        @property
        def twice(self):
            return self.gain * 2

    config = Config()

    def f(x, change):
        y = x * config.gain + config.twice + config.n_layers
        if config.extra["on"] and not hasattr(config, "missing"):
            y = y + getattr(config, "absent", 3)
        if change:
            config.scale = change
        return y * config.gain

    changes = (None, None, 3.0, None, 4.0, None)
    return f, [(x, k) for (x,), k in zip(six(), changes, strict=True)], lambda: config.scale


@program
def variables_as_dicts():
    class Options:
        def __init__(self):
            self.gain, self.table = 2, {"a": 1}

    options = Options()

    def f(x, name):
        shown = sorted(vars(options))
        y = x * options.__dict__["gain"] + options.__dict__.get("shift", 0)
        setattr(options, name, x.shape[0])
        return y * options.gain, shown, "shift" in vars(options)

    names = ("gain", "shift", "gain", "other", "shift", "gain")
    return f, [(x, n) for (x,), n in zip(six(), names, strict=True)], lambda: dict(vars(options))


@program
def gradients_are_read_and_dropped():
    w = torch.ones(4, requires_grad=True)

    def f(x, backward):
        seen = w.grad
        y = x if seen is None else x + seen * 2
        w.grad = None
        if backward:
            (x * w).sum().backward()
        return y * 2, w.grad is None, seen

    flags = (True, True, False, True, False, False)
    return f, [(x, k) for (x,), k in zip(six(), flags, strict=True)], lambda: w.grad


@program
def loggers_that_are_off_and_on():
    log = logging.getLogger("tests.jit.off_and_on")
    log.propagate = False
    seen = []
    handler = logging.Handler()
    handler.emit = lambda record: seen.append(record.getMessage())
    log.handlers[:] = [handler]

    def f(x, level):
        log.debug("shape %s", x.shape)
        y = x * 2
        if log.isEnabledFor(logging.INFO):
            y = y + 1
        log.info("sum %d", 3)
        return y

    def g(x, level):
        log.setLevel(level)
        return x

    def both(x, level):
        return f(g(x, level), level)

    levels = ("ERROR", "ERROR", "INFO", "DEBUG", "INFO", "ERROR")
    return both, [(x, k) for (x,), k in zip(six(), levels, strict=True)], lambda: list(seen)


@program
def errors_that_are_shown():
    class ShapeError(ValueError):
        def __init__(self, shape, hint="none"):
            super().__init__(f"shape {tuple(shape)}", hint)
            self.shape, self.hint = shape, hint

    def check(x, most):
        if x.shape[0] > most:
            raise ShapeError(x.shape, hint="-".join(reversed(["a", "b"])))
        return x * most

    def f(x, most):
        try:
            return check(x, most), None
        except ShapeError as error:
            return x - 1, str(error), repr(error), error.args, error.hint, error.__cause__

    return f, [(x, k) for (x,), k in zip(six(), (9, 3, 9, 4, 2, 9), strict=True)]


@program
def generators_that_catch():
    def rows(x):
        try:
            for i in range(9):
                yield x[i] * i
        except IndexError:
            yield x.sum(0)

    def f(x, n):
        found = rows(x)
        first = [next(found) for _ in range(n)]
        return first, len(list(found)) if n > 1 else None

    return f, [(x, k) for (x,), k in zip(six(), (2, 2, 1, 3, 1, 2), strict=True)]


# --- the rest -------------------------------------------------------------------------------------


@program
def weak_references_and_ids():
    class Owner:
        pass

    owner = Owner()
    owner.gain = 3
    ref = weakref.ref(owner)

    def f(x):
        y = [x]
        same = id(y[0]) == id(x)
        return x * ref().gain, same, ref() is owner

    return f, six()


@program
def configuration_objects():
    def f(x):
        for i, n in enumerate(CONFIG.layers):
            x = x * n + getattr(CONFIG, "bias", i)
        if CONFIG.gain > 1 and "gain" in vars(CONFIG):
            x = x * CONFIG.gain
        return x

    return f, six()


@program
def optional_inputs_and_tuples():
    def f(x, mask=None, *, scale: float | None = None):
        if mask is not None:
            x = x.masked_fill(mask, 0)
        b, *dims = x.shape
        (first, second), (third,) = (b, len(dims)), [dims[-1]]
        return x * (scale or first), second + third

    calls = [((x, x > 1) if i % 2 else (x,)) for i, (x,) in enumerate(six())]
    return f, calls


@program
def deep_copies_inside():
    template = {"w": torch.ones(4), "n": [1, 2]}

    def f(x):
        state = copy.copy(template)
        other = dict(template, n=[*template["n"], 3])
        state["w"] = state["w"] * x.mean(0)
        return state["w"], template["w"], other["n"] is template["n"], len(other["n"])

    return f, six(), lambda: (template["w"].clone(), list(template["n"]))


@program
def functions_in_tables():
    table = {"relu": F.relu, "square": lambda x: x * x, "shift": functools.partial(torch.add, 1)}

    def f(x, names):
        for name in names:
            x = table[name](x) if name in table else getattr(torch, name)(x)
        table["last"] = table.get(names[-1])
        return x, sorted(table)

    orders = [("relu", "square"), ("shift", "tanh"), ("relu",)] * 2
    return f, [(x, names) for (x,), names in zip(six(), orders, strict=True)], lambda: len(table)


@program
def frames_and_recursion_limit():
    def depth(n):
        return n if n == 0 else 1 + depth(n - 1)

    def f(x):
        name = sys._getframe().f_code.co_name
        here = sorted(locals())
        return x * depth(5), name, here

    return f, six()


@program
def gradients_inside():
    w = torch.ones(4, requires_grad=True)

    def f(x):
        w.grad = None
        loss = (x * w).square().mean()
        loss.backward()
        with torch.no_grad():
            w.add_(w.grad, alpha=-0.01)
        return loss.detach(), w.grad.clone()

    return f, six(), lambda: w.detach().clone()


@program
def long_pipelines():
    net = nn.Sequential(
        nn.Conv1d(4, 8, 3, padding=1),
        nn.BatchNorm1d(8),
        nn.GELU(),
        nn.AdaptiveAvgPool1d(2),
        nn.Flatten(),
        nn.LayerNorm(16),
        nn.Linear(16, 3),
    )
    optimizer = torch.optim.SGD(net.parameters(), 0.1)

    def f(x):
        optimizer.zero_grad()
        loss = F.cross_entropy(net(x), torch.zeros(x.shape[0], dtype=torch.long))
        loss.backward()
        optimizer.step()
        return loss.detach()

    return f, six((3, 4, 5), (3, 4, 5), (2, 4, 7)), lambda: net[6].weight.detach().clone()
