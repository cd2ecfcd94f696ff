"""All rows: code that reads, writes and asks by roads that neither operators nor bytecode show."""

import array
import bisect
import collections
import contextvars
import functools
import heapq
import inspect
import io
import itertools
import math
import operator
import re
import statistics
import struct

import torch
from torch import nn
from torch.nn import functional as F

from tests.contract.registry import Call, probe
from tests.contract.tensor_types import m

AGAIN = {"again": lambda: (m(),), "negative": lambda: (-m().abs() - 1,)}
LAID = {
    "transposed": lambda: (m(4, 3).T,),
    "gapped": lambda: (m(3, 8)[:, ::2],),
    "repeated": lambda: (m(1, 4).expand(3, 4),),
    "leaf": lambda: (m().requires_grad_(),),
}
THRICE = {"thrice": Call(lambda: (m(),), times=3)}


def varying(dim):
    """The number of rows varies."""
    return ({0: dim.AUTO},)


ROWS = {f"{n} rows": (lambda n=n: (m(n, 4),)) for n in (2, 5, 7)}


def chosen(x, condition):
    """Twice or thrice."""
    return x * 2 if condition else x * 3


# --- numbers out of memory ----------------------------------------------------------------------


@probe("data", lambda: (m(),), calls=AGAIN, refused=("specialized-value",))
def sum_by_math(x):
    """C adds the elements."""
    return x * math.fsum(x[0])


@probe("data", lambda: (m(),), calls=AGAIN, refused=("specialized-value",))
def mean_by_python(x):
    """Python's library adds them."""
    return x * float(statistics.fmean(x[0]))


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def found_in_a_list(x):
    """C compares."""
    return chosen(x, x.sum() in [1.0, 2.0])


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def counted_in_a_list(x):
    """C compares, and counts."""
    return x * [0.0, 1.0].count(x[0, 0])


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def place_in_a_sorted_list(x):
    """By bisection."""
    return x * bisect.bisect([-1.0, 0.0, 1.0], x.sum())


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def smallest_of_a_heap(x):
    """C orders tensors."""
    heap = []
    for row in x:
        heapq.heappush(heap, (row.sum(), 1))
    return x * heapq.heappop(heap)[0]


@probe("data", lambda: (m(),), calls=AGAIN, refused=("specialized-value",))
def array_of_a_row(x):
    """Python's own array."""
    return x * array.array("f", x[0])[1]


@probe("data", lambda: (m(),), calls=AGAIN, refused=("specialized-value",))
def hostile_packed(x):
    """As bytes."""
    return x * len(struct.pack("f", x[0, 0])) + struct.unpack("f", struct.pack("f", x[0, 0]))[0]


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def truth_by_a_function(x):
    """Of C."""
    return chosen(x, operator.truth(x.sum() > 0))


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def filtered_by_data(x):
    """C asks each."""
    return x * len([*filter(None, x[0] > 0)])


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def all_and_any(x):
    """C asks until one is as it wants."""
    return chosen(x, all(x[0] > 0)) + chosen(x, any(x[0] > 0))


@probe("data", lambda: (m(),), calls=AGAIN, refused=("data-dependent-branch",))
def taken_while(x):
    """An iterator of C."""
    return x * len([*itertools.takewhile(lambda each: each > 0, x[0])])


@probe("data", lambda: (m(),), calls=AGAIN, refused=("value-read",))
def length_of_a_text(x):
    """The text of a number of data."""
    return x * len(f"{x.sum():.1f}")


@probe("data", lambda: (m(),), calls=AGAIN, refused=("specialized-value",))
def text_by_percent(x):
    """Another text."""
    return x * float("%.2f" % x.sum())  # noqa: UP031 - what is asked


@probe("data", lambda: (m(),), calls=AGAIN, refused=("specialized-value",))
def index_of_a_list(x):
    """A whole number out of a tensor."""
    return x * [1, 2, 3][(x[0, 0] > 0).long()]


@probe("data", lambda: (m(),), calls=AGAIN, refused=("specialized-value",))
def range_of_data(x):
    """As many rounds as data says."""
    y = x
    for _ in range((x > 0).sum()):
        y = y + 1
    return y


@probe("data", lambda: (m(),), calls=AGAIN, refused=("memory-exposed",))
def from_a_buffer(x):
    """A tensor on memory of Python's, which is written to afterwards."""
    held = bytearray(16)
    made = torch.frombuffer(held, dtype=torch.float32)
    held[:4] = struct.pack("f", 2.0)
    return x * made


