"""Programs that `export` refuses, or may: what a draft makes of each is held by `test_drafts`.

`@drafted(example, *others)` registers a function of tensors or a module class; `example` and
`others` make inputs anew. `again` sets what the program keeps outside of itself as it was at first.
"""

import array
import collections
import contextlib
import copy
import functools
import hashlib
import heapq
import io
import json
import logging
import math
import operator
import os
import queue
import random
import re
import struct
import sys
import threading
import time
import types
import warnings
import weakref
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass(frozen=True, slots=True)
class Drafted:
    """One program; `build` makes the module anew, with what it keeps outside set as it was."""

    build: Callable[[], nn.Module]
    calls: tuple[Callable[[], tuple], ...]
    options: dict


PROGRAMS: dict[str, Drafted] = {}


def drafted(*calls, again=None, **options):
    """Register a function or a module class; the first call is the example."""

    def register(what):
        name = what.__name__
        assert name not in PROGRAMS, name

        def build():
            if again is not None:
                again()
            torch.manual_seed(0)
            if isinstance(what, type):
                return what()
            return type(name, (nn.Module,), {"forward": staticmethod(what)})()

        PROGRAMS[name] = Drafted(build, calls, options)
        return what

    return register


def up():
    """Rising numbers."""
    return (torch.tensor([1.0, 2.0, 3.0]),)


def down():
    """Falling ones, below zero."""
    return (torch.tensor([-1.0, -2.0, -5.0]),)


def mixed():
    """Of either sign."""
    return (torch.tensor([4.0, -1.0, 2.0]),)


def ints():
    """Whole numbers."""
    return (torch.tensor([3, 1, 2]),)


def other_ints():
    """Other whole numbers."""
    return (torch.tensor([2, 2, 5]),)


def nan():
    """Not all of them numbers."""
    return (torch.tensor([1.0, math.nan, 3.0]),)


# --- data as Python's numbers ------------------------------------------------------------------


@drafted(ints, other_ints)
def item_as_list_index(x):
    return torch.ones(4) * [5, 7, 11, 13, 17, 19][x[0].item()]


@drafted(ints, other_ints)
def item_formats_a_key(x):
    table = {"3": 1.5, "2": 2.5}
    return x * table[f"{x[0].item()}"]


@drafted(ints, other_ints)
def item_in_range(x):
    y = x
    for _ in range(x.max().item()):
        y = y + x
    return y


@drafted(up, down, mixed)
def tolist_sorts(x):
    return x * sorted(x.tolist())[0]


@drafted(up, down)
def tensor_in_math(x):
    return x * math.exp(x[0].item()) + math.floor(x[1])


@drafted(ints, other_ints)
def number_in_struct(x):
    return x + len(struct.pack("i", x[0].item())) + struct.pack("i", x[1].item())[0]


@drafted(ints, other_ints)
def number_in_json(x):
    return x * len(json.dumps({"n": x.tolist()})) + json.loads(json.dumps(x[0].item()))


@drafted(ints, other_ints)
def number_in_chr(x):
    return x + ord(chr(x[0].item() + 60)) + len("a" * x[1].item())


@drafted(up, down)
def number_in_complex(x):
    return x * complex(x[0].item(), 1).real


@drafted(up, mixed)
def dictionary_keyed_by_data(x):
    seen = {}
    for i, v in enumerate(x.tolist()):
        seen[v] = i
    return x + sum(k * v for k, v in seen.items())


@drafted(ints, other_ints)
def counter_of_data(x):
    counts = collections.Counter(x.tolist())
    return x * max(counts.values())


@drafted(ints, other_ints)
def set_of_data(x):
    return x * len({each.item() for each in x})


@drafted(ints, other_ints)
def heap_of_data(x):
    heap = x.tolist()
    heapq.heapify(heap)
    return x + heapq.heappop(heap)


@drafted(up, down)
def max_of_elements(x):
    return max(x[0], x[1], x[2]) * x


@drafted(up, mixed)
def sorted_elements(x):
    return torch.stack(sorted([x[0], x[1], x[2]]))


@drafted(up, mixed)
def sorted_by_key(x):
    return torch.stack(sorted(x, key=lambda v: -v.item()))


