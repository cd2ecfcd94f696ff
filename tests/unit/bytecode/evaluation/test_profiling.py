"""Profilers in C list interpreted functions, and messages do not show what stands in for them."""

import cProfile
import pstats
import sys
import traceback

import pytest

from monograph.bytecode import interpret
from monograph.diagnostics import user_frames


def leaf(k):
    """Do next to nothing."""
    return k


def places(k):
    """Where messages would say this is."""
    return [frame.code.co_name for frame in user_frames(stop=measured.__code__)], leaf(k)


def program(n):
    """Call."""
    return [places(k) for k in range(n)]


def fails(k):
    """Raise."""
    return k // 0


def measured(function, *args):
    """What a run returns, and how often each function of this file was called."""
    profile = cProfile.Profile()
    result = profile.runcall(interpret, function, *args)
    stats = pstats.Stats(profile).stats
    return result, {name: n for (file, _, name), (_, n, *_) in stats.items() if file == __file__}


def test_functions_are_listed_with_their_calls():
    """By file and name, once for each call of the program."""
    _, calls = measured(program, 5)
    assert calls["leaf"] == calls["places"] == 5
    assert calls["program"] == 1


def test_places_are_those_without_a_profiler():
    """What stands in for a frame is no frame of the user's."""
    found, _ = measured(program, 1)
    inlined = sys.version_info >= (3, 12)  # comprehensions have no frames of their own then
    between = [] if inlined else ["<listcomp>"]
    assert found[0][0][: 2 + len(between)] == ["places", *between, "program"]
    assert found[0][0].count("places") == 1


def test_tracebacks_are_those_without_a_profiler():
    """Nor is it an entry of tracebacks."""
    with pytest.raises(ZeroDivisionError) as caught:
        measured(fails, 1)
    names = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert names.count("fails") == 1
