"""Listeners are told of calls in their own thread, and leave no trace in the interpreter."""

from __future__ import annotations

import contextlib
import importlib
import logging
import random
import threading
import time

import pytest
import torch
from torch import nn

from monograph import export
from monograph.capture.call_events import CALL_EVENTS, MONITORING
from monograph.diagnostics import MonographError

needs_monitoring = pytest.mark.skipif(MONITORING is None, reason="Python 3.12 brought it")
X = (torch.ones(3),)


def plainly(forward):
    """Capture a function as plain Python."""
    made = type("Model", (nn.Module,), {"forward": forward})()
    return export(made, X, strict=False)


def refused(forward):
    """The name of a refusal."""
    with pytest.raises(MonographError) as caught:
        plainly(forward)
    return caught.value.diagnostic.name


def draws(self, x):
    """Draw through Python's library, which calls C."""
    return x * random.randint(1, 3)


def draws_again(self, x):
    """Draw in code that was entered once before it did."""
    for turn in range(2):
        if turn:
            x = x * random.gauss(0, 1)
    return x


def in_generator(self, x):
    """Read a clock where a generator goes on."""

    def times():
        yield 1.0
        yield time.time()

    return x * sum(times())


def in_callback(self, x):
    """Read a clock in what C calls."""
    return x * sum(map(lambda _: time.time(), [1, 2]))  # noqa: C417  the point


def after_aside(self, x):
    """Read a clock after a line was logged, and an import failed."""
    logging.getLogger("nobody").warning("hello")
    with contextlib.suppress(ImportError):
        importlib.import_module("nothing_of_this_name")
    return x * time.time()


@pytest.mark.parametrize(
    "forward",
    [draws, draws_again, in_generator, in_callback, after_aside],
    ids=lambda f: f.__name__,
)
def test_calls_of_c_are_told_of_wherever_they_are(forward):
    """Also in a second capture, and in a third."""
    for _ in range(3):
        assert refused(forward) == "outside-read"
    assert CALL_EVENTS.now() is None


def test_other_threads_are_not_told_of():
    """One reads clocks all the time."""
    done = threading.Event()

    def reads():
        while not done.is_set():
            time.time()

    other = threading.Thread(target=reads)
    other.start()
    try:
        for _ in range(5):
            plainly(lambda self, x: x + 1)
            assert refused(draws) == "outside-read"
    finally:
        done.set()
        other.join()


def test_two_threads_are_told_of_at_once():
    """Each of what it calls itself."""
    found: list[str] = []

    def captures(forward, name):
        for _ in range(10):
            try:
                plainly(forward)
            except MonographError as error:
                found.append(f"{name} {error.diagnostic.name}")

    threads = [
        threading.Thread(target=captures, args=each)
        for each in ((in_callback, "reads"), (lambda self, x: x * 2, "pure"))
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert found == ["reads outside-read"] * 10


@needs_monitoring
def test_tools_of_others_keep_their_places():
    """A debugger, coverage and a profiler are told what they are told without a capture."""
    told = []
    for tool in range(3):
        MONITORING.use_tool_id(tool, f"tool {tool}")
        MONITORING.register_callback(
            tool, MONITORING.events.PY_START, lambda code, _: told.append(code.co_name)
        )
        MONITORING.set_events(tool, MONITORING.events.PY_START)
    try:
        assert refused(draws) == "outside-read"
    finally:
        for tool in range(3):
            MONITORING.set_events(tool, 0)
            MONITORING.free_tool_id(tool)
    assert told.count("draws") >= 3
    assert told.count("randint") >= 3


@needs_monitoring
def test_nothing_is_left():
    """No tool, no events, and no events in code."""
    plainly(lambda self, x: x + 1)
    assert refused(draws) == "outside-read"
    for tool in (3, 4, 5):
        assert MONITORING.get_tool(tool) is None
    MONITORING.use_tool_id(5, "test")
    try:
        assert MONITORING.get_events(5) == 0
        assert MONITORING.get_local_events(5, draws.__code__) == 0
    finally:
        MONITORING.free_tool_id(5)


@needs_monitoring
def test_a_place_that_is_taken_is_left_alone():
    """Another is used; without any, one is told that calls are not seen."""
    taken = []
    try:
        for tool in (5, 4, 3):
            MONITORING.use_tool_id(tool, "another")
            taken.append(tool)
            if tool > 3:
                assert refused(draws) == "outside-read"
        with pytest.warns(RuntimeWarning, match="does not see clocks"):
            plainly(lambda self, x: x + 1)
    finally:
        for tool in taken:
            assert MONITORING.get_tool(tool) == "another"
            MONITORING.free_tool_id(tool)


@needs_monitoring
def test_models_do_not_turn_events_on():
    """They would stay on after the call."""

    def forward(self, x):
        MONITORING.set_events(2, 0)
        return x + 1

    assert refused(forward) == "write-outlives-call"