@drafted(up, down)
def element_in_list(x):
    return x + (1 if x[0] in [torch.tensor(1.0), torch.tensor(4.0)] else 2)


@drafted(ints, other_ints)
def divmod_of_data(x):
    q, r = divmod(x[0].item() * 7, 4)
    return x * q + [1, 2, 3, 4][r]


# --- data-dependent control flow ---------------------------------------------------------------


@drafted(up, down)
def recursion_on_data(x):
    def halve(v, depth):
        return v + depth if v.sum() < 1 or depth > 8 else halve(v / 2, depth + 1)

    return halve(x, 0)


@drafted(up, down)
def raises_on_one_side(x):
    if x.sum() < 0:
        raise ValueError("negative")
    return x * 2


@drafted(up, down)
def catches_what_data_raises(x):
    try:
        if x.sum() < 0:
            raise KeyError("negative")
        y = x + 1
    except KeyError:
        y = x - 1
    return y


@drafted(ints, other_ints)
def catches_an_index_of_data(x):
    try:
        return x * [1, 2, 3][x[2].item()]
    except IndexError:
        return x - 1


@drafted(up, down)
def generator_of_data(x):
    def parts():
        for v in x:
            if v > 1:
                yield v
            else:
                yield -v

    return torch.stack(list(parts()))


@drafted(up, down, mixed)
def generator_that_stops(x):
    def parts():
        for v in x:
            if v < 2:
                return
            yield v

    return sum(parts(), x)


@drafted(up, down)
def texts_of_sides(x):
    name = "pos" if x.sum() > 0 else "negative"
    return x * len(name)


@drafted(up, mixed)
def filters_by_data(x):
    return sum(filter(lambda v: v > 1.5, x), torch.zeros(()))


@drafted(up, mixed)
def while_with_list(x):
    kept = []
    while x.sum() > 0.5:
        kept.append(x)
        x = x / 2 - 0.1
    return torch.stack([*kept, x]).sum(0), len(kept)


@drafted(up, down)
def all_of_conditions(x):
    return x if all(v > 0 for v in x) and not any(v > 100 for v in x) else -x


@drafted(up, down)
def match_on_data(x):
    match int(x.sum()):
        case 6:
            return x * 3
        case -8:
            return x * 5
        case _:
            return x


@drafted(up, down)
def picks_a_function(x):
    return {True: torch.sin, False: torch.cos}[bool(x[0] > 0)](x)


@drafted(up, down)
def shape_of_data(x):
    return x.new_ones([int(x.abs().max())]).cumsum(0)


# --- NumPy and other libraries -----------------------------------------------------------------


@drafted(up, down)
def numpy_of_an_input(x):
    return torch.from_numpy(np.cumsum(x.numpy())) + x


@drafted(up, down, nan)
def numpy_of_a_result(x):
    return x + float(np.median((x * 2).numpy()))


@drafted(nan, up)
def numpy_with_nan(x):
    return x + float(np.nansum(x.numpy()))


@drafted(up, down)
def numpy_asarray(x):
    return torch.as_tensor(np.asarray(x) ** 2)


@drafted(up, down)
def numpy_writes_an_input(x):
    x.numpy()[0] = 7
    return x * 2


@drafted(up, down)
def dlpack(x):
    return torch.from_dlpack(x) * 2


@drafted(up, down)
def bytes_of_memory(x):
    return x + hashlib.sha256(x.numpy().tobytes()).digest()[0]


@drafted(up, down)
def array_of_numbers(x):
    return x + sum(array.array("f", x.tolist()))


@drafted(up, down)
def saves_to_memory(x):
    file = io.BytesIO()
    torch.save(x, file)
    return torch.load(io.BytesIO(file.getvalue())) + 1


@drafted(up, down)
def deep_copies(x):
    return copy.deepcopy(x) + 1


@drafted(up, down)
def prints_to_text(x):
    return x * len(re.findall(r"\.", str(x * 1.25)))


# --- what is outside ---------------------------------------------------------------------------

SEEN: list = []
TABLE: dict = {}
QUEUE: collections.deque = collections.deque()
BYTES = bytearray(4)
NUMBERS = np.zeros(3)
STATE = types.SimpleNamespace(n=0)
LOCK = threading.Lock()
COUNT = iter(range(10))


