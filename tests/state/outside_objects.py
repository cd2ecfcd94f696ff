"""Objects from outside of the call that C writes to: containers, buffers, iterators, opaque ones.

Each program is given `given` anew. Nearly all of them count calls in it, one way or another, so a
program that repeats what the export met differs at the second call.
"""

# ruff: noqa: C416, C417, D103, T201, TC003 - many small programs, named for what they do

from __future__ import annotations

import array
import bisect
import collections
import contextvars
import csv
import ctypes
import dataclasses
import datetime as dt
import decimal
import functools
import hashlib
import heapq
import io
import itertools
import json
import logging
import mmap
import operator
import queue
import random
import re
import sqlite3
import struct
import sys
import threading
import types
import weakref
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from tests.state.registry import ALLOWED_OUTSIDE, OUTSIDE, StateProgram, vector
from tests.state.surroundings import module_of

given: Any = None
LOCK = threading.Lock()
COUNTER = contextvars.ContextVar("COUNTER", default=0)
RECORD = struct.Struct("<i")
WORD = re.compile("a+")
LOGGER = logging.getLogger("tests.state.outside_objects")
LOGGER.propagate = False


def outside(make: Callable[[], Any], *, tell: Callable | None = None, allowed: bool = False):
    """Register a function of the inputs; its file's `given` is what `make` makes, `tell` shows it.

    It is captured and right, or refused by name; if `allowed`, it is captured.
    """

    def register(function):
        def program():
            home: Any = sys.modules[function.__module__]
            home.given = make()
            return module_of(function), lambda: None if tell is None else tell(home.given)

        program.__name__, program.__module__ = function.__name__, function.__module__
        OUTSIDE[program.__name__] = StateProgram(program.__name__, program, vector, ())
        if allowed:
            ALLOWED_OUTSIDE.add(function.__name__)
        return function

    return register


# --- containers --------------------------------------------------------------------------------


@outside(lambda: collections.deque([1, 2, 3]), tell=list)
def deque_rotates(x):
    given.rotate(1)
    return x * given[0]


@outside(lambda: collections.deque([1], maxlen=2), tell=list)
def deque_pushed_on_the_left(x):
    given.appendleft(sum(given))
    return x * given[0]


@outside(lambda: [1, 4, 9])
def heap_replaced(x):
    return x * heapq.heapreplace(given, given[0] + 7)


@outside(lambda: {"heap": [2, 5]})
def heap_in_a_dict(x):
    heapq.heappush(given["heap"], 1)
    return x * len(given["heap"])


@outside(lambda: ([3],))
def sorted_insertion_in_a_tuple(x):
    bisect.insort_right(a=given[0], x=len(given[0]))
    return x * given[0][0] + len(given[0])


@outside(lambda: collections.defaultdict(list), tell=dict)
def missing_key_made(x):
    given[len(given)]
    return x * len(given)


@outside(lambda: collections.defaultdict(lambda: collections.defaultdict(int)), tell=len)
def missing_key_of_a_missing_key(x):
    given["a"][len(given["a"])] += 1
    return x * len(given["a"])


@outside(lambda: collections.defaultdict(int), tell=dict)
def missing_key_by_itemgetter(x):
    operator.itemgetter(f"k{len(given)}")(given)
    return x * len(given)


@outside(lambda: collections.defaultdict(int), tell=dict)
def missing_key_by_format_map(x):
    ("{k" + "k" * len(given) + "}").format_map(given)
    return x * len(given)


@outside(lambda: collections.OrderedDict(a=1, b=2, c=3), tell=list)
def ordered_dict_turns(x):
    given.move_to_end(next(iter(given)))
    return x * next(iter(given.values()))


@outside(lambda: {"a": 1, "b": 2, "c": 3}, tell=list)
def dict_reordered(x):
    key = next(iter(given))
    given[key] = given.pop(key)
    return x * next(iter(given.values()))


@outside(lambda: collections.Counter("aab"))
def counter_updated(x):
    given.update("b")
    return x * given["b"]


@outside(lambda: collections.Counter("aab"))
def counter_subtracted_by_partial(x):
    functools.partial(given.subtract, "a")()
    return x * given["a"]


@outside(set)
def set_grows_by_map(x):
    list(map(given.add, [len(given)]))
    return x * len(given)


@outside(list)
def list_grows_by_filter(x):
    list(filter(given.append, [1]))
    return x * len(given)


