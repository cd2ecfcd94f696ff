"""Stretches of code are looked at without being run, as far as that has no effect."""

import builtins
import operator

import pytest

from monograph.bytecode.branches.pure_evaluation import Standpoint, Unsure, result_of, sides, walk
from monograph.bytecode.linking import link

LIMIT = 3
OPERATORS = {"+": operator.add, "<": operator.lt, "==": operator.eq, ">": operator.gt}


class Plain:
    """Numbers, and tuples of them."""

    def truth(self, value):
        """As Python has it."""
        if not isinstance(value, int | None | tuple):
            raise Unsure
        return bool(value)

    def operate(self, symbol, left, right):
        """As Python has it."""
        return OPERATORS[symbol](left, right)

    def attribute(self, owner, name):
        """Nothing has any."""
        raise Unsure

    def item(self, owner, key):
        """As Python has it."""
        return owner[key]

    def call(self, callee, args):
        """Nothing can be called."""
        raise Unsure

    def formatted(self, value, conversion, spec):
        """As Python has it."""
        return format(repr(value) if conversion == "r" else value, spec)


def twice(n):
    """What a function may call."""
    return n + n if n > LIMIT else 0


def asks(n, pair):
    """Branches, calls, a loop without end, and an effect."""
    if n > 1 and pair[0] == 0:
        n = n + 1
    m = twice(n)
    if m:
        m = print
    while n:
        n = n + 1
    return m


def first_branch(**variables):
    """Both sides of the first branch of `asks`."""
    body = link(asks.__code__)
    offset = body.offsets[next(i for i, name in enumerate(body.names) if "POP_JUMP" in name)]
    start = Standpoint(asks.__code__, 0, variables, globals(), vars(builtins))
    return sides(start, offset, None), offset


def test_a_walk_comes_by_places_with_their_variables():
    """The condition's two sides meet where `m` is computed, with what became of `n`."""
    ways, _ = first_branch(n=2, pair=(0, 1))
    yes, no = ([*walk(ways[side], Plain())] for side in (True, False))
    assert no[0].variables == {"n": 2, "pair": (0, 1)}
    met = next(point for point in yes if point.ip == no[0].ip)
    assert met.variables == {"n": 3, "pair": (0, 1)}
    assert met.stack == []
    assert ways[True].variables == {"n": 2, "pair": (0, 1)}


def test_a_walk_ends_where_nobody_can_tell():
    """Neither a loop without end nor a value without meaning is followed for ever."""
    ways, _ = first_branch(n=2, pair=(0, 1))
    assert len([*walk(ways[True], Plain())]) <= 201
    ways, _ = first_branch(n=2, pair=None)
    assert len([*walk(ways[True], Plain())]) < 5


def test_a_call_is_followed():
    """By the globals of the function called."""
    ways, _ = first_branch(n=5, pair=(1, 1))
    assert {point.variables.get("m") for point in walk(ways[False], Plain())} >= {10}


def test_only_branches_have_sides():
    """Any other instruction has one way on."""
    _, offset = first_branch()
    start = Standpoint(asks.__code__, 0, {}, {}, {})
    assert sides(start, offset, None) is not None
    assert sides(start, 0, None) is None
    assert sides(start, offset + 1, None) is None


@pytest.mark.parametrize("kept", [True, False])
def test_what_stays_on_the_stack(kept):
    """`a or b` leaves the condition where it jumps, and not where it does not."""

    def either(a, b):
        return a or b

    body = link(either.__code__)
    at = body.names.index("JUMP_IF_TRUE_OR_POP")
    start = Standpoint(either.__code__, 0, {"a": 1, "b": 2}, {}, {})
    ways = sides(start, body.offsets[at], "condition")
    assert ways[kept].stack == (["condition"] if kept else [])


def test_the_result_of_a_function_with_variables_around_it():
    """Closures, f-strings of every form, and calls of other functions are followed."""
    n, words = 4, "four"
    assert result_of(lambda: f"{n:>3}|{words!r}|{twice(n)}", Plain()) == "  4|'four'|8"
    with pytest.raises(Unsure):
        result_of(lambda: f"{sorted([n])}", Plain())


def test_a_variable_without_a_value_is_not_read():
    """Whether it has one when the function is called, nobody knows."""

    def reads():
        return late

    with pytest.raises(Unsure):
        result_of(reads, Plain())
    late = 1
    assert result_of(reads, Plain()) == late
