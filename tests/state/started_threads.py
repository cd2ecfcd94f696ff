"""Threads that forward starts: what they write to, read from outside, and hand over."""

# ruff: noqa: D103 - many small programs, named for what they do

from __future__ import annotations

import collections
import functools
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.state.outside_objects import outside

given: Any = None


started = functools.partial(outside, tell=lambda given: given)


def run(function, *args, waits=True):
    """Start a thread."""
    thread = threading.Thread(target=function, args=args)
    thread.start()
    if waits:
        thread.join()


@started(lambda: [1])
def thread_appends(x):
    run(given.append, 1)
    return x * len(given)


@started(lambda: collections.deque([1], maxlen=4), tell=list)
def thread_appends_to_a_deque(x):
    run(lambda: given.appendleft(2))
    return x * len(given)


@started(dict)
def thread_in_a_thread_counts(x):
    def count():
        given["n"] = given.get("n", 0) + 1

    run(lambda: run(count))
    return x * given["n"]


@started(lambda: {"n": 0})
def thread_of_a_class_counts(x):
    class Counts(threading.Thread):
        def run(self):
            given["n"] += 1

    thread = Counts()
    thread.start()
    thread.join()
    return x * given["n"]


@started(lambda: [0])
def thread_nobody_waits_for(x):
    def later():
        time.sleep(0.05)
        given[0] += 1

    y = x * given[0]
    run(later, waits=False)
    time.sleep(0.2)
    return y


@started(list)
def timer_appends(x):
    timer = threading.Timer(0.01, given.append, args=(3,))
    timer.start()
    timer.join()
    return x * len(given)


@started(lambda: {"n": 1})
def pool_counts(x):
    def count(step):
        given["n"] += step

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(count, range(3)))
    return x * given["n"]


@started(lambda: None)
def thread_draws_a_number(x):
    found = []
    run(lambda: found.append(random.random()))
    return x * found[0]


@started(lambda: None)
def thread_reads_a_clock(x):
    found = []
    run(lambda: found.append(time.perf_counter()))
    return x * (found[0] % 1)


@started(lambda: [2, 3], allowed=True)
def thread_reads_what_stays(x):
    found = []
    run(lambda: found.extend(given))
    return x * found[0] + found[1]


@started(lambda: None, allowed=True)
def pool_computes_numbers(x):
    with ThreadPoolExecutor(2) as pool:
        found = list(pool.map(lambda step: step * step, range(4)))
    return x * found[2] + pool.submit.__name__.count("s")
