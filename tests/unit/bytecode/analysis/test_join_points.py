"""Where ways meet that do not leave for good: on functions whose flow a reader sees."""

import sys
from random import Random

import pytest

from monograph.bytecode.analysis.control_flow_graph import EXIT, flow_of
from monograph.bytecode.analysis.join_points import join_point, later_joins, nearer
from monograph.bytecode.decoding import RUNNING, decode
from monograph.bytecode.evaluation.frame import line_of


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
            here = join_point(flow, index)
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
        # From 3.14 on there is a jump for the `continue`.
        (until, 3, 4 if RUNNING >= (3, 14) else 2, []),
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
    behind = flow.joins[loop.header]
    assert nearer(flow, loop.header, behind) == nearer(flow, behind, loop.header) == loop.header
    assert nearer(flow, 0, loop.header) == 0
    assert nearer(flow, EXIT, behind) == behind


def reached(flow, starts, avoiding=None):
    """The instructions that one comes to from some, without one."""
    found = set(starts) - {avoiding}
    waiting = list(found)
    while waiting:
        new = {way for way in flow.successors[waiting.pop()] if way not in {EXIT, avoiding}} - found
        found |= new
        waiting += new
    return found


def pieces(random, depth):
    """Lines of a program that returns here and there."""
    found = []
    for _ in range(random.randint(1, 3)):
        inner = [f"    {line}" for line in pieces(random, depth - 1)] if depth else []
        kind, line = random.random(), random.randrange(1000)
        if not depth or kind < 0.3:
            found.append(f"y = {line}")
        elif kind < 0.6:
            found += [f"if a[{line}]:", *inner]
        elif kind < 0.7:
            found += [f"if a[{line}]:", *inner, "else:", "    return y"]
        elif kind < 0.8:
            found += [f"while b[{line}]:", *inner]
        else:
            found += [f"if b[{line}]:", f"    return {line}"]
    return found


@pytest.mark.parametrize("seed", range(60))
def test_no_other_way_returns_where_the_meeting_leads(seed):
    """Of random programs: both ways lead there, and who passes it by returns elsewhere."""
    body = "\n".join(f"    {line}" for line in pieces(Random(seed), 4))
    names = {}
    exec(f"def function(a, b):\n    y = 0\n{body}\n    return y", names)
    flow = flow_of(names["function"].__code__)
    for index, ways in enumerate(flow.successors):
        place = join_point(flow, index).place
        if len(ways) < 2 or place == EXIT or any(index in loop.body for loop in flow.loops):
            continue
        assert all(place in reached(flow, [way]) for way in ways)
        before = reached(flow, [way for way in ways if way != place], place)
        both = before & reached(flow, [place])
        assert not any(EXIT in flow.successors[each] for each in both)


def test_meetings_of_a_chain_are_found_at_the_cost_of_its_length():
    """Each is looked for no further than it is away."""
    text = (
        "    if a[{i}]:\n        if b[{i}]:\n            return {i}\n        y = {i}\n    z = {i}\n"
    )
    costs = []
    for n in (10, 20, 40):
        names = {}
        exec("def function(a, b):\n" + "".join(text.format(i=i) for i in range(n)), names)
        flow, found = flow_of(names["function"].__code__), []
        before = sys.getprofile()
        sys.setprofile(lambda *_, found=found: found.append(1))
        try:
            for index, ways in enumerate(flow.successors):
                if len(ways) > 1:
                    join_point(flow, index)
        finally:
            sys.setprofile(before)
        costs.append(len(found))
    assert costs[2] - costs[1] <= 2.2 * (costs[1] - costs[0])
