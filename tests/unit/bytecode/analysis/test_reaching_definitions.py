"""The last assignments on a way are found, whatever stands between."""

import pytest

from monograph.bytecode.analysis.control_flow_graph import flow_of
from monograph.bytecode.analysis.reaching_definitions import assignments
from monograph.bytecode.decoding import decode
from monograph.bytecode.evaluation.frame import line_of


def both(x):
    """Each side assigns, one of them twice."""
    y = 0
    if x:
        y = 1
        y = 2
    else:
        y = 3
    return y


def one(x):
    """One side assigns."""
    y = 0
    if x:
        y = 1
    return y


def nested(x):
    """One of two inner ways assigns, so that there are two."""
    y = 0
    if x:
        if x > 1:
            y = 1
    else:
        y = 2
    return y


def given(x, y):
    """One side leaves the parameter."""
    if x:
        y = 1
    return y


def looped(x):
    """A round of a loop assigns."""
    y = 0
    if x:
        for i in range(x):
            y = i
    return y


def cells(x):
    """What an inner function reads lies in a cell."""
    y = 0
    if x:
        y = 1
    return lambda: y


@pytest.mark.parametrize(
    ("function", "if_true", "if_false"),
    [
        (both, [5], [7]),
        (one, [4], [2]),
        (nested, [2, 5], [7]),
        (given, [3], []),
        (looped, [2, 5], [2]),
        (cells, [4], [2]),
    ],
    ids=lambda each: getattr(each, "__name__", None),
)
def test_lines_of_either_side(function, if_true, if_false):
    """Counted from the line of `def`."""
    code, flow = function.__code__, flow_of(function.__code__)
    steps = decode(code).body
    jump = next(i for i, step in enumerate(steps) if step.name.startswith("POP_JUMP_IF"))
    for start, lines in zip((jump + 1, steps[jump].argument), (if_true, if_false), strict=True):
        found = assignments(code, "y", flow.joins[jump], start, jump)
        assert [line_of(code, each) - code.co_firstlineno for each in found] == lines
