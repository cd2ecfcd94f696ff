"""Going both ways at a condition: copies of a frame that run to where the ways join.

Asked what a condition means, a watcher may take the frame apart: `ways` says where either answer
leads and where both meet again; `run_to` runs a copy of the frame from one to the other. Then it
puts the frame at the join with a state of its own making (`move`), or ends it (`finish`), and hands
what these return to the interpreter as its answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from monograph.bytecode.analysis.control_flow_graph import EXIT, flow_of
from monograph.bytecode.analysis.join_points import later_joins, meeting, nearer
from monograph.bytecode.evaluation.frame import RETURN, YIELD, Mark
from monograph.bytecode.evaluation.frame_copies import snapshot
from monograph.bytecode.evaluation.loop import run
from monograph.bytecode.instructions import JUMPS
from monograph.bytecode.semantics.operators import truth

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from monograph.bytecode.analysis.control_flow_graph import Loop
    from monograph.bytecode.evaluation.frame import Body, Frame

__all__ = [
    "MOVED",
    "End",
    "Leaving",
    "LoopTest",
    "Ways",
    "answered",
    "decide",
    "early",
    "finish",
    "for_test",
    "iterates_next",
    "later",
    "live_at",
    "loop_test",
    "move",
    "near",
    "never_returns",
    "onwards",
    "place_of",
    "run_iteration",
    "run_on",
    "run_round",
    "run_to",
    "signal_of",
    "ways",
]

MOVED: Final = Mark("moved")
"""The answer of a watcher that has put the frame elsewhere."""
_STOP: Final = Mark("stop")


def decide(frame: Frame, value: Any) -> bool | Mark:
    """Tell which way a conditional jump goes: True, False, or MOVED or RETURN by the watcher."""
    interpreter = frame.interpreter
    fork = interpreter.fork
    if fork is not None and type(value) not in _KNOWN:
        answer = fork(frame, value)
        if answer is not NotImplemented:
            return answer
    return truth(interpreter, value)


_KNOWN: Final = frozenset({bool, int, float, str, type(None), list, tuple, dict, set})


def signal_of(answer: object) -> Mark | None:
    """What a jump that was answered with a mark hands to the loop."""
    return None if answer is MOVED else RETURN


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
    """

    place: int
    flag: Any
    state: tuple[Any, ...]
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


@dataclass(frozen=True, slots=True)
class End:
    """How a copy of a frame ended: where the ways join, by returning, raising or yielding.

    By returning although the ways join, where it leaves early, or `elsewhere`: at `outs`, or where
    the run ends that this is a part of. `value` is what it returned or raised; `frame` has the
    state in which it stood, with what left before in its `leavings`.
    """

    kind: Literal["joined", "returned", "raised", "yielded", "elsewhere"]
    frame: Frame
    value: Any = None


# --- where ways lead ----------------------------------------------------------------------------


def ways(frame: Frame) -> Ways:
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


def never_returns(frame: Frame, found: Ways, answer: bool) -> bool:  # noqa: FBT001  (it is the answer)
    """Whether every way on with this answer raises."""
    flow = flow_of(frame.code)
    index = flow.same[found.if_true if answer else found.if_false]
    return flow.joins[index] == index


def early(frame: Frame, found: Ways) -> Ways:
    """The same ways, joined where those meet that leave neither the function nor a loop."""
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    if found.join is None:
        return found
    met = meeting(flow, index)
    if met.place == EXIT or (found.within is not None and not met.outs):
        return found
    outs = frozenset(each for out in met.outs for each in flow.alike(out))
    return replace(found, join=met.place, live=flow.live[met.place], within=None, outs=outs)


def later(frame: Frame, found: Ways, most: int) -> Iterator[Ways]:
    """The same ways, joined later and later: `most` of them, and in returning."""
    if found.join is None or found.join == EXIT or found.within is not None:
        return
    flow = flow_of(frame.code)
    for join in later_joins(flow, flow.same[found.join], most):
        yield replace(found, join=join, live=live_at(frame, join), outs=frozenset())


def onwards(frame: Frame, leaving: Leaving) -> Ways:
    """The ways on from where a frame stands: to leave, if the answer is True, or to go on."""
    index = flow_of(frame.code).same[frame.ip]
    test = _round_that_runs(frame, index)
    if test is not None and leaving.place in test.outs:
        return Ways(0, 0, min(test.tests), None, test.live, test)
    return Ways(0, 0, leaving.place, None, live_at(frame, leaving.place))


