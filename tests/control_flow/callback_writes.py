"""Programs in whose branches and rounds C calls functions that write to objects from outside.

What each side leaves is one, or refused. Registered beside `branching`.
"""

import collections
import re
import threading

from tests.control_flow.branching import DOWN, UP, branching


class Counts:
    """Counts how often it is hashed."""

    def __init__(self):
        self.n = 0

    def __hash__(self):
        self.n += 1
        return 3


@branching(UP, DOWN, refused="branch-side-effect")
def callback_appends(x):
    """To a list of the call."""
    found = []
    if x.sum() > 0:
        re.sub("a", lambda _: found.append(1) or "b", "aa")
    return x * (len(found) + 1)


@branching(UP, DOWN)
def callback_counts_in_a_dict(x):
    """Which keeps its length."""
    found = {"n": 0}

    def count(_):
        found["n"] += 1
        return ""

    if x.sum() > 0:
        re.sub("a", count, "aa")
    return x * (found["n"] + 1)


@branching(UP, DOWN)
def callback_assigns_a_variable(x):
    """Of the function around it."""
    n = 0

    def count(_):
        nonlocal n
        n += 1
        return ""

    if x.sum() > 0:
        re.sub("a", count, "aaa")
    else:
        n = 7
    return x * n


@branching(UP, DOWN, refused="branch-side-effect")
def callback_of_missing_keys(x):
    """Of a `defaultdict`."""
    found = [0]

    def missing():
        found[0] += 1
        return 0

    counts = collections.defaultdict(missing)
    if x.sum() > 0:
        counts["a"] += 1
    return x * (found[0] + len(counts))


@branching(UP, DOWN, refused="branch-side-effect")
def callback_in_a_loop(x):
    """The number of rounds depends on data."""
    found = []
    y = x
    while y.abs().sum() > 1:
        y = y / 2
        re.sub("a", lambda _: found.append(1) or "", "a")
    return y * (len(found) + 1)


@branching(UP, DOWN)
def hash_counts(x):
    """The method of a key."""
    key = Counts()
    if x.sum() > 0:
        _ = {key: 1}
    return x * (key.n + 1)


@branching(UP, DOWN)
def thread_counts(x):
    """Another thread calls it."""
    found = [1]

    def count():
        found[0] += 3

    if x.sum() > 0:
        thread = threading.Thread(target=count)
        thread.start()
        thread.join()
    return x * found[0]
