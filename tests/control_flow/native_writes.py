"""Programs whose branches and rounds let C write to objects from outside of them.

Nobody announces such writes. What each side leaves is one, or refused. Registered beside
`branching`.
"""

import array
import collections
import contextlib
import contextvars
import decimal
import heapq
import queue
import random
import struct

import numpy as np

from tests.control_flow.branching import DOWN, UP, branching

LEVEL = contextvars.ContextVar("LEVEL", default=1)


@branching(UP, DOWN, refused="branch-side-effect")
def deque_lengthened(x):
    """By a method in C."""
    found = collections.deque([3])
    if x.sum() > 0:
        found.append(4)
    return x * sum(found)


@branching(UP, DOWN)
def deque_of_one_length(x):
    """Each side takes one, or puts one in its place."""
    found = collections.deque([3, 5])
    if x.sum() > 0:
        found.append(found.popleft())
    return x * found[0] + found[1]


@branching(UP, DOWN, refused="branch-side-effect")
def deque_in_a_loop(x):
    """The number of rounds depends on data."""
    found = collections.deque([1])
    y = x
    while y.abs().sum() > 1:
        y = y / 2
        found.append(found[-1] + 1)
    return y * len(found)


@branching(UP, DOWN, refused="branch-side-effect")
def callback_of_an_exit_stack(x):
    """It is kept in a deque of the library's."""
    done = []
    with contextlib.ExitStack() as stack:
        stack.callback(done.append, 3)
        if x.sum() > 0:
            stack.callback(done.append, 4)
    return x * sum(done)


@branching(UP, DOWN)
def heap_of_a_list(x):
    """A function in C is given the list."""
    found = [5, 7]
    if x.sum() > 0:
        heapq.heapreplace(found, 9)
    return x * found[0]


@branching(UP, DOWN, refused="branch-side-effect")
def counted_by_a_library(x):
    """The loop over what is counted is in C."""
    found = collections.Counter(a=1)
    if x.sum() > 0:
        found.update("ab")
    return x * (found["a"] + 3 * found["b"])


@branching(UP, DOWN, refused="branch-side-effect")
def missing_key_read(x):
    """Reading makes it."""
    found = collections.defaultdict(int)
    if x.sum() > 0:
        found["a"]
    return x * (1 + len(found))


@branching(UP, DOWN, refused="branch-side-effect")
def bytes_replaced(x):
    """By an index, which announces the write."""
    found = bytearray(b"\x01\x02")
    if x.sum() > 0:
        found[0] = 4
    return x * sum(found)


@branching(UP, DOWN, refused="branch-side-effect")
def bytes_behind_a_view(x):
    """What is written to looks into what is read."""
    found = bytearray(4)
    if x.sum() > 0:
        struct.pack_into("<i", memoryview(found), 0, 7)
    return x * (found[0] + 1)


@branching(UP, DOWN, refused="branch-side-effect")
def array_lengthened(x):
    """Of Python's own."""
    found = array.array("i", [1, 2])
    if x.sum() > 0:
        found.append(4)
    return x * sum(found)


@branching(UP, DOWN, refused="branch-side-effect")
def array_of_numpy(x):
    """An item is replaced."""
    found = np.zeros(2)
    if x.sum() > 0:
        found[0] = 4
    return x * float(found.sum() + 1)


@branching(UP, DOWN, refused="branch-side-effect")
def generator_drawn_from(x):
    """Of random numbers, with a seed of its own."""
    drawn = random.Random(0)
    if x.sum() > 0:
        drawn.random()
    return x * drawn.random()


@branching(UP, DOWN, refused="branch-side-effect")
def queue_filled(x):
    """Nobody can read what is in it."""
    found = queue.SimpleQueue()
    found.put(1)
    if x.sum() > 0:
        found.put(2)
    return x * found.qsize()


@branching(UP, DOWN, refused="branch-side-effect")
def context_variable(x):
    """Given back at the end."""
    token = LEVEL.set(2)
    if x.sum() > 0:
        LEVEL.set(5)
    y = x * LEVEL.get()
    LEVEL.reset(token)
    return y


@branching(UP, DOWN, refused="branch-side-effect")
def precision_of_a_context(x):
    """An attribute that C keeps."""
    context = decimal.Context(prec=5)
    if x.sum() > 0:
        context.prec = 2
    return x * float(context.divide(decimal.Decimal(1), decimal.Decimal(7)))


@branching(UP, DOWN)
def made_on_one_side(x):
    """What the side itself made is nobody else's."""
    level = 2.0
    if x.sum() > 0:
        found, row = bytearray(2), np.zeros(2)
        found[0], row[1] = 3, 4
        level = sum(found) + float(row.sum())
    return x * level


@branching(UP, DOWN)
def made_in_a_round(x):
    """As above."""
    y = x
    while y.abs().sum() > 1:
        found = bytearray(4)
        struct.pack_into("<i", found, 0, 2)
        y = y / found[0]
    return y