# --- what C writes to ---------------------------------------------------------------------------

SEEN: list = []
HEAP: list = [3, 5]
COUNTS: collections.Counter = collections.Counter()
LAST: collections.deque = collections.deque(maxlen=2)
BYTES = bytearray(4)
NUMBERS = array.array("l", [1])
TEXT = io.StringIO()
COUNT = itertools.count()
STATE: contextvars.ContextVar = contextvars.ContextVar("STATE", default=0)


@functools.lru_cache(maxsize=2)
def cached(n):
    """Remembers."""
    return n + 1


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def list_extended_by_map(x):
    """What C makes is appended to a global."""
    list.extend(SEEN, map(int, "12"))
    return x * len(SEEN)


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def pushed_to_a_heap(x):
    """In C."""
    heapq.heappush(HEAP, 1)
    return x * HEAP[0]


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def inserted_in_order(x):
    """In C."""
    bisect.insort(HEAP, 4)
    return x * len(HEAP)


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def counted_in_c(x):
    """A counter."""
    COUNTS.update("ab")
    return x * COUNTS["a"]


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def last_two(x):
    """A queue that forgets."""
    LAST.append(len(LAST))
    return x * LAST[-1]


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def bytes_written(x):
    """By a view of them."""
    memoryview(BYTES)[0:1] = bytes([BYTES[0] + 1])
    return x * BYTES[0]


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def bytes_appended(x):
    """While a view looks into them they could not grow; this one is gone."""
    memoryview(BYTES)[0] = 1
    BYTES.append(1)
    return x * len(BYTES)


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def packed_into(x):
    """By a function of C that is given where to write."""
    struct.pack_into("B", BYTES, 1, BYTES[1] + 1)
    return x * BYTES[1]


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def array_grown(x):
    """Python's own array."""
    NUMBERS.append(2)
    return x * len(NUMBERS)


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def text_written(x):
    """A file in memory."""
    TEXT.write("a")
    return x * TEXT.tell()


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def counter_advanced(x):
    """An iterator without end."""
    return x * next(COUNT)


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def context_set(x):
    """A variable of the context."""
    STATE.set(STATE.get() + 1)
    return x * STATE.get()


@probe("write", lambda: (m(),), calls=THRICE, refused=("outside-read",))
def remembered_calls(x):
    """How often a cache was asked."""
    cached(1)
    return x * (cached.cache_info().hits + cached.cache_info().misses)


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def written_by_a_callback(x):
    """C calls what writes."""
    re.sub("a", lambda found: SEEN.append(found) or "b", "aa")
    return x * len(SEEN)


@probe("write", lambda: (m(),), calls=THRICE, refused=("write-outlives-call",))
def written_by_a_key(x):
    """So does sorting."""
    sorted([2, 1], key=lambda n: SEEN.append(n) or n)
    return x * len(SEEN)


@probe("write", lambda: (m(),), calls=THRICE, refused=("attribute-changed",))
class WrittenPastItsClass(nn.Module):
    """An attribute, by the base of all classes."""

    n = 0

    def forward(self, x):
        object.__setattr__(self, "n", self.n + 1)
        operator.setitem(vars(self), "k", vars(self).get("k", 0) + 1)
        return x * self.n + self.k


# --- answers that a capture might change --------------------------------------------------------


@probe("memory", lambda: (m(),), calls=LAID)
def names_of_the_class(x):
    """By name, module, bases and methods."""
    kind = type(x)
    names = kind.__name__, kind.__module__, kind.__qualname__, repr(kind)
    is_plain = names == ("Tensor", "torch", "Tensor", "<class 'torch.Tensor'>")
    return chosen(x, is_plain and x.__class__.__mro__[0] is torch.Tensor)


@probe("memory", lambda: (m(),), calls=LAID, refused=("outside-read",))
def hostile_methods_of_the_class(x):
    """The class says what its methods are."""
    return chosen(x, type(x).relu is torch.Tensor.relu and x.add.__self__ is x)


@probe("memory", lambda: (m(),), calls=LAID)
def order_of_the_classes(x):
    """Asked by Python's library."""
    return chosen(x, inspect.getmro(type(x))[0] is torch.Tensor and inspect.isclass(type(x)))


@probe("memory", lambda: (m(),), calls=LAID)
def state_of_a_tensor(x):
    """What few ask."""
    y = x * 2
    return chosen(x, y.output_nr == 0 and y.element_size() == 4 and not y.is_quantized)


