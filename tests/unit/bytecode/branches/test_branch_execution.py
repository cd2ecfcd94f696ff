"""Both ways of a condition are gone, and what they leave meets: compared with running each alone.

The domain is a toy: a condition nobody knows is an `Unknown`; where its two ways leave different
values, the variable holds a `Choice` between them, which computes with both.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from monograph.bytecode import Hooks, Interpreter, ours
from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_execution import finish, move, run_to
from monograph.bytecode.branches.branch_targets import ways
from monograph.bytecode.branches.frame_copies import stand_alike


@ours
@dataclass(frozen=True)
class Unknown:
    """A condition whose truth is said later."""

    name: str


@ours
@dataclass(frozen=True)
class Choice:
    """One of two values, by a condition."""

    by: Unknown
    yes: Any
    no: Any

    def __add__(self, other):
        return Choice(self.by, self.yes + other, self.no + other)

    __radd__ = __add__


def told(value: Any, answers: dict[str, bool]) -> Any:
    """The value that is meant once all conditions are known."""
    if isinstance(value, Choice):
        return told(value.yes if answers[value.by.name] else value.no, answers)
    if isinstance(value, Unknown):
        return answers[value.name]
    if isinstance(value, tuple | list):
        return type(value)(told(each, answers) for each in value)
    return value


class BothWays(Hooks):
    """Goes both ways at every Unknown."""

    def fork(self, frame, value):
        if not isinstance(value, Unknown):
            return NotImplemented
        found = ways(frame)
        assert found.join is not None
        ends = [run_to(frame, found, answer) for answer in (True, False)]
        if {end.kind for end in ends} == {"joined", "returned"}:
            found = replace(found, join=EXIT)
            ends = [run_to(frame, found, answer) for answer in (True, False)]
        raised = [end for end in ends if end.kind == "raised"]
        if raised:
            raise raised[0].value
        if found.join == EXIT:
            return finish(frame, merged(value, ends[0].value, ends[1].value))
        yes, no = (end.frame for end in ends)
        assert len(yes.stack) == len(no.stack)
        return move(
            frame,
            found.join,
            [merged(value, *pair) for pair in zip(yes.stack, no.stack, strict=True)],
            [merged(value, *pair) for pair in zip(yes.slots, no.slots, strict=True)],
        )


def merged(by: Unknown, yes: Any, no: Any) -> Any:
    """One value for two, where that is enough."""
    return yes if stand_alike(yes, no) else Choice(by, yes, no)


def if_else(p, q, n):
    """Both sides set."""
    if p:
        x = n + 1
    else:
        x = n + 2
        x = x + 1
    return x


def expression(p, q, n):
    """A conditional expression leaves its value on the stack."""
    return (n + 1 if p else n + 2) + 10


def either(p, q, n):
    """`and`, `or` keep what decided."""
    return (p and n, p or n, q and p)


def nested(p, q, n):
    """An `if` in an `if`, joining at once."""
    x = n
    if p:
        x = n + 1
        if q:
            x = n + 2
    return x


def returns_early(p, q, n):
    """Guard clauses."""
    if p:
        return n
    if q:
        return n + 1
    return n + 2


def in_a_loop(p, q, n):
    """A condition in every round of a loop whose end is known."""
    total = 0
    for i in range(3):
        if p:
            total = total + i
        else:
            total = total + 1
            total = total + i
    return total


def leaves_a_loop(p, q, n):
    """`break` leaves the rest of the rounds out."""
    total = n
    for _ in range(3):
        total = total + 1
        if p:
            break
    else:
        total = total + 100
    return total


def goes_on(p, q, n):
    """`continue`."""
    total = n
    for i in (1, 2):
        if p:
            continue
        total = total + i
    return total


def in_a_function(p, q, n):
    """The condition is asked in a function that is called."""

    def pick(a, b):
        if q:
            return a
        return b

    return pick(n, n + 1) + 1


def with_iterators(p, q, n):
    """Each way advances iterators of its own."""
    rest = iter((1, 2, 3))
    x = next(rest) + 1 if p else next(rest)
    return x + next(rest)


def in_a_try(p, q, n):
    """An exception that a way catches itself stays in it."""
    x = 0
    try:
        x = 1 if p else [][n]
    except IndexError:
        x = 2
    return x + n


def not_taken(p, q, n):
    """A way that does nothing."""
    x = n
    if p:
        pass
    return x


PROGRAMS: tuple[Callable[..., Any], ...] = (
    *(if_else, expression, either, nested, returns_early, in_a_loop, leaves_a_loop, goes_on),
    *(in_a_function, with_iterators, not_taken, in_a_try),
)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda each: each.__name__)
def test_both_ways_at_once_are_each_way_alone(program):
    """For every answer, the one run means what the answered run gives."""
    result = Interpreter(BothWays()).call(program, Unknown("p"), Unknown("q"), 5)
    for p, q in itertools.product((True, False), repeat=2):
        assert told(result, {"p": p, "q": q}) == program(p, q, 5)


def test_an_exception_of_one_way_is_handed_over():
    """The watcher decides what becomes of it."""

    def fails(p, q, n):
        if p:
            raise ValueError(n)
        return n

    with pytest.raises(ValueError, match="5"):
        Interpreter(BothWays()).call(fails, Unknown("p"), Unknown("q"), 5)


def test_the_frame_that_forks_is_left_as_it_was_by_its_copies():
    """Until the watcher moves it."""
    seen = []

    class Looks(BothWays):
        def fork(self, frame, value):
            if isinstance(value, Unknown):
                before = (list(frame.stack), list(frame.slots), frame.ip)
                for answer in (True, False):
                    run_to(frame, ways(frame), answer)
                seen.append((list(frame.stack), list(frame.slots), frame.ip) == before)
            return super().fork(frame, value)

    Interpreter(Looks()).call(nested, Unknown("p"), Unknown("q"), 5)
    assert seen
    assert all(seen)