def live_at(frame: Frame, place: int) -> int:
    """A bit for each slot that is read from there on."""
    flow = flow_of(frame.code)
    return 0 if place == EXIT else flow.live[flow.same[place]]


def _ways(frame: Frame, index: int, join: int | None, live: int) -> Ways:
    handler, target = _steps(frame)[index]
    name = handler.__name__
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


def _steps(frame: Frame) -> list[Any]:
    """The steps of the code, without stops."""
    return frame.interpreter.body(frame.code).steps


def iterates_next(frame: Frame) -> bool:
    """Whether code goes over the result of the call that the frame stands in, and does no more."""
    return _steps(frame)[frame.ip][0].__name__ == "GET_ITER"


def _round_that_runs(frame: Frame, index: int) -> LoopTest | None:
    """The test of the innermost loop around an instruction, if this copy runs one round of it."""
    loop = flow_of(frame.code).loop(index)
    if loop is None:
        return None
    tests = (_test_at(frame, loop, stop) for stop in frame.body.stops if stop in loop.body)
    return next((test for test in tests if test is not None), None)


def loop_test(frame: Frame) -> LoopTest | None:
    """What the conditional jump that the frame stands in decides of a loop, if it does.

    A `for` is none: its iterator decides. Nor is a jump that leaves a round that runs.
    """
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    loop = flow.loop(index)
    if loop is None or _steps(frame)[loop.header][0].__name__ == "FOR_ITER":
        return None
    if _round_that_runs(frame, index) is not None:
        return None
    return _test_at(frame, loop, index)


def for_test(frame: Frame) -> LoopTest | None:
    """What the `for` that the frame stands in decides of its loop; its answer is on no stack."""
    flow = flow_of(frame.code)
    index = flow.same[frame.ip - 1]
    loop = flow.loop(index)
    if loop is None or loop.header != index:
        return None
    out = _steps(frame)[frame.ip - 1][1]
    return LoopTest(True, frame.ip, out, flow.alike(index), flow.alike(out), flow.live[index])


def _test_at(frame: Frame, loop: Loop, index: int) -> LoopTest | None:
    """What a jump in a loop, and in no inner one, decides of it."""
    flow = flow_of(frame.code)
    here = flow.successors[index]
    if flow.loop(index) is not loop or sum(way in loop.body for way in here) != 1:
        return None
    if not _steps(frame)[index][0].__name__.startswith("POP_JUMP_IF_"):
        return None
    found = _ways(frame, index, None, 0)
    stays_if = flow.same[found.if_true] in loop.body
    start, out = (found.if_true, found.if_false) if stays_if else (found.if_false, found.if_true)
    return LoopTest(stays_if, start, out, flow.alike(index), flow.alike(out), flow.live[index])


# --- running copies -----------------------------------------------------------------------------


def run_to(frame: Frame, found: Ways, answer: bool) -> End:  # noqa: FBT001  (it is the answer)
    """Run a copy of the frame as if the condition had this answer, until the ways join.

    Raises: TypeError where an iterator of the frame cannot be copied.
    """
    copied = snapshot(frame)
    if found.keeps_if is not answer:
        copied.stack.pop()
    copied.ip = found.if_true if answer else found.if_false
    return _run(copied, _ends(frame, found), begun=frame.ip - 1)


def run_on(copied: Frame, found: Ways, leaving: Leaving | None = None) -> End:
    """Run a copy of a frame on from where it stands, or from where it leaves for."""
    if leaving is not None:
        if leaving.place == EXIT:
            return End("returned", copied, leaving.state[0])
        copied.stack[:] = leaving.state[: leaving.n_stack]
        copied.slots[:] = leaving.state[leaving.n_stack :]
        copied.ip = leaving.place
    return _run(copied, _ends(copied, found))


def _ends(frame: Frame, found: Ways) -> frozenset[int]:
    if found.within is not None:
        return found.within.tests | found.within.outs
    joins = frozenset[int]() if found.join is None else flow_of(frame.code).alike(found.join)
    return joins | found.outs


def place_of(end: End) -> int:
    """Where a way ended: the first of the instructions that count as this one; EXIT: returned."""
    return EXIT if end.kind == "returned" else flow_of(end.frame.code).same[end.frame.ip]