def at_first():
    """Set everything as it was."""
    global COUNT
    SEEN.clear()
    TABLE.clear()
    QUEUE.clear()
    BYTES[:] = bytes(4)
    NUMBERS[:] = 0
    STATE.n = 0
    COUNT = iter(range(10))
    os.environ.pop("MONOGRAPH_DRAFTED", None)


@drafted(up, down, again=at_first)
def appends_to_a_global(x):
    SEEN.append(1)
    return x * len(SEEN)


@drafted(up, down, again=at_first)
def appends_and_forgets(x):
    SEEN.append(x.shape)
    return x * 2


@drafted(up, down, again=at_first)
def keeps_a_tensor(x):
    TABLE["last"] = x
    return x * 2


@drafted(up, down, again=at_first)
def reads_what_it_kept(x):
    y = x + TABLE.get("last", 0)
    TABLE["last"] = y
    return y


@drafted(up, down, again=at_first)
def queue_outside(x):
    QUEUE.append(len(QUEUE))
    return x + len(QUEUE)


@drafted(up, down, again=at_first)
def bytes_outside(x):
    BYTES[0] += 1
    return x + BYTES[0]


@drafted(up, down, again=at_first)
def array_outside(x):
    NUMBERS[0] += 1
    return x + NUMBERS[0]


@drafted(up, down, again=at_first)
def namespace_outside(x):
    STATE.n += 1
    return x * STATE.n


@drafted(up, down, again=at_first)
def iterator_outside(x):
    return x + next(COUNT)


@drafted(up, down, again=at_first)
def environment(x):
    return x * len(os.environ.get("MONOGRAPH_DRAFTED", "none"))


@drafted(up, down, again=at_first)
def sets_the_environment(x):
    n = len(os.environ.get("MONOGRAPH_DRAFTED", ""))
    os.environ["MONOGRAPH_DRAFTED"] = "x" * (n + 1)
    return x * (n + 1)


@drafted(up, down)
def clock(x):
    return x + time.perf_counter()


@drafted(up, down)
def random_number(x):
    return x * random.random()


@drafted(up, down)
def random_of_numpy(x):
    return x * np.random.rand()


@drafted(up, down)
def own_generator(x):
    return x + torch.rand(3, generator=torch.Generator().manual_seed(3))


@drafted(up, down)
def identity(x):
    return x + id(x) % 7


@drafted(up, down)
def hash_of_an_object(x):
    return x + hash(object()) % 1000


@drafted(up, down)
def writes_a_file(x):
    with open(os.devnull, "w") as file:
        file.write(str(x.shape))
    return x * 2


@drafted(up, down)
def reads_a_file(x):
    with open(__file__) as file:
        return x * len(file.readline())


@drafted(up, down)
def prints(x):
    print(x.sum().item(), file=io.StringIO())
    return x * 2


@drafted(up, down)
def logs(x):
    logging.getLogger("drafted").debug("sum %s", x.sum().item())
    warnings.warn_explicit("careful", UserWarning, "drafted", 1, registry={})
    return x * 2


@drafted(up, down)
def thread(x):
    made = []
    worker = threading.Thread(target=lambda: made.append(x * 2))
    worker.start()
    worker.join()
    return made[0]


@drafted(up, down)
def lock(x):
    with LOCK:
        return x * 2


@drafted(up, down)
def frame_of_the_caller(x):
    return x + len(sys._getframe().f_code.co_name)


@drafted(up, down)
def references(x):
    return x + sys.getrefcount(x) % 2


@drafted(up, down)
def weak_reference(x):
    ref = weakref.ref(x)
    return ref() * 2


# --- modules that change -----------------------------------------------------------------------


@drafted(up, down)
class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.calls


@drafted(up, down)
class KeepsTheLast(nn.Module):
    last = None

    def forward(self, x):
        y = x if self.last is None else x + self.last
        self.last = y
        return y


@drafted(up, down)
class SetsByName(nn.Module):
    def forward(self, x):
        for i, v in enumerate(x):
            setattr(self, f"part_{i}", v)
        return self.part_0 + self.part_2


