"""Memoisation per code object."""

from __future__ import annotations

import gc
import weakref

import pytest

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


def _collects_where_no_call_is_possible():
    try:
        _collects_where_no_call_is_possible()
    except RecursionError:
        gc.collect()  # nor can a weak reference tell anybody
        raise


def test_code_that_goes_unheard_is_not_taken_for_its_successor():
    """In its place in memory, which a collection at the limit of recursion has freed."""
    names = once_per_code(lambda code: code.co_varnames)

    def functions(letter, count):
        scopes = [{} for _ in range(count)]
        for n, scope in enumerate(scopes):
            exec(f"def made({letter}{n}): pass", scope)  # in a cycle with its globals
        return [scope["made"] for scope in scopes]

    gc.disable()
    try:
        before = functions("a", 100)
        places = {id(each.__code__) for each in before}
        assert all(names(each.__code__) for each in before)
        before.clear()
        with pytest.raises(RecursionError):
            _collects_where_no_call_is_possible()
        after = functions("b", 1000)
    finally:
        gc.enable()
    assert places & {id(each.__code__) for each in after}
    assert all(names(each.__code__) == each.__code__.co_varnames for each in after)
