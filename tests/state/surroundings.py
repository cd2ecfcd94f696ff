"""State outside of the module: globals, closures, classes, defaults, arguments, the process."""

import contextvars
import datetime as dt
import functools
import itertools
import logging
import os
import random
import secrets
import tempfile
import threading
import time
import types
import uuid
import warnings

import numpy as np
import torch
from torch import nn

from tests.state.registry import state

COUNTER = 0
SEEN: list = []
TABLE: dict = {"n": 0}
NAMES: set = set()
SPACE = types.SimpleNamespace(n=0)
WEIGHT = torch.ones(3)
KEPT = None
STEPS = itertools.count(1)
VARIABLE = contextvars.ContextVar("variable", default=0)
LOCAL = threading.local()
PATH = os.path.join(tempfile.gettempdir(), "monograph-state-probe")  # noqa: PTH118


def module_of(function):
    """A module whose forward is a function."""
    return type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()


def program(*refused, **expected):
    """Register a function of the inputs as a program."""

    def register(function):
        def make():
            return module_of(function)

        make.__name__, make.__module__ = function.__name__, function.__module__
        state(*refused, **expected)(make)
        return function

    return register


@program("write-outlives-call")
def global_counts(x):
    """A global number counts."""
    global COUNTER  # noqa: PLW0603  the point
    COUNTER += 1
    return x * COUNTER


@program("write-outlives-call")
def global_list_grows(x):
    """A global list grows and is read."""
    SEEN.append(1)
    return x * len(SEEN)


@program("write-outlives-call")
def global_list_grows_unread(x):
    """A global list grows; nothing of the program reads it."""
    SEEN.append(1)
    return x * 2


@program("write-outlives-call")
def global_dict_counts(x):
    """A global dict counts."""
    TABLE["n"] += 1
    return x * TABLE["n"]


@program("write-outlives-call")
def global_set_grows(x):
    """A global set grows."""
    NAMES.add(len(NAMES))
    return x * len(NAMES)


@program("write-outlives-call")
def global_object_counts(x):
    """A global object counts."""
    SPACE.n += 1
    return x * SPACE.n


@program("write-outlives-call")
def global_keeps_a_tensor(x):
    """A global keeps the last input."""
    global KEPT  # noqa: PLW0603  the point
    y = x if KEPT is None else x + KEPT
    KEPT = x.detach().clone()
    return y


@program("mutated-constant")
def global_tensor_written(x):
    """A global tensor is written in place."""
    WEIGHT.add_(1)
    return x * WEIGHT


@program("write-outlives-call")
def global_iterator_advances(x):
    """A global iterator advances."""
    return x * (next(STEPS) % 5)


@program()
def global_set_and_restored(x):
    """A global is set and put back: nothing outlives the call."""
    global COUNTER  # noqa: PLW0603  the point
    before, COUNTER = COUNTER, 5
    y = x * COUNTER
    COUNTER = before
    return y


@program()
def global_read(x):
    """Globals that nobody writes to are constants."""
    return x * (1 + TABLE["n"]) + WEIGHT + len(SEEN)


@functools.lru_cache
def remembered(n):
    """Remember, and count how often it is computed."""
    SEEN.append(n)
    return n * 2.0


@program("write-outlives-call")
def cache_filled(x):
    """A cached function: the first call computes, the others look up."""
    return x * remembered(x.shape[0])


@functools.lru_cache
def table_of(n):
    """Make a table of a number, once."""
    return torch.arange(float(n))


@program()
def cache_of_tensors(x):
    """A cached function makes a table once."""
    return x + table_of(3)


@state("write-outlives-call")
def closure_counts():
    """A variable of an enclosing function counts."""
    n = 0

    def forward(x):
        nonlocal n
        n += 1
        return x * n

    return module_of(forward), lambda: n


@state("write-outlives-call")
def closure_list_grows():
    """A list of an enclosing function grows."""
    seen = []

    def forward(x):
        seen.append(1)
        return x * len(seen)

    return module_of(forward), lambda: seen


@state("mutated-constant")
def closure_tensor_written():
    """A tensor of an enclosing function is written in place."""
    total = torch.zeros(3)

    def forward(x):
        total.add_(x)
        return total * 2

    return module_of(forward), lambda: total


@state("write-outlives-call")
def class_attribute_counts():
    """A number on the class counts."""

    class Counts(nn.Module):
        n = 0

        def forward(self, x):
            type(self).n += 1
            return x * self.n

    return Counts(), lambda: Counts.n


@state("write-outlives-call")
def class_list_grows():
    """A list on the class grows."""

    class Grows(nn.Module):
        seen: list = []  # noqa: RUF012  the point

        def forward(self, x):
            self.seen.append(1)
            return x * len(self.seen)

    return Grows(), lambda: Grows.seen


@state("attribute-changed")
def class_attribute_shadowed():
    """A number on the class, counted on the instance."""

    class Counts(nn.Module):
        n = 0

        def forward(self, x):
            self.n += 1
            return x * self.n

    return Counts()


@state("write-outlives-call")
def default_list_grows():
    """The default value of an argument grows."""

    def forward(x, seen=[]):  # noqa: B006  the point
        seen.append(1)
        return x * len(seen)

    return module_of(forward), lambda: forward.__defaults__


