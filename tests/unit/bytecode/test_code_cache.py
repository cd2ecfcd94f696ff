"""Memoisation per code object."""

from __future__ import annotations

import gc
import weakref

from monograph.bytecode import interpret
from monograph.bytecode.analysis.control_flow_graph import EXIT, flow_of
from monograph.bytecode.analysis.join_points import join_point
from monograph.bytecode.analysis.reaching_definitions import assignments
from monograph.bytecode.code_cache import once_per_code
from monograph.bytecode.linking import link

SOURCE = """
def made(n):
    if n > 3:
        y = 1
    else:
        y = 2
    return y
"""


def _fresh():
    scope = {}
    exec(SOURCE, scope)
    return scope["made"]


def test_equal_codes_are_told_apart_and_each_is_asked_about_once():
    """The identity of a code object is the key."""
    asked = []
    answer = once_per_code(lambda code: asked.append(id(code)) or [])
    one, other = _fresh().__code__, _fresh().__code__
    assert one == other
    assert answer(one) is answer(one)
    assert answer(one) is not answer(other)
    assert asked == [id(one), id(other)]


def test_what_was_found_out_of_code_keeps_none_alive():
    """Nothing that is remembered of a code object holds it."""
    alive = []
    for _ in range(60):
        function = _fresh()
        code = function.__code__
        flow = flow_of(code)
        jump = next(index for index, ways in enumerate(flow.successors) if len(ways) > 1)
        start = flow.successors[jump][0]
        join_point(flow, jump)
        link(code)
        assignments(code, "y", flow.joins[jump], start, jump)
        assignments(code, "", EXIT, start, jump)
        assert interpret(function, 4) == 1
        alive.append(weakref.ref(code))
        del function, code, flow
    gc.collect()
    assert not [reference for reference in alive if reference() is not None]