@outside(list)
def list_grows_by_key(x):
    sorted([1], key=given.append)
    return x * len(given)


@outside(list)
def list_grows_by_deque(x):
    collections.deque(map(given.append, "a"), maxlen=0)
    return x * len(given)


@outside(list)
def list_grows_by_json(x):
    json.loads("{}", object_hook=given.append)
    return x * len(given)


@outside(list)
def list_grows_by_methodcaller(x):
    operator.methodcaller("append", 1)(given)
    return x * len(given)


@outside(list)
def list_grows_by_exec(x):
    exec("given.append(1)")
    return x * len(given)


@outside(lambda: [1, 2, 3])
def list_drained_by_iter(x):
    for _ in iter(given.pop, 2):
        break
    return x * len(given)


@outside(lambda: [1, 2, 3])
def list_begun_again(x):
    list.__init__(given, [*given, 1])
    return x * len(given)


@outside(lambda: [3, 1, 2])
def list_sorted_by_partial(x):
    y = x * given[0]
    functools.partial(list.sort, reverse=given[0] == 1)(given)
    return y


@outside(lambda: (lambda kept: types.SimpleNamespace(kept=kept, add=kept.append))([]), tell=str)
def bound_method_kept(x):
    list(map(given.add, [1]))
    return x * len(given.kept)


@outside(lambda: {"n": 1})
def dict_updated_by_reduce(x):
    functools.reduce(operator.ior, [{"n": given["n"] + 1}], given)
    return x * given["n"]


@outside(lambda: {"n": 1})
def dict_set_by_map(x):
    list(map(operator.setitem, [given], ["n"], [given["n"] + 1]))
    return x * given["n"]


@outside(lambda: (lambda inner: (inner, types.MappingProxyType(inner)))({"n": 1}), tell=str)
def mapping_read_through_a_proxy(x):
    operator.setitem(given[0], "n", given[1]["n"] + 1)
    return x * given[1]["n"]


@outside(lambda: collections.UserList([1]), tell=list)
def user_list_grows(x):
    given.append(len(given))
    return x * len(given)


@outside(lambda: collections.ChainMap({}, {"n": 1}), tell=str)
def chain_map_counts(x):
    given["n"] = given["n"] + 1
    return x * given["n"]


class Named:
    """An object that others refer to weakly."""


named = [Named() for _ in range(9)]


@outside(weakref.WeakValueDictionary, tell=len)
def weak_values(x):
    given[len(given)] = named[len(given)]
    return x * len(given)


@outside(weakref.WeakSet, tell=len)
def weak_set(x):
    given.add(named[len(given)])
    return x * len(given)


@outside(weakref.WeakKeyDictionary, tell=len)
def weak_keys(x):
    given[named[0]] = given.get(named[0], 0) + 1
    return x * given[named[0]]


# --- buffers -----------------------------------------------------------------------------------


@outside(lambda: np.ones(2), tell=list)
def array_out(x):
    np.multiply(given, 2, out=given)
    return x * float(given[0])


@outside(lambda: np.ones(2), tell=list)
def array_out_in_a_tuple(x):
    np.modf(given * 1.5, out=(np.empty(2), given))
    return x * float(given[1] + 1)


@outside(lambda: np.arange(3.0), tell=list)
def array_copied_into_a_view(x):
    np.copyto(given[1:], given[1:] + 1)
    return x * float(given[2])


@outside(lambda: np.ones(2), tell=list)
def array_filled(x):
    given.fill(given[0] + 1)
    return x * float(given[1])


@outside(lambda: np.array([3, 1, 2]), tell=list)
def array_sorted(x):
    y = x * int(given[0])
    given.sort()
    return y


@outside(lambda: np.zeros(2), tell=list)
def array_added_at(x):
    np.add.at(given, [0, 0], 1)
    return x * float(given[0])


@outside(lambda: np.ones((2, 2)), tell=np.ndarray.tolist)
def array_written_flat(x):
    given.flat[3] += 1
    return x * float(given[1, 1])


@outside(lambda: np.zeros(1, dtype=[("n", "i4"), ("m", "f8")]), tell=str)
def array_with_fields(x):
    given["n"][0] += 1
    return x * int(given["n"][0])


@outside(lambda: (lambda base: (base, base[1:]))(np.zeros(2)), tell=str)
def array_written_through_a_view(x):
    np.add(given[1], 1, given[1])
    return x * float(given[0][1])