@state("write-outlives-call")
def default_of_an_inner_function_grows():
    """The default value of another function's argument is a cache."""

    def scale(n, cache={}):  # noqa: B006  the point
        cache[n] = cache.get(n, 0) + 1
        return cache[n]

    return module_of(lambda x: x * scale(3)), lambda: scale.__defaults__


@state("write-outlives-call")
def function_attribute_counts():
    """An attribute of a function counts."""

    def scale():
        scale.calls += 1
        return scale.calls

    scale.calls = 0
    return module_of(lambda x: x * scale()), lambda: scale.calls


@program(inputs=lambda: ([torch.randn(3)],))
def argument_list_grows(xs):
    """The caller's list grows."""
    xs.append(xs[0] * 2)
    return xs[0] + 1


@program(inputs=lambda: ({"a": torch.randn(3)},))
def argument_dict_filled(d):
    """The caller's dict is filled."""
    d["b"] = d["a"] * 2
    return d["b"] + 1


@program(inputs=lambda: ([torch.randn(3), torch.randn(3)],))
def argument_list_sorted(xs):
    """The caller's list is turned round."""
    xs.reverse()
    return xs[0] - xs[1]


@program(inputs=lambda: ([torch.randn(3), torch.randn(3)],))
def argument_restored(xs):
    """The caller's list is as it was."""
    xs.append(xs[0] * 2)
    return xs.pop() + xs[1]


@program(inputs=lambda: ([torch.randn(3), torch.randn(3)],))
def argument_copied(xs):
    """A copy of the caller's list grows."""
    ys = list(xs)
    ys.append(xs[0] * 2)
    return sum(ys)


@program(inputs=lambda: (torch.randn(3),))
def argument_written(x):
    """The caller's tensor is written in place."""
    x.mul_(2)
    return x + 1


@program("outside-read")
def python_random(x):
    """Python's generator."""
    return x * random.random()


@program("outside-read")
def python_shuffle(x):
    """Python's generator, for an order."""
    order = [0, 1, 2]
    random.shuffle(order)
    return x[order]


@program("outside-read")
def numpy_random(x):
    """NumPy's generator."""
    return x + torch.from_numpy(np.random.rand(3))  # noqa: NPY002


@program("write-outlives-call")
def torch_seeded(x):
    """PyTorch's generator is seeded."""
    torch.manual_seed(0)
    return x + torch.rand(3)


@program()
def torch_random(x):
    """PyTorch's generator."""
    return x + torch.rand(3) + torch.randn(())


@program("outside-read")
def clock(x):
    """The time in nanoseconds."""
    return x * (time.time_ns() % 1_000_003)


@program("outside-read")
def stopwatch(x):
    """A clock that only goes forward."""
    return x * (time.perf_counter_ns() % 1_000_003)


@program("outside-read")
def calendar(x):
    """The microsecond of today."""
    return x * dt.datetime.now(dt.UTC).microsecond


@program("outside-read")
def environment(x):
    """A variable of the environment, counted up."""
    os.environ["MONOGRAPH_STATE"] = str(int(os.environ.get("MONOGRAPH_STATE", "0")) + 1)
    return x * int(os.environ["MONOGRAPH_STATE"])


@program("outside-read")
def file_read(x):
    """A file that grows with each call."""
    with open(PATH, "a+", encoding="utf-8") as file:  # noqa: PTH123
        file.write("x")
        return x * file.tell()


@program("outside-read")
def identity(x):
    """Where an object lies."""
    return x * (id(object()) % 1_000_003) + id(x) % 1_000_003


@program("outside-read")
def hash_of_an_object(x):
    """The hash of an object, which is where it lies."""
    return x * (hash(object()) % 1_000_003) + hash(x) % 1_000_003


@program("outside-read")
def unique(x):
    """A name that nobody else has."""
    return x * (uuid.uuid4().int % 1_000_003)


@program("outside-read")
def secret(x):
    """Bytes of the operating system."""
    return x * (secrets.randbelow(1_000_003) + os.urandom(1)[0])


@program("write-outlives-call")
def context_variable(x):
    """A context variable counts."""
    VARIABLE.set(VARIABLE.get() + 1)
    return x * VARIABLE.get()


@program("write-outlives-call")
def thread_local(x):
    """A variable of the thread counts."""
    LOCAL.n = getattr(LOCAL, "n", 0) + 1
    return x * LOCAL.n


@program("write-outlives-call")
def default_dtype_left(x):
    """The default dtype stays changed."""
    torch.set_default_dtype(torch.float64)
    y = x + torch.ones(3)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(False)
    return y


@program()
def temporaries(x):
    """Containers, closures and classes made within the call are free."""
    seen = []

    class Box:
        total = 0

    def add(y):
        nonlocal seen
        seen = [*seen, y]
        Box.total += 1
        return y

    table = {}
    for n in range(3):
        table.setdefault(n % 2, []).append(add(x * n))
    return sum(seen) * Box.total + table[0][1]


@program()
def generators_within(x):
    """Iterators made within the call are free."""
    numbers = iter(range(1, 4))
    next(numbers)
    return x * next(numbers) + sum(x * n for n in numbers)


@program()
def logged(x):
    """What is said to people may be said once, at the export, or never."""
    logging.getLogger("tests.state").debug("shape %s", x.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.warn("look", stacklevel=2)
    return x * 2
