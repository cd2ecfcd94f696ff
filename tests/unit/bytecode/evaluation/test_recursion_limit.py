"""Room for the frames of Python functions."""

from __future__ import annotations

import sys
import threading

import pytest

from monograph.bytecode import interpret
from monograph.bytecode.evaluation.recursion_limit import with_room


def _at_depth(depth, function):
    return function() if depth == 0 else _at_depth(depth - 1, function)


def test_the_result_comes_back_and_so_does_what_is_raised():
    """What a call gives and raises is not touched."""
    assert with_room(lambda: 7) == 7
    with pytest.raises(KeyError, match="gone"):
        with_room(lambda: {}["gone"])


def test_the_frame_claims_most_of_half_a_mebibyte_and_frames_above_it_share_the_rest():
    """CPython rounds chunks up to powers of two, so a bit over a half leaves a bit under a half."""
    claimed = 8 * with_room.__code__.co_stacksize
    chunk = 512 * 1024
    assert chunk // 2 < claimed < 0.55 * chunk
    size = 8 * (_at_depth.__code__.co_stacksize + _at_depth.__code__.co_nlocals + 12)
    deepest = (chunk - claimed) // size - 10
    assert deepest > 500
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(deepest + 1000)
    try:
        assert with_room(lambda: _at_depth(deepest, lambda: "up")) == "up"
    finally:
        sys.setrecursionlimit(limit)


def test_no_other_thread_sees_the_room_that_interpreted_code_has():
    """Neither what it asks for its limit nor how deep its own calls may go changes."""
    before = sys.getrecursionlimit()
    seen = []
    answers = threading.Barrier(2, timeout=20)

    def other():
        answers.wait()
        seen.append(sys.getrecursionlimit())
        with pytest.raises(RecursionError):
            _at_depth(before + 50, lambda: "too deep")
        seen.append("refused")
        answers.wait()

    def program():
        answers.wait()
        answers.wait()
        return sys.getrecursionlimit(), _at_depth(before - 200, lambda: "deep")

    thread = threading.Thread(target=other)
    thread.start()
    assert interpret(program) == (before, "deep")
    thread.join()
    assert seen == [before, "refused"]
    assert sys.getrecursionlimit() == before


def test_a_limit_that_interpreted_code_sets_is_that_of_its_own_calls():
    """It goes on with the limit that it has set, which stays when it is over."""
    before = sys.getrecursionlimit()

    def program():
        sys.setrecursionlimit(before + 500)
        return _at_depth(before + 200, lambda: "deeper")

    try:
        assert interpret(program) == "deeper"
        assert sys.getrecursionlimit() == before + 500
    finally:
        sys.setrecursionlimit(before)
    with pytest.raises(RecursionError):
        _at_depth(before + 200, lambda: "too deep")


def test_a_limit_below_the_native_depth_is_set():
    """Interpreted calls are counted as the program's, not as ours: 20 of them are under 60."""
    before = sys.getrecursionlimit()

    def program():
        sys.setrecursionlimit(60)
        try:
            return _at_depth(5, lambda: "up")
        finally:
            sys.setrecursionlimit(before)

    assert interpret(lambda: _at_depth(20, program)) == "up"
    assert sys.getrecursionlimit() == before