@outside(lambda: np.zeros(4), tell=np.ndarray.tolist)
def array_reshaped_in_place(x):
    y = x * given.ndim
    given.shape = (2, 2)
    return y


@outside(lambda: np.array([[], []], dtype=object), tell=str)
def array_of_objects(x):
    n = given.size
    given.resize((2, n + 1), refcheck=False)
    return x * (n + 1)


@outside(lambda: np.arange(2.0, dtype=np.float32), tell=str)
def array_resized_and_shown(x):
    given.resize(given.size + 1, refcheck=False)
    return x.sum() * torch.from_numpy(given)


@outside(lambda: np.ma.array([1.0, 2.0]), tell=str)
def array_masked(x):
    y = x * float(given.sum())
    given[0] = np.ma.masked
    return y


@outside(lambda: bytearray(b"a"), tell=bytes)
def bytes_extended(x):
    operator.iadd(given, b"b")
    return x * len(given)


@outside(lambda: bytearray(4), tell=bytes)
def bytes_packed_into(x):
    struct.pack_into("<i", given, 0, struct.unpack_from("<i", given)[0] + 1)
    return x * given[0]


@outside(lambda: memoryview(bytearray(8)), tell=bytes)
def memory_cast(x):
    numbers = given.cast("i")
    numbers[0] = numbers[0] + 1
    return x * given[0]


@outside(lambda: array.array("i", [1]), tell=list)
def array_of_python(x):
    given[0] += 1
    return x * given[0]


@outside(lambda: array.array("i", [1]), tell=list)
def array_of_python_grows(x):
    given.extend(given)
    return x * len(given)


@outside(lambda: (ctypes.c_int * 2)(), tell=list)
def ctypes_set(x):
    n = given[0]
    ctypes.memset(given, n + 1, 1)
    return x * (n + 1)


@outside(lambda: ctypes.c_int(1), tell=lambda number: number.value)
def ctypes_number(x):
    given.value += 1
    return x * given.value


@outside(lambda: mmap.mmap(-1, 8))
def memory_mapped(x):
    n = given[0]
    given[0] = n + 1
    return x * (n + 1)


# --- attributes --------------------------------------------------------------------------------


def classes():
    """A class that counts."""
    return type("Counted", (), {"n": 0})


@outside(classes, tell=lambda cls: cls.n)
def class_written_by_type(x):
    type.__setattr__(given, "n", given.n + 1)
    return x * given.n


def counted():
    """An object of a class that counts."""
    return classes()()


def class_of(x):
    """Its class."""
    return x.__class__


def count_in(held):
    """Count in the class of an object, which is a local variable here."""
    target = class_of(held)
    target.n = target.n + 1


@outside(counted, tell=lambda held: held.n)
def class_written_by_augmented_assignment(x):
    class_of(given).n += 1
    return x * given.n


@outside(counted, tell=lambda held: held.n)
def class_written_through_a_variable(x):
    count_in(given)
    return x * given.n


@outside(lambda: (counted(), counted()), tell=lambda held: held[1].n)
def class_written_on_one_side(x):
    (given[0] if x.dim() == 4 else class_of(given[1])).n += 1
    return x * given[1].n


@outside(lambda: types.SimpleNamespace(cls=classes()), tell=lambda holder: holder.cls.n)
def class_written_as_an_attribute(x):
    given.cls.n += 1
    return x * given.cls.n


@outside(counted, tell=lambda held: held.n)
def class_set_by_name(x):
    setattr(class_of(given), "n"[:], given.n + 1)
    return x * given.n


@outside(classes, tell=lambda cls: cls.n)
def class_written_by_map(x):
    list(map(setattr, [given], ["n"], [given.n + 1]))
    return x * given.n


class Slotted:
    """A number in a slot."""

    __slots__ = ("__weakref__", "n")

    def __init__(self):
        self.n = 0

    def bump(self):
        """Count."""
        self.n += 1


@outside(Slotted, tell=lambda each: each.n)
def slot_written_by_map(x):
    list(map(functools.partial(setattr, given, "n"), [given.n + 1]))
    return x * given.n


@outside(Slotted, tell=lambda each: each.n)
def slot_written_by_methodcaller(x):
    operator.methodcaller("bump")(given)
    return x * given.n