@drafted(up, down)
class AddsAHook(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x):
        self.linear.register_forward_hook(lambda m, a, out: out * 2)
        return self.linear(x)


@drafted(up, down)
class GrowsItsBuffer(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(0))

    def forward(self, x):
        self.seen = torch.cat([self.seen, x])
        return self.seen.sum() + x


@drafted(up, down)
class WritesToAConstant(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.zeros(3)

    def forward(self, x):
        self.table += x
        return self.table * 2


@drafted(up, down)
class MovesItsAverage(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x):
        y = self.norm(torch.stack([x, x + 1, x * 2]))
        return y * float(np.round(x.numpy().sum()))


@drafted(up, down)
class SwapsAChild(nn.Module):
    def __init__(self):
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, x):
        y = self.act(x)
        self.act = nn.Tanh() if isinstance(self.act, nn.ReLU) else nn.ReLU()
        return y


@drafted(up, down)
class Gradient(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        (grad,) = torch.autograd.grad((self.w * x).square().sum(), self.w)
        return grad + x


@drafted(up, down)
class Cached(nn.Module):
    @functools.lru_cache(maxsize=4)  # noqa: B019 - as users write it
    def table(self, n):
        return torch.arange(n)

    def forward(self, x):
        return x + self.table(x.shape[0])


@drafted(up, down)
class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        loss = (self.w * x).sum()
        loss.backward()
        with torch.no_grad():
            self.w -= 0.1 * self.w.grad
        self.w.grad = None
        return self.w * x


# --- operators and tensors ---------------------------------------------------------------------


@drafted(up, down)
def sparse(x):
    return torch.sparse.mm(torch.diag(x).to_sparse(), x[:, None]).sum() + x


@drafted(up, down)
def sparse_rows(x):
    return torch.diag(x).to_sparse_csr().values() * 2


@drafted(up, down)
def nested(x):
    return torch.nested.nested_tensor([x, x[:2]]).to_padded_tensor(0.0)


@drafted(up, down)
def quantised(x):
    return torch.quantize_per_tensor(x, 0.1, 0, torch.qint8).dequantize()


class Tagged(torch.Tensor):
    """A subclass of no account."""


@drafted(up, down)
def subclass(x):
    return (x.as_subclass(Tagged) * 2).as_subclass(torch.Tensor)


@torch.library.custom_op("drafted::halves", mutates_args=())
def halves(x: torch.Tensor) -> torch.Tensor:
    return x[: max(int(x[0].abs()), 1)].clone()


@drafted(up, down)
def custom_without_fake(x):
    return halves(x) * 2


@torch.library.custom_op("drafted::liar", mutates_args=())
def liar(x: torch.Tensor) -> torch.Tensor:
    return torch.cat([x, x])


@liar.register_fake
def _(x):
    return torch.empty_like(x)


@drafted(up, down)
def custom_with_a_wrong_fake(x):
    return liar(x) * 2


@drafted(up, down)
def out_is_resized(x):
    out = torch.empty(1)
    torch.add(x, x, out=out)
    return out


@drafted(up, down)
def hook_on_a_tensor(x):
    y = (x * 2).requires_grad_()
    y.register_hook(lambda g: g * 3)
    return y.detach() + 1


@drafted(up, down)
def storage(x):
    return x + x.untyped_storage().nbytes() + x.data_ptr() % 2


@drafted(up, down)
def data_is_set(x):
    y = torch.zeros(3)
    y.data = x * 2
    return y


@drafted(up, down)
def jitted(x):
    return torch.jit.trace(lambda v: v * 2, (torch.zeros(3),))(x)


@drafted(up, down)
def branches_of_other_ranks(x):
    if x.sum() > 0:
        y = x.sum()
    else:
        y = x[None]
    return y * 2


@drafted(up, down)
def branches_of_other_dtypes(x):
    y = x if x.sum() > 0 else x.to(torch.int64)
    return y * 2


@drafted(up, down)
def one_tensor_on_one_side(x):
    y = x if x.sum() > 0 else x + 1
    return x, y


@drafted(up, down)
def branch_writes_outside(x):
    log = []
    if x.sum() > 0:
        log.append("a")
        x = x * 2
    return x * (len(log) + 1)


@drafted(up, down)
def identity_after_a_branch(x):
    a, b = x + 1, x + 2
    c = a if x.sum() > 0 else b
    return c * (2 if c is a else 3)


@drafted(up, down)
def returns_an_object(x):
    return {"y": x * 2, "kind": types.SimpleNamespace(n=3)}


@drafted(up, down)
def suppressed(x):
    y = x
    with contextlib.suppress(RuntimeError):
        y = x + 1
        if x.sum() > 0:
            raise RuntimeError("go")
        y = x + 2
    return y


@drafted(up, down)
def attribute_by_data(x):
    return getattr(torch, "sin" if x[0].item() > 0 else "cos")(x)


@drafted(up, down)
def operator_on_data(x):
    return x * operator.index(int(x[0])) + operator.itemgetter(int(x[1].abs()))([1, 2, 3])


@drafted(up, down)
def asynchronous(x):
    async def double(v):
        return v * 2

    coroutine = double(x)
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    return x


# --- what nothing but the example tells --------------------------------------------------------


@drafted(up, down)
def draws_and_prints(x):
    return nn.functional.dropout(x) * len(repr(x + 1))


@drafted(lambda: ({"x": torch.ones(2), "k": 3},), lambda: ({"x": torch.zeros(2), "k": 3},))
def adds_to_its_argument(batch):
    batch["text"] = str(batch["x"] * batch["k"])
    return batch["x"] * len(batch["text"])


@drafted(up, down)
def returns_views(x):
    n = len(str(x.cumsum(0)))
    y = x + n
    return x, x[1:], y, y[:2], [y]


@drafted(up, down)
def writes_and_prints(x):
    x.mul_(2)
    x[0] = len(str(x))
    return x.sum()


@drafted(up, down)
class BufferInText(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Module()
        self.inner.register_buffer("n", torch.zeros(()))

    def forward(self, x):
        self.inner.n += 1
        return x * len(str(self.inner.n * 7.25 ** len(str(x + 1))))


@drafted(up, down)
class ChangesLater(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * len(str(x * 2)) + (self.calls > 2)


@drafted(up, down)
def environment_in_text(x):
    return x * len(str(x * 2) + os.environ.get("MONOGRAPH_DRAFTED", ""))


@drafted(lambda: (torch.ones(2, dtype=torch.complex64),), lambda: (torch.ones(2) * 1j,))
def complex_number(x):
    return x * x[0].item()


@drafted(lambda: (torch.ones(2, 3).t(), 2), lambda: (torch.arange(6.0).view(3, 2), 2))
def lies_in_text(x, k):
    return x * len(str((x * 3).stride())) + len(repr(x)) * k


# --- opaque objects of C -----------------------------------------------------------------------


class Opaque:
    """What C keeps to itself, outside of any module."""

    hash, queue, deflating = hashlib.sha256(), queue.SimpleQueue(), zlib.compressobj()


def anew():
    """Opaque objects as they are at first."""
    Opaque.hash, Opaque.queue = hashlib.sha256(), queue.SimpleQueue()
    Opaque.deflating = zlib.compressobj()


@drafted(up, down, again=anew)
def updates_a_hash(x):
    Opaque.hash.update(b"a")
    return x * 2


@drafted(up, down, again=anew)
def updates_a_hash_by_size(x):
    Opaque.hash.update(b"a" * x.shape[0])
    return x * Opaque.hash.digest()[0]


@drafted(up, down, again=anew)
def puts_into_a_queue(x):
    Opaque.queue.put(x.shape[0])
    return x * 2


@drafted(up, down, again=anew)
def puts_a_tensor_into_a_queue(x):
    Opaque.queue.put(x * 2)
    return x + Opaque.queue.get()


@drafted(up, down, again=anew)
def compresses(x):
    return x * len(Opaque.deflating.compress(b"a"))


@drafted(up, down)
class HoldsAHash(nn.Module):
    def __init__(self):
        super().__init__()
        self.hash = hashlib.sha256()
        self.queue = queue.SimpleQueue()

    def forward(self, x):
        self.hash.update(b"a")
        self.queue.put(self.hash.digest())
        return x * self.queue.get()[0]
