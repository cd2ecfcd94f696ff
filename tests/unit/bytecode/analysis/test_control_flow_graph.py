"""What joins, repeats and lives: on functions whose flow a reader sees, and against brute force."""

import inspect
import random

import pytest

from monograph.bytecode.analysis.control_flow_graph import EXIT, flow_of
from monograph.bytecode.decoding import decode


def one_branch(x):
    """Both sides set y."""
    if x:
        y = 1
        x += 1
    else:
        y = 2
    return y + x


def early_return(x):
    """One side returns."""
    if x:
        return 1
    return 2


def raises(x):
    """One side raises."""
    if x:
        raise ValueError
    return x


def loop(n):
    """A loop with a branch in it."""
    total = 0
    while n:
        if n % 2:
            total += n
        n -= 1
    return total


def nested(rows):
    """A loop in a loop, left early."""
    found = []
    for row in rows:
        for each in row:
            if each:
                break
            found.append(each)
    return found


def guarded(x):
    """A handler reads a parameter."""
    try:
        y = 1 / x
    except ZeroDivisionError:
        y = x
    return y


def with_cell(x):
    """An inner function reads a variable."""

    def inner():
        return x

    x = x + 1
    return inner


EVERY = (one_branch, early_return, raises, loop, nested, guarded, with_cell, inspect.signature)


def index_of(function, name, nth=0):
    """The nth instruction of a name."""
    found = [i for i, each in enumerate(decode(function.__code__).body) if each.name == name]
    return found[nth]


def conditions(function):
    """The conditional jumps."""
    body = decode(function.__code__).body
    return [i for i, each in enumerate(body) if each.name.startswith("POP_JUMP_IF")]


def test_both_sides_of_a_condition_join_where_the_name_is_read():
    """An `if` with an `else` joins after both."""
    body = decode(one_branch.__code__).body
    (condition,) = conditions(one_branch)
    join = flow_of(one_branch.__code__).joins[condition]
    assert join == EXIT or body[join].name == "LOAD_FAST"


def test_an_early_return_joins_in_the_return():
    """Nothing but the return is common to both ways."""
    (condition,) = conditions(early_return)
    assert flow_of(early_return.__code__).joins[condition] == EXIT


def test_a_way_that_raises_is_no_way():
    """So the join is the first instruction of the other way."""
    (condition,) = conditions(raises)
    join = flow_of(raises.__code__).joins[condition]
    assert join != EXIT
    assert decode(raises.__code__).body[join].name == "LOAD_FAST"


def test_a_loop_is_found_with_the_condition_in_it():
    """And without what comes before and after it."""
    flow = flow_of(loop.__code__)
    found = flow.loop(index_of(loop, "BINARY_OP"))
    assert found is not None
    assert flow.loop(0) is None
    assert index_of(loop, "RETURN_VALUE") not in found.body


def test_inner_loops_come_first():
    """The innermost loop is found first."""
    flow = flow_of(nested.__code__)
    inner, outer = flow.loops
    assert inner.body < outer.body
    assert flow.loop(inner.header) is inner


def test_a_variable_that_is_set_on_both_sides_does_not_live_before():
    """But a parameter that is read does."""
    code = one_branch.__code__
    flow = flow_of(code)
    y = code.co_varnames.index("y")
    assert not flow.live[0] >> y & 1
    assert flow.live[0] & 1  # x is read
    assert flow.live[index_of(one_branch, "BINARY_OP", 1) - 2] >> y & 1


def test_what_a_handler_reads_lives_where_it_covers():
    """An exception may lead there from anywhere in the block."""
    code = guarded.__code__
    flow = flow_of(code)
    assert flow.live[index_of(guarded, "BINARY_OP")] & 1


def test_a_cell_lives_everywhere():
    """An inner function may read it at any time."""
    code = with_cell.__code__
    assert all(each & 1 for each in flow_of(code).live)


@pytest.mark.parametrize("function", EVERY, ids=lambda each: each.__name__)
def test_joins_are_what_removing_them_shows(function):
    """The join of i is passed by every way from i to a return, and nothing nearer is."""
    flow = flow_of(function.__code__)
    for index, join in enumerate(flow.joins):
        if not reaches_exit(flow, index, without=None):
            assert join == index
            continue
        passed = {
            each
            for each in reachable(flow, index)
            if each != index and not reaches_exit(flow, index, without=each)
        }
        if join == EXIT:
            assert not passed
        else:
            assert join in passed
            assert all(each == join or each not in between(flow, index, join) for each in passed)


@pytest.mark.parametrize("function", EVERY, ids=lambda each: each.__name__)
def test_what_does_not_live_is_not_read(function):
    """Random ways through the code read a slot only where it lived since its last write."""
    body, flow = decode(function.__code__).body, flow_of(function.__code__)
    draw = random.Random(3)
    for _ in range(200):
        index, fresh = 0, {}
        while index != EXIT:
            name, argument, _ = body[index]
            if name == "LOAD_FAST":
                for earlier in fresh.get(argument, []):
                    assert flow.live[earlier] >> argument & 1
            if name == "STORE_FAST":
                fresh[argument] = []
            for slot, seen in fresh.items():
                if slot != argument or name != "STORE_FAST":
                    seen.append(index)
            if not flow.successors[index]:
                break
            index = draw.choice(flow.successors[index])


def reachable(flow, start, without=None):
    """Every instruction on some way from here, with one taken away."""
    found, waiting = set(), [start]
    while waiting:
        index = waiting.pop()
        if index in found or index in (EXIT, without):
            continue
        found.add(index)
        waiting.extend(flow.successors[index])
    return found


def reaches_exit(flow, start, without):
    """Whether some way leads to a return."""
    return any(EXIT in flow.successors[each] for each in reachable(flow, start, without))


def between(flow, start, end):
    """What lies on ways from start to the first arrival at end, start left out."""
    return {each for each in reachable(flow, start, without=end) if each != start} & {
        each for each in reachable(flow, start) if end in reachable(flow, each)
    }