@outside(Slotted, tell=lambda each: each.n)
def slot_written_by_its_descriptor(x):
    type(given).__dict__["n"].__set__(given, given.n + 1)
    return x * given.n


@dataclasses.dataclass(frozen=True)
class Frozen:
    """A number that cannot be set by `=`."""

    n: int = 0


@outside(Frozen, tell=lambda each: each.n)
def frozen_written(x):
    object.__setattr__(given, "n", given.n + 1)
    return x * given.n


@outside(lambda: types.SimpleNamespace(n=0), tell=vars)
def attributes_updated(x):
    vars(given).update(n=given.n + 1)
    return x * given.n


@outside(lambda: types.SimpleNamespace(n=0), tell=vars)
def attributes_begun_again(x):
    given.__init__(n=given.n + 1)
    return x * given.n


@outside(lambda: torch.ones(3), tell=lambda t: str(vars(t)))
def tensor_attribute_in_its_dict(x):
    vars(given)["n"] = vars(given).get("n", 0) + 1
    return x * given.n


@outside(lambda: nn.Parameter(torch.ones(3)), tell=lambda t: getattr(t, "n", 0))
def parameter_attribute_by_setattr(x):
    setattr(given, "n", getattr(given, "n", 0) + 1)  # noqa: B010  the point
    return x * given.detach() * given.n


@outside(lambda: torch.ones(3), tell=lambda t: str(vars(t)))
def tensor_attribute_list(x):
    if not hasattr(given, "seen"):
        given.seen = []
    given.seen.append(1)
    return x * len(given.seen)


class Marked(nn.Module):
    """Counts on its own parameter."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(3))

    def forward(self, x):
        """Count."""
        self.w.calls = getattr(self.w, "calls", 0) + 1
        return x * self.w * self.w.calls


class MarkedBuffer(nn.Module):
    """Counts on its own buffer."""

    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(3))
        self.b.calls = [0]

    def forward(self, x):
        """Count."""
        self.b.calls[0] += 1
        return x * self.b * self.b.calls[0]


for _kind in (Marked, MarkedBuffer):
    OUTSIDE[_kind.__name__] = StateProgram(_kind.__name__, _kind, vector, ())


@outside(lambda: nn.Dropout(0.0).eval(), tell=lambda m: m.training)
def module_elsewhere_turned(x):
    y = x * (2 if given.training else 1)
    given.train(not given.training)
    return y


# --- iterators ---------------------------------------------------------------------------------


@outside(lambda: itertools.cycle([1, 2, 3]))
def cycle_advances(x):
    return x * next(given)


@outside(lambda: [itertools.count(1)])
def count_in_a_list(x):
    return x * next(given[0])


@outside(lambda: [itertools.count(1)])
def later_counts_fail(x):
    """What a second run of forward meets, it fails by."""
    if next(given[0]) > 1:
        return later_counts_fail.nobody_set_it
    return x * 2


@outside(lambda: {"pairs": zip([1, 2, 3, 4, 5, 6, 7], itertools.count(3))})
def pairs_taken(x):
    for one, other in given["pairs"]:
        return x * one + other
    return x


@outside(lambda: [map(lambda n: n + 1, [1, 2, 3, 4, 5, 6, 7])])
def map_advances(x):
    return x * next(given[0], 0)


@outside(lambda: [n * n for n in range(9)].__iter__())
def list_iterator_advances(x):
    return x * next(given)


@outside(lambda: (iter({1: 2, 3: 4, 5: 6, 7: 8, 9: 9, 10: 1}.items()),))
def items_taken(x):
    return x * next(given[0])[1]


@outside(lambda: [iter("abcdefgh")])
def islice_takes(x):
    return x * ord(next(itertools.islice(given[0], 1)))


def averaging():
    """A generator that is told numbers."""
    total, n = 0.0, 0
    while True:
        got = yield total / max(n, 1)
        total, n = total + (got or 0.0), n + 1


def begun():
    """Such a one, begun."""
    generator = averaging()
    next(generator)
    return [generator]


@outside(begun)
def generator_told(x):
    return x * given[0].send(3.0 + given[0].gi_frame.f_locals["n"])


@outside(lambda: [enumerate("abcdefgh")])
def generator_delegates(x):
    def inner():
        yield from given[0]

    return x * next(inner())[0]


@outside(lambda: [tee for tee in itertools.tee(range(9))])
def tee_advances(x):
    next(given[0])
    return x * next(given[0])


# --- objects that keep their state to themselves -----------------------------------------------


@outside(lambda: hashlib.sha256(b"a"), tell=lambda h: h.hexdigest())
def hash_updated(x):
    given.update(b"b")
    return x * given.digest()[0]


@outside(lambda: [hashlib.md5(b"a")])
def hash_updated_by_map(x):
    list(map(given[0].update, [b"b"]))
    return x * given[0].digest()[0]


@outside(zlib.compressobj)
def compressed(x):
    return x * len(given.compress(b"abc" * 99) + given.flush(zlib.Z_SYNC_FLUSH))


@outside(lambda: queue.Queue(), tell=lambda q: q.qsize())
def queue_fed(x):
    given.put_nowait(1)
    return x * given.qsize()


@outside(lambda: types.SimpleNamespace(q=queue.PriorityQueue()), tell=lambda s: s.q.qsize())
def priority_queue_fed(x):
    given.q.put(given.q.qsize())
    return x * given.q.qsize()


@outside(lambda: queue.SimpleQueue(), tell=lambda q: q.qsize())
def simple_queue_fed(x):
    given.put(1)
    return x * given.qsize()


class Line(queue.SimpleQueue):
    """A queue of a class of the user's."""


