"""User code that C calls: keys of dicts and sets, callbacks, special methods asked by libraries."""

import bisect
import collections
import copy
import ctypes
import functools
import heapq
import json
import math
import operator
import random
import re
import time

import numpy as np
from torch.utils import _pytree as pytree

from tests.state.registry import state
from tests.state.surroundings import module_of, program

LOG: list = []
COUNTER = 0


class Logged:
    """A key whose hash leaves a trace."""

    def __init__(self, n):
        self.n = n

    def __hash__(self):
        LOG.append(self.n)
        return hash(self.n)

    def __eq__(self, other):
        return self.n == other.n


class Clocked(Logged):
    """A key whose hash reads a clock."""

    def __hash__(self):
        return int(time.time() * 0) + 1


class Counting(Logged):
    """A key whose comparison counts, and all of which have one hash."""

    def __hash__(self):
        return 1

    def __eq__(self, other):
        global COUNTER  # noqa: PLW0603  the point
        COUNTER += 1
        return self is other


class Pure(Logged):
    """A key as keys should be."""

    def __hash__(self):
        return hash(self.n)


class Equal:
    """Equal to everything, which leaves a trace."""

    __hash__ = None

    def __eq__(self, other):
        LOG.append("eq")
        return True


class Index:
    """An index, a number and a text that leave a trace."""

    def __index__(self):
        LOG.append("index")
        return 1

    def __float__(self):
        LOG.append("float")
        return 2.0

    def __floor__(self):
        LOG.append("floor")
        return 2

    def __repr__(self):
        LOG.append("repr")
        return "x"

    def __lt__(self, other):
        LOG.append("lt")
        return True

    def __contains__(self, other):
        LOG.append("contains")
        return True

    def __deepcopy__(self, memo):
        LOG.append("copy")
        return self

    @property
    def attribute(self):
        """Leave a trace."""
        LOG.append("attribute")
        return 2.0

    def method(self):
        """Leave a trace."""
        LOG.append("method")
        return 2.0


class Missing(dict):
    """A dict whose missing items leave a trace."""

    def __missing__(self, key):
        LOG.append(key)
        return 2.0


class Checking(type):
    """A metaclass whose instance checks leave a trace."""

    def __instancecheck__(cls, value):
        LOG.append("check")
        return True


def trace(value):
    """Leave a trace, and give the value back."""
    LOG.append(str(value))
    return value


def compared(one, other):
    """Compare, and leave a trace."""
    LOG.append("compared")
    return one - other


def counted(match):
    """Count the matches of a pattern."""
    global COUNTER  # noqa: PLW0603  the point
    COUNTER += 1
    return match.group() * 2


@program("write-outlives-call")
def keys_of_a_dict(x):
    """A dict display hashes its keys."""
    return x * {Logged(1): 2.0}[Logged(1)]


@program("write-outlives-call")
def keys_of_a_set(x):
    """A set display hashes its values."""
    return x * len({Logged(1), Logged(2)})


@program("write-outlives-call")
def keys_of_a_dict_comprehension(x):
    """So does a dict comprehension."""
    return x * len({Logged(i): i for i in range(2)})


@program("write-outlives-call")
def keys_of_a_set_comprehension(x):
    """So does a set comprehension."""
    return x * len({Logged(i) for i in range(2)})


@program("write-outlives-call")
def keys_in_tuples(x):
    """A tuple hashes what is in it."""
    return x * {(1, Logged(1)): 2.0}[(1, Logged(1))]


@program("write-outlives-call")
def keys_got(x):
    """`dict.get` hashes."""
    return x * {}.get(Logged(3), 2.0)


@program("write-outlives-call")
def keys_set_by_default(x):
    """`dict.setdefault` hashes."""
    return x * {}.setdefault(Logged(3), 2.0)


@program("write-outlives-call")
def keys_looked_for(x):
    """`in` hashes."""
    return x * (1.0 if Logged(3) in {1: 2} else 2.0)


@program("write-outlives-call")
def keys_compared(x):
    """Keys of one hash are compared."""
    return x * len({Counting(1): 1, Counting(2): 2})


@program("outside-read")
def keys_that_read_a_clock(x):
    """A hash reads a clock."""
    return x * {Clocked(1): 2.0}[Clocked(1)]


@program()
def keys_without_traces(x):
    """Keys as they should be are free."""
    return x * {Pure(1): 2.0}[Pure(1)]


@program("write-outlives-call")
def unique_values(x):
    """`set` hashes."""
    return x * len(set(map(Logged, (1, 1))))


@program("write-outlives-call")
def pattern_counts(x):
    """`re.sub` calls a function that counts."""
    return x * len(re.sub("a", counted, "aaa"))


@program("outside-read")
def pattern_draws(x):
    """`re.sub` calls a function that draws."""
    return x * len(re.sub("a", lambda _: "b" * int(random.random() + 1), "aaa"))


@program("outside-read")
def pattern_identity(x):
    """`re.sub` calls a function that asks for an identity."""
    return x * len(re.sub("a", lambda m: str(id(m)), "a"))


@program()
def pattern_is_free(x):
    """`re.sub` calls a function that does nothing else."""
    return x * len(re.sub("a", lambda _: "bb", "aaa"))


