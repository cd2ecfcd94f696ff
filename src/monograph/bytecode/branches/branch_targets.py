"""Branch targets: where a conditional jump leads, and the join point of its two sides.

Read off the control-flow graph, for the copy of a frame that stands in the jump.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from monograph.bytecode.analysis.control_flow_graph import EXIT, flow_of
from monograph.bytecode.analysis.join_points import join_point, later_joins, nearer
from monograph.bytecode.evaluation.tracing import plain_steps
from monograph.bytecode.instructions import JUMPS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from types import CodeType

    from monograph.bytecode.analysis.control_flow_graph import Loop
    from monograph.bytecode.evaluation.frame import InterpreterFrame

__all__ = [
    "Leaving",
    "LoopTest",
    "Ways",
    "condition_of",
    "early",
    "exits",
    "for_test",
    "iterates_next",
    "later",
    "leading_back",
    "live_at",
    "loop_test",
    "near",
    "never_returns",
    "onwards",
    "same_loop",
    "until_round_ends",
    "ways",
]


@dataclass(frozen=True, slots=True)
class Ways:
    """The two ways on from a conditional jump, as indexes of instructions.

    `join` is where they meet again: EXIT if only in returning, None if one of them never returns
    by itself. `keeps_if` is the answer with which the condition's value stays on the stack, or
    None. `live` has a bit for each slot that is read after the join.

    In one round of a loop (`within`), ways that meet only outside of it join at its test, where the
    answer of the next round stands on the stack. At `outs` ways stop too that leave a loop before
    they join.
    """

    if_true: int
    if_false: int
    join: int | None
    keeps_if: bool | None
    live: int
    within: LoopTest | None = None
    outs: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Leaving:
    """A way that leaves for a place behind where a frame stands: taken instead, if `flag` says so.

    `state` is what the frame holds there, its stack first; of a return (EXIT), its value alone.
    `context` is what is in force there.
    """

    place: int
    flag: Any
    state: tuple[Any, ...]
    context: Any
    n_stack: int = 0


@dataclass(frozen=True, slots=True)
class LoopTest:
    """What decides whether a loop goes on: if the answer is `stays_if`, at `start`, else at `out`.

    `tests` are the instructions that count as the jump that decides it, `outs` those that count as
    `out`. `live` has a bit for each slot that is read after a test.
    """

    stays_if: bool
    start: int
    out: int
    tests: frozenset[int]
    outs: frozenset[int]
    live: int


def condition_of(frame: InterpreterFrame) -> tuple[CodeType, int]:
    """The condition in whose jump the frame stands: its code, and where in it."""
    return frame.code, flow_of(frame.code).same[frame.ip - 1]


def same_loop(one: tuple[CodeType, int], other: tuple[CodeType, int]) -> bool:
    """Whether two conditions are of one loop, and of none within it."""
    flow = flow_of(one[0])
    return one[0] is other[0] and flow.loop(one[1]) is flow.loop(other[1])


def ways(frame: InterpreterFrame) -> Ways:
    """Where the conditional jump leads that the frame stands in."""
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    join: int | None = flow.joins[index]
    if join == index:
        join = None
    live = 0 if join is None or join == EXIT else flow.live[join]
    found = _ways(frame, frame.ip - 1, join, live)
    test = _round_that_runs(frame, index)
    loop = flow.loop(index)
    if test is None or (loop is not None and join in loop.body):
        return found
    return replace(found, join=min(test.tests), live=test.live, within=test)


def never_returns(frame: InterpreterFrame, found: Ways, answer: bool) -> bool:  # noqa: FBT001  (it is the answer)
    """Whether every way on with this answer raises, and nothing on it catches anything."""
    return _only_raises(
        frame, flow_of(frame.code).same[found.if_true if answer else found.if_false]
    )


def _only_raises(frame: InterpreterFrame, index: int) -> bool:
    flow = flow_of(frame.code)
    onwards = flow.leads[index] | 1 << index
    handlers = enumerate(frame.body.handlers)
    return flow.joins[index] == index and not any(
        handler is not None and onwards >> at & 1 for at, handler in handlers
    )


def early(frame: InterpreterFrame, found: Ways) -> Ways:
    """The same ways, joined where those meet that leave neither the function nor a loop."""
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    if found.join is None:
        return found
    met = join_point(flow, index)
    if met.place == EXIT or (found.within is not None and not met.outs):
        return found
    outs = frozenset(each for out in met.outs for each in flow.alike(out))
    return replace(found, join=met.place, live=flow.live[met.place], within=None, outs=outs)


def until_round_ends(frame: InterpreterFrame, found: Ways) -> Ways:
    """The same ways, joined in returning, or at the test of the innermost round that runs."""
    if found.within is not None:
        return found
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    for loop in flow.loops:
        test = _test_that_runs(frame, loop) if index in loop.body else None
        if test is not None:
            return replace(found, join=min(test.tests), live=test.live, within=test)
    return replace(found, join=EXIT, live=0, outs=frozenset())


def later(frame: InterpreterFrame, found: Ways, most: int) -> Iterator[Ways]:
    """The same ways, joined later and later: `most` of them, and in returning."""
    if found.join is None or found.join == EXIT or found.within is not None:
        return
    flow = flow_of(frame.code)
    for join in later_joins(flow, flow.same[found.join], most):
        yield replace(found, join=join, live=live_at(frame, join), outs=frozenset())


def onwards(frame: InterpreterFrame, leaving: Leaving) -> Ways:
    """The ways on from where a frame stands: to leave, if the answer is True, or to go on."""
    index = flow_of(frame.code).same[frame.ip]
    test = _round_that_runs(frame, index)
    if test is not None and leaving.place in test.outs:
        return Ways(0, 0, min(test.tests), None, test.live, test)
    return Ways(0, 0, leaving.place, None, live_at(frame, leaving.place))


def live_at(frame: InterpreterFrame, place: int) -> int:
    """A bit for each slot that is read from there on."""
    flow = flow_of(frame.code)
    return 0 if place == EXIT else flow.live[flow.same[place]]


def _ways(frame: InterpreterFrame, index: int, join: int | None, live: int) -> Ways:
    name, target = frame.body.names[index], _steps(frame)[index][1]
    assert name in JUMPS, f"{name} is no jump"
    on = index + 1
    if name == "POP_JUMP_IF_FALSE":
        return Ways(on, target, join, None, live)
    if name == "POP_JUMP_IF_TRUE":
        return Ways(target, on, join, None, live)
    if name == "JUMP_IF_FALSE_OR_POP":
        return Ways(on, target, join, False, live)
    assert name == "JUMP_IF_TRUE_OR_POP", f"{name} asks for no condition"
    return Ways(target, on, join, True, live)


def _steps(frame: InterpreterFrame) -> list[Any]:
    """The steps of the code, without stops."""
    return plain_steps(frame.interpreter.body(frame.code))


def iterates_next(frame: InterpreterFrame) -> bool:
    """Whether code goes over the result of the call that the frame stands in, and does no more."""
    return frame.body.names[frame.ip] == "GET_ITER"


def _round_that_runs(frame: InterpreterFrame, index: int) -> LoopTest | None:
    """The test of the innermost loop around an instruction, if this copy runs one round of it."""
    loop = flow_of(frame.code).loop(index)
    return None if loop is None else _test_that_runs(frame, loop)


def _test_that_runs(frame: InterpreterFrame, loop: Loop) -> LoopTest | None:
    """The test of a loop, if this copy runs one round of it."""
    if ~loop.header in frame.body.stops:
        return _for_test(frame, loop.header)
    tests = (_test_at(frame, loop, stop) for stop in frame.body.stops if stop in loop.body)
    return next((test for test in tests if test is not None), None)


def loop_test(frame: InterpreterFrame) -> LoopTest | None:
    """What the conditional jump that the frame stands in decides of a loop, if it does.

    A `for` is none: its iterator decides. Nor is a jump that leaves a round that runs.
    """
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    loop = flow.loop(index)
    if loop is None or frame.body.names[loop.header] == "FOR_ITER":
        return None
    if _round_that_runs(frame, index) is not None:
        return None
    return _test_at(frame, loop, index)


def for_test(frame: InterpreterFrame) -> LoopTest | None:
    """What the `for` that the frame stands in decides of its loop; its answer is on no stack."""
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    loop = flow.loop(index)
    if loop is None or loop.header != index:
        return None
    return _for_test(frame, index)


def _for_test(frame: InterpreterFrame, index: int) -> LoopTest:
    flow = flow_of(frame.code)
    out = _steps(frame)[index][1]
    return LoopTest(True, index + 1, out, flow.alike(index), flow.alike(out), flow.live[index])


def _test_at(frame: InterpreterFrame, loop: Loop, index: int) -> LoopTest | None:
    """What a jump in a loop, and in no inner one, decides of it."""
    flow = flow_of(frame.code)
    here = flow.successors[index]
    if flow.loop(index) is not loop or sum(way in loop.body for way in here) != 1:
        return None
    if not frame.body.names[index].startswith("POP_JUMP_IF_"):
        return None
    found = _ways(frame, index, None, 0)
    stays_if = flow.same[found.if_true] in loop.body
    start, out = (found.if_true, found.if_false) if stays_if else (found.if_false, found.if_true)
    if _only_raises(frame, flow.same[out]) and _left_at(frame, loop):
        return None  # an assertion: the loop ends by something else
    return LoopTest(stays_if, start, out, flow.alike(index), flow.alike(out), flow.live[index])


def exits(frame: InterpreterFrame) -> frozenset[int]:
    """The instructions at which the loop is left in whose test the frame stands."""
    flow = flow_of(frame.code)
    loop = flow.loop(flow.same[frame.ip - 1])
    ways = [flow.alike(way) for way in (() if loop is None else _left_at(frame, loop))]
    return frozenset[int]().union(*ways)


def leading_back(frame: InterpreterFrame, places: Iterable[int]) -> frozenset[int]:
    """Of these places behind a loop, those from where a loop around it comes to its test again."""
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    return frozenset(each for each in places if flow.leads[flow.same[each]] >> index & 1)


def _left_at(frame: InterpreterFrame, loop: Loop) -> list[int]:
    flow = flow_of(frame.code)
    found = {way for each in loop.body for way in flow.successors[each]}.difference(loop.body)
    return [way for way in found if way != EXIT and not _only_raises(frame, way)]


def near(frame: InterpreterFrame, found: Ways, places: Sequence[int]) -> int:
    """Of the places where both ways ended, the one that comes first."""
    place = nearer(flow_of(frame.code), *places)
    if place is not None:
        return place
    return found.join if found.join is not None and found.join in places else min(places)