@outside(Line, tell=lambda q: q.qsize())
def queue_of_a_class_fed(x):
    given.put(1)
    return x * given.qsize()


@outside(io.StringIO, tell=lambda s: s.getvalue())
def text_written(x):
    given.write("a")
    return x * len(given.getvalue())


@outside(lambda: io.BytesIO(b"abcdefgh"), tell=lambda s: s.tell())
def bytes_read(x):
    return x * given.read(1)[0]


@outside(io.StringIO, tell=lambda s: s.getvalue())
def rows_written(x):
    csv.writer(given).writerow([1, 2])
    return x * len(given.getvalue())


@outside(lambda: csv.reader(["1", "2", "3", "4", "5", "6", "7", "8"]))
def rows_read(x):
    return x * int(next(given)[0])


@outside(lambda: random.Random(5))
def draws_of_its_own(x):
    return x * given.random()


@outside(lambda: sqlite3.connect(":memory:", isolation_level=None))
def table_filled(x):
    given.execute("create table if not exists t (n int)")
    given.execute("insert into t values (1)")
    return x * given.execute("select count(*) from t").fetchone()[0]


@outside(threading.local)
def thread_local_counts(x):
    given.n = getattr(given, "n", 0) + 1
    return x * given.n


@outside(threading.Event, tell=lambda e: e.is_set())
def event_set(x):
    y = x * (3 if given.is_set() else 2)
    given.set()
    return y


@outside(lambda: [threading.Semaphore(8)], tell=lambda s: s[0]._value)
def semaphore_taken(x):
    given[0].acquire()
    return x * given[0]._value


@outside(threading.Lock, tell=lambda lock: lock.locked())
def lock_taken(x):
    return x * (2 if given.acquire(blocking=False) else 3)


@outside(contextvars.copy_context)
def context_run_in(x):
    """What a variable holds there is nobody else's, and goes on from call to call."""
    given.run(lambda: COUNTER.set(COUNTER.get() + 1))
    return x * given.run(COUNTER.get)


@outside(lambda: functools.partial(max, 1), tell=lambda p: getattr(p, "calls", 0))
def attribute_of_a_partial(x):
    given.calls = getattr(given, "calls", 0) + 1
    return x * given.calls


@outside(lambda: contextvars.ContextVar("n", default=0), tell=lambda v: v.get())
def variable_set_by_map(x):
    list(map(given.set, [given.get() + 1]))
    return x * given.get()


@functools.lru_cache
def squared(n):
    """A cached function."""
    return n * n


@outside(lambda: squared.cache_clear())
def cache_statistics(x):
    squared(3)
    return x * (1 + squared.cache_info().hits)


@outside(lambda: WORD.scanner("a aa aaa aaaa aaaaa aaaaaa"))
def scanner_advances(x):
    return x * len(given.search().group())


@outside(lambda: decimal.Context(prec=5))
def decimal_context_set(x):
    given.prec += 1
    return x * given.prec


@outside(lambda: np.nditer(np.arange(9)))
def array_iterator_advances(x):
    return x * int(next(given))


