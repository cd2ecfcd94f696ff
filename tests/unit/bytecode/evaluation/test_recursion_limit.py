"""Room for the frames of Python functions."""

from __future__ import annotations

import sys

import pytest

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