@probe("memory", lambda: (m(),), calls=LAID)
def counted_writes(x):
    """How often it was written to."""
    y = x * 2
    before = y._version
    y.add_(1)
    return y * (y._version - before)


@probe("size", lambda: (m(3, 4),), calls=ROWS, shapes=varying)
def numbers_by_the_tower(x):
    """A size is a whole number to Python's tower."""
    n = x.shape[0]
    return chosen(x, isinstance(n, int) and type(n) is int)


@probe("size", lambda: (m(3, 4),), calls=ROWS, shapes=varying)
def names_of_a_size(x):
    """A number has no node."""
    n = x.shape[0]
    return chosen(x, hasattr(n, "node") or "node" in dir(n)) + len(dir(n))


@probe("size", lambda: (m(3, 4),), calls=ROWS, shapes=varying)
def size_as_text(x):
    """In other bases."""
    n = x.shape[0]
    return x * (len(bin(n)) + int(hex(n), 16) + n.bit_length() + len(repr(n)))


@probe("size", lambda: (m(3, 4),), calls=ROWS, shapes=varying)
def size_as_bytes(x):
    """And as bytes."""
    return x * (x.shape[0].to_bytes(2, "big")[1] + len(bytes(x.shape[0])))


@probe("size", lambda: (m(3, 4),), calls=ROWS, shapes=varying)
def size_in_tables(x):
    """As a key, an index and an item."""
    table = {2: 5, 3: 7}
    n = x.shape[0]
    return x * (table.get(n, 1) + (n in {3, 5}) + [4, 5, 6, 7, 8, 9, 10, 11][n] + (4, 3).count(n))


@probe("size", lambda: (m(3, 4),), calls=ROWS, shapes=varying)
def size_to_c(x):
    """C takes it for a number."""
    n = x.shape[0]
    return x * (math.comb(n, 2) + math.gcd(n, 6) + operator.index(n) + len([*range(n)]))


# --- what lowering may lose -----------------------------------------------------------------------


@probe("layout", lambda: (m(),), calls=LAID)
def made_like_a_view(x):
    """Strides follow what is given."""
    y = x.t()
    return torch.zeros_like(y), y.clone(), y + 1, torch.where(y > 0, y, 0.0), y.expand(2, -1, -1)


@probe("overlap", lambda: (m(),), calls=LAID)
def views_of_views(x):
    """All of one memory, some written to."""
    y = x * 2
    z = y[:, 1:].t()[0].unsqueeze(0)
    z.mul_(3)
    return y, z, y.narrow(0, 1, 1), z.view(-1)


@probe("layout", lambda: (m(),), calls=LAID)
def leaf_in_the_middle(x):
    """What begins a history, ends one, and has none."""
    y = x.detach().clone().requires_grad_()
    z = (y * 2).detach()
    with torch.no_grad():
        w = y * 3
    return y * 2, z, w, (w + y), y.is_leaf, z.requires_grad


@probe("outside", lambda: (m(),), calls=LAID)
def drawn_in_many_ways(x):
    """Each draw moves the generator as far."""
    noise = torch.bernoulli(torch.full((3,), 0.5)), torch.randperm(3), torch.rand(0)
    return (
        F.rrelu(x, training=True),
        F.dropout(x, 0.5),
        noise,
        torch.randn(3).double(),
        x.new_empty(2).normal_(),
    )


@probe("outside", lambda: (m(),), calls=LAID)
def drawn_where_nothing_is_used(x):
    """A draw whose result goes nowhere."""
    torch.rand(5)
    F.dropout(x, 0.3)
    x.new_empty(3).uniform_()
    return x + torch.rand(1)


@probe("overlap", lambda: (m(),), calls=LAID)
def argument_or_copy(x):
    """Operators that may give back what they are given."""
    return x.contiguous(), x.reshape(3, 4), x.to(torch.float32), x.expand(3, 4), x.flatten(0, 0)


@probe("layout", lambda: (m(2, 12),), calls={"transposed": lambda: (m(12, 2).T,)})
def format_of_images(x):
    """Channels last goes through."""
    y = x.reshape(1, 2, 3, 4).contiguous(memory_format=torch.channels_last)
    pooled = F.max_pool2d(y, 2, 1)
    return pooled, y.relu(), y + 1, F.interpolate(y, scale_factor=2), y.is_contiguous()
