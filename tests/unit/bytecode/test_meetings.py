"""Where ways meet that do not leave for good: on functions whose flow a reader sees."""

import pytest

from monograph.bytecode.decoding import decode
from monograph.bytecode.flow import EXIT, flow_of
from monograph.bytecode.frame import line_of
from monograph.bytecode.meetings import later_joins, meeting, nearer


def nested_return(a, b, x):
    """One way leaves."""
    if a:
        x += 1
        if b:
            return 1
    x += 2
    return -x


def either(a, b, c):
    """Two ways lead to the same return."""
    if (a and b) or c:
        return 1
    a = b + 2
    a += 3
    return -a


def in_loop(a, b, rows):
    """One way leaves the loop."""
    for _ in rows:
        if a:
            b += 1
            if b:
                break
        a = 2
    return a


def until(a, b, x):
    """One way goes on to the next round."""
    while x:
        if a:
            continue
        x = b
    return x


def raises(a, b):
    """One way raises."""
    if a:
        raise ValueError
    return b


def both_return(a):
    """Neither way stays."""
    if a:
        return 1
    return 2


def met(function):
    """For each conditional jump, by line: where its ways meet, and where those go that leave."""
    code = function.__code__
    flow, body = flow_of(code), decode(code).body

    def line(index):
        return EXIT if index == EXIT else line_of(code, body[index].offset) - code.co_firstlineno

    found = {}
    for index, ways in enumerate(flow.successors):
        if len(ways) > 1:
            here = meeting(flow, index)
            found.setdefault(line(index), []).append(
                (line(here.place), sorted(map(line, here.outs)))
            )
    return found


@pytest.mark.parametrize(
    ("function", "line", "place", "outs"),
    [
        (nested_return, 2, 6, []),
        (nested_return, 4, EXIT, []),
        (either, 2, 4, []),
        (in_loop, 3, 7, [8]),
        (in_loop, 5, 8, []),
        (until, 3, 2, []),
        (raises, 2, 4, []),
        (both_return, 2, EXIT, []),
    ],
)
def test_ways_meet_where_all_come_that_stay(function, line, place, outs):
    """A `return`, and a `break` in a loop, is no way to where the others meet."""
    assert met(function)[line][0] == (place, outs)


def test_ways_that_are_kept_apart_join_at_later_conditions():
    """Behind the next `if`, and in returning."""

    def function(a, b):
        x = a
        if b:
            x = 2
        return x

    flow = flow_of(function.__code__)
    (jump,) = (index for index, ways in enumerate(flow.successors) if len(ways) > 1)
    assert later_joins(flow, 0, 4) == [flow.joins[jump], EXIT]


def test_the_nearer_of_two_places():
    """What leads to the other, or lies in the inner loop; of none and a return, the place."""
    flow = flow_of(in_loop.__code__)
    loop = flow.loops[0]
    behind = next(n for n in range(len(flow.same)) if n > max(loop.body))
    assert nearer(flow, loop.header, behind) == nearer(flow, behind, loop.header) == loop.header
    assert nearer(flow, 0, loop.header) == 0
    assert nearer(flow, EXIT, behind) == behind