# --- what others call --------------------------------------------------------------------------


class Listening(logging.Handler):
    """Keeps what it is told."""

    def emit(self, record):
        """Keep it."""
        given.append(record.getMessage())


@functools.cache
def listening() -> logging.Logger:
    """A logger with such a handler."""
    logger = logging.getLogger("tests.state.outside_objects.listening")
    logger.propagate = False
    logger.setLevel(logging.INFO)
    logger.addHandler(Listening())
    return logger


LISTENED = listening()


@outside(list)
def handler_counts(x):
    LISTENED.info("called")
    return x * len(given)


def how_many():
    """Ask after the fact."""
    return len(given)


@outside(list)
def handler_counts_for_another(x):
    LISTENED.info("called")
    return x * how_many()


class Passing(logging.Filter):
    """Counts what passes."""

    def filter(self, record):
        """Count it."""
        given.append(record.levelno)
        return False


FILTERED = logging.getLogger("tests.state.outside_objects.filtered")
FILTERED.setLevel(logging.INFO)
FILTERED.addFilter(Passing())


@outside(list)
def filter_counts(x):
    FILTERED.info("called")
    return x * how_many()


class FunctionsCounted(TorchFunctionMode):
    """Counts functions in itself."""

    n = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Count."""
        self.n += 1
        return func(*args, **(kwargs or {}))


class FunctionsListed(TorchFunctionMode):
    """Counts functions in a global."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Count."""
        given.append(1)
        return func(*args, **(kwargs or {}))