def near(frame: Frame, found: Ways, places: Sequence[int]) -> int:
    """Of the places where both ways ended, the one that comes first."""
    place = nearer(flow_of(frame.code), *places)
    if place is not None:
        return place
    return found.join if found.join is not None and found.join in places else min(places)


def answered(ends: Sequence[End], found: Ways) -> bool:
    """Put the answer on the stacks of copies that are at the test of a round, or behind the loop.

    False, and nothing done, if any is elsewhere. One that is behind the loop answers by that.
    """
    test = found.within
    assert test is not None, "it is asked of rounds"
    if not all(end.kind == "joined" and not end.frame.leavings for end in ends):
        return False
    for end in ends:
        if end.frame.ip in test.outs:
            end.frame.stack.append(not test.stays_if)
            end.frame.ip = min(test.tests)
    return True


def run_round(frame: Frame, test: LoopTest, stack: Sequence[Any], slots: Sequence[Any]) -> End:
    """Run a copy of the frame through one round of a loop, to the test of the next.

    It begins with this state, and ends with the test's value on top of its stack.
    """
    copied = snapshot(frame)
    copied.stack[:] = stack
    copied.slots[:] = slots
    copied.ip = test.start
    return _run_round(copied, test)


def run_iteration(
    frame: Frame, test: LoopTest, stack: Sequence[Any], slots: Sequence[Any], value: Any
) -> End:
    """Run a copy of the frame through one round of a `for`, whose next value this is.

    `stack` is what stands below the iterator, at the beginning and at the end. Joined: another
    round comes; elsewhere: it left the loop.
    """
    copied = snapshot(frame)
    copied.stack[:] = [*stack, None, value]
    copied.slots[:] = slots
    copied.ip = test.start
    end = _run(copied, test.tests)
    if end.kind == "joined" and copied.leavings:
        return End("elsewhere", copied)
    if end.kind == "joined":
        copied.stack.pop()
    return end


def _run_round(copied: Frame, test: LoopTest) -> End:
    """Run to where the loop's next test stands, or out of it, which is an answer too."""
    end = _run(copied, test.tests | test.outs)
    if copied.leavings and end.kind == "joined":
        return End("returned", copied)
    if end.kind == "joined" and copied.ip in test.outs:
        copied.stack.append(not test.stays_if)
    return end


def _run(copied: Frame, ends: frozenset[int], begun: int | None = None) -> End:
    if copied.ip in ends:
        return End("joined", copied)
    around = _handlers_around(copied.body, copied.ip if begun is None else begun)
    copied.body = _stopping(copied.body, ends, around)
    try:
        signal = run(copied)
    except Exception as error:  # noqa: BLE001  (it is the program's)
        return End("raised", copied, error)
    if signal is _STOP:
        copied.ip -= 1
        return End("joined" if copied.ip in ends else "elsewhere", copied)
    if signal is YIELD:
        return End("yielded", copied, copied.value)
    return End("returned", copied, copied.value)


def _handlers_around(body: Body, index: int) -> frozenset[int]:
    """Where exceptions go from an instruction, and from there, by the targets of handlers."""
    found: set[int] = set()
    handler = body.handlers[index]
    while handler is not None and handler.target not in found:
        found.add(handler.target)
        handler = body.handlers[handler.target]
    return frozenset(found)


def _stopping(body: Body, ends: frozenset[int], around: frozenset[int]) -> Body:
    """The body, with stops there as well."""
    known = body.stopped.get((ends, around))
    if known is None:
        steps = list(body.steps)
        for index in ends:
            steps[index] = (_stop, None)
        stops = body.stops | ends
        known = replace(body, steps=steps, stops=stops, around=around, stopped={})
        body.stopped[ends, around] = known
    return known


def _stop(frame: Frame, _: None) -> Mark:
    del frame
    return _STOP


# --- going on -----------------------------------------------------------------------------------


def move(frame: Frame, join: int, stack: Sequence[Any], slots: Sequence[Any]) -> Mark:
    """Go on from where the ways join, with this state."""
    frame.stack[:] = stack
    frame.slots[:] = slots
    frame.ip = join
    return MOVED


def finish(frame: Frame, value: Any) -> Mark:
    """End the call with this result."""
    frame.value = value
    return RETURN