@program("write-outlives-call")
def list_contains(x):
    """`in` compares with what a list holds."""
    return x * (2.0 if 5 in [Equal(), Equal()] else 1.0)


@program("write-outlives-call")
def lists_compared(x):
    """Lists compare what they hold."""
    return x * (2.0 if [Equal()] == [Equal()] else 1.0)


@program("write-outlives-call")
def list_index(x):
    """`list.index` compares."""
    return x * [Equal()].index(3)


@program("write-outlives-call")
def list_count(x):
    """`list.count` compares."""
    return x * [Equal()].count(3)


@program("write-outlives-call")
def index_of_a_slice(x):
    """A slice asks its bounds for an index."""
    return x * len([1, 2, 3][Index() :])


@program("write-outlives-call")
def index_of_a_tensor(x):
    """A tensor asks an index for its number."""
    return x[Index()]


@program("write-outlives-call")
def index_of_a_range(x):
    """`range` asks for an index."""
    return x * len(range(Index()))


@program("write-outlives-call")
def text_of_a_list(x):
    """`repr` of a list asks what it holds."""
    return x * len(repr([Index()]))


@program("write-outlives-call")
def text_within_text(x):
    """So does an f-string."""
    return x * len(f"{[Index()]}")


@program("write-outlives-call")
def text_by_percent(x):
    """So does `%`."""
    return x * len("%r" % (Index(),))  # noqa: UP031  the point


@program("write-outlives-call")
def text_by_format(x):
    """So does `str.format`."""
    return x * len(f"{Index()}")


@program("write-outlives-call")
def json_default(x):
    """`json` asks a function for what it does not know."""
    return x * len(json.dumps([object()], default=lambda _: trace(1)))


@program("write-outlives-call")
def attribute_getter(x):
    """`operator.attrgetter` reads a property."""
    return x * operator.attrgetter("attribute")(Index())


@program("write-outlives-call")
def method_caller(x):
    """`operator.methodcaller` calls a method."""
    return x * operator.methodcaller("method")(Index())


@program("write-outlives-call")
def missing_item(x):
    """A dict asks `__missing__`."""
    return x * Missing()["a"]


@program("write-outlives-call")
def default_factory(x):
    """A defaultdict calls what makes its values."""
    return x * collections.defaultdict(lambda: trace(2.0))["a"]


@program("write-outlives-call")
def tree_mapped(x):
    """PyTorch maps a function over a tree."""
    return pytree.tree_map(lambda y: trace(1) * y, [x])[0]


@program("write-outlives-call")
def sorted_by_comparison(x):
    """`functools.cmp_to_key` compares by a function."""
    return x * sorted([3, 1], key=functools.cmp_to_key(compared))[1]


@program("write-outlives-call")
def bisected(x):
    """`bisect` calls a key."""
    return x * bisect.bisect([1, 2, 3], 2, key=trace)


@program("write-outlives-call")
def heaped(x):
    """`heapq` compares."""
    return x * len(heapq.nsmallest(1, [Index(), Index()]))


@program("write-outlives-call")
def instance_checked(x):
    """A metaclass says what an instance is."""
    return x * (2.0 if isinstance(x, Checking("C", (), {})) else 1.0)


@program("write-outlives-call")
def floored(x):
    """`math.floor` asks a number."""
    return x * math.floor(Index())


@program("write-outlives-call")
def made_float(x):
    """`math.sqrt` asks a number."""
    return x * math.sqrt(Index())


@program("write-outlives-call")
def contained(x):
    """`operator.contains` asks."""
    return x * (2.0 if operator.contains(Index(), 3) else 1.0)


@program("write-outlives-call")
def copied_deeply(x):
    """`copy.deepcopy` calls a method."""
    copy.deepcopy(Index())
    return x * 2


def noted(value, *_):
    """A function that leaves a trace."""
    LOG.append(1)
    return value


NOTED = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(noted)


@program("write-outlives-call")
def vectorized(x):
    """NumPy calls a function for each number."""
    return x * float(np.vectorize(noted)([2.0])[0])


@program("write-outlives-call")
def made_a_ufunc(x):
    """NumPy calls a function that is in what is called."""
    return x * float(np.frompyfunc(noted, 1, 1)([2.0])[0])


@program("write-outlives-call")
def reduced_by_a_ufunc(x):
    """So does a method of it."""
    return x * float(np.frompyfunc(noted, 2, 1).reduce([2.0, 3.0]))


@program("write-outlives-call")
def called_by_a_foreign_function(x):
    """A function of C that is one of Python."""
    return x * NOTED(2)


@program()
def pattern_fills_a_list(x):
    """What a callback does to objects of the call is free."""
    seen = []
    re.sub("a", lambda match: seen.append(match.group()) or "b", "aaa")
    return x * len(seen)


@state("attribute-changed", "write-outlives-call")
def pattern_changes_the_module():
    """A callback writes an attribute of the module, and the result depends on it."""

    def forward(x):
        def change(match):
            made.calls = getattr(made, "calls", 0) + 1
            return match.group()

        re.sub("a", change, "a")
        return x * made.calls

    made = module_of(forward)
    return made