class OperatorsListed(TorchDispatchMode):
    """Counts operators in a global."""

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Count."""
        given.append(1)
        return func(*args, **(kwargs or {}))


class FunctionsPass(TorchFunctionMode):
    """Keeps nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Do it."""
        return func(*args, **(kwargs or {}))


@outside(FunctionsCounted, tell=lambda mode: mode.n)
def function_mode_counts(x):
    with given:
        y = x.sin()
    return y * given.n


@outside(list)
def function_mode_lists_by_decorator(x):
    y = FunctionsListed()(torch.cos)(x) if False else x  # noqa: SIM210, RUF100
    with FunctionsListed():
        z = torch.cos(y)
    return z * how_many()


@outside(list)
def dispatch_mode_lists(x):
    with OperatorsListed():
        y = x.exp() + 1
    return y * how_many()


# --- no harm -----------------------------------------------------------------------------------


@outside(FunctionsPass, allowed=True)
def function_mode_passes(x):
    with given:
        return x.sin() + 1


@outside(lambda: None, allowed=True)
def handler_hears(x):
    LISTENED_ELSEWHERE.info("called")
    return x + 1


HEARD: list = []


class Hearing(logging.Handler):
    """Keeps what nobody reads."""

    def emit(self, record):
        """Keep it."""
        HEARD.append(record.levelno)
        HEARD.clear()
        self.last = record.getMessage()


LISTENED_ELSEWHERE = logging.getLogger("tests.state.outside_objects.elsewhere")
LISTENED_ELSEWHERE.propagate = False
LISTENED_ELSEWHERE.setLevel(logging.INFO)
LISTENED_ELSEWHERE.addHandler(Hearing())


@outside(lambda: None, allowed=True)
def logged(x):
    LOGGER.warning("nobody %s", "hears")
    return x * 2


@outside(lambda: None, allowed=True)
def local_objects(x):
    digest = hashlib.sha256(b"a")
    digest.update(b"b")
    text, numbers, buffer = io.StringIO(), array.array("i", [1]), bytearray(2)
    text.write("abc")
    numbers.append(2)
    memoryview(buffer)[0] = 3
    last = collections.deque([1, 2], maxlen=2)
    last.append(digest.digest()[0])
    table = np.zeros(3)
    np.add(table, 1, out=table)
    heap: list = []
    heapq.heappush(heap, 2)
    steps = itertools.cycle([heap[0]])
    line = queue.SimpleQueue()
    line.put(len(text.getvalue()))
    return x * last[-1] + buffer[0] + numbers[1] + float(table.sum()) + next(steps) + line.get()


@outside(lambda: np.arange(3.0), tell=list, allowed=True)
def array_read(x):
    return x * float(np.dot(given, given)) + given.max().item()


@outside(lambda: collections.deque([1, 2]), tell=list, allowed=True)
def deque_read(x):
    return x * len(given) + max(given)


@outside(lambda: collections.defaultdict(int, a=3), tell=dict, allowed=True)
def present_key_read(x):
    return x * given["a"]


@outside(lambda: [3, 1, 2], allowed=True)
def container_iterated(x):
    for each, other in zip(given, sorted(given), strict=True):
        x = x * each + other
    return x


class Copied:
    """Copies itself."""

    def copied(self, attributes):
        found = object.__new__(self.__class__)
        for name, value in attributes.items():
            setattr(found, name, value)
        return found


@outside(lambda: {"n": 2}, allowed=True)
def dict_given_to_what_names_classes(x):
    return x * Copied().copied(given).n


@outside(lambda: None, allowed=True)
def locked(x):
    with LOCK:
        return x * 3


@outside(lambda: None, allowed=True)
def formats_used(x):
    return x * RECORD.unpack(RECORD.pack(5))[0] + len(WORD.findall("a aa"))


@outside(lambda: np.zeros(2), tell=list, allowed=True)
def array_restored(x):
    given[0] = 5.0
    y = x * float(given[0])
    given[0] = 0.0
    return y


@outside(lambda: bytearray(4), tell=bytes)
def scratch_overwritten(x):
    struct.pack_into("<i", given, 0, 7)
    return x * given[0]


@outside(lambda: weakref.ref(named[0]), allowed=True)
def reference_followed(x):
    return x * (2 if given() is not None else 3)


@outside(lambda: (dt.date(2020, 5, 4), decimal.Decimal("1.5")), allowed=True)
def values_asked(x):
    return x * given[0].toordinal() + float(given[1].sqrt())


@outside(lambda: {1, 2})
def number_added(x):
    given.add(5)
    return x * 2


@outside(set, allowed=True)
def warned_once(x):
    if "slow" not in given:
        given.add("slow")
        print("slow", file=sys.stderr)
    return x * 2


@outside(lambda: queue.Queue(), tell=lambda q: q.qsize(), allowed=True)
def queue_borrowed(x):
    given.put(3)
    y = x * given.get()
    given.task_done()
    return y


@outside(lambda: queue.Queue(), tell=lambda q: q.unfinished_tasks)
def queue_tasks_left(x):
    given.put(3)
    given.get()
    return x * given.unfinished_tasks


@outside(lambda: types.SimpleNamespace(table=np.eye(2), names={"a": 1}), tell=str, allowed=True)
def settings_read(x):
    return x * len(given.names) + given.table.trace().item()


# --- written alike by every call -----------------------------------------------------------------


@outside(lambda: {"n": 2}, tell=dict)
def entry_replaced(x):
    dict.update(given, n=7)
    return x * 2


@outside(lambda: [1.0, 2.0], tell=list)
def item_replaced(x):
    given[1] = 3.0
    return x * 2


@outside(lambda: collections.OrderedDict(a=2.0, b=3.0), tell=list)
def order_changed(x):
    given.move_to_end("a")
    return x * 2


@outside(lambda: collections.defaultdict(int), tell=dict)
def key_came_by_reading(x):
    given["zz"]
    return x * 2


@outside(lambda: types.SimpleNamespace(rate=2.0), tell=str)
def attribute_replaced(x):
    given.__dict__.update(rate=4.0)
    return x * 2


@outside(lambda: np.arange(4.0), tell=list)
def array_put(x):
    np.put(given, 0, 9.0)
    return x * 2


@outside(lambda: array.array("d", [1.0, 2.0]), tell=list)
def number_replaced(x):
    given[0] = 5.0
    return x * 2


@outside(lambda: type("Settings", (), {"rate": 2.0}), tell=lambda settings: settings.rate)
def class_written_past_its_own(x):
    type.__setattr__(given, "rate", 4.0)
    return x * 2


@outside(dict, tell=dict)
def number_told(x):
    given.setdefault("rate", 2.0)
    return x * 2


@outside(lambda: types.SimpleNamespace(last=None), tell=str)
def text_told(x):
    given.last = f"{x.ndim}"
    return x * 2


@outside(dict, allowed=True)
def range_kept(x):
    if "table" not in given:
        given["table"] = torch.arange(3)
    return x * given["table"]


@outside(lambda: types.SimpleNamespace(is_begun=False), allowed=True)
def flag_set(x):
    given.is_begun = True
    return x * 2
