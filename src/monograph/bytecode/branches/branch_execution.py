"""Branch execution: copies of a frame run from a conditional jump to where its sides join.

Asked what a condition means, a hook may take the frame apart: `branch_targets.ways` says where
either answer leads and where both meet again; `run_to` runs a copy of the frame from one to the
other. Then it puts the frame at the join with a state of its own making (`move`), or ends it
(`finish`), and hands what these return to the interpreter as its answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from monograph.bytecode.analysis.control_flow_graph import EXIT, flow_of
from monograph.bytecode.branches.frame_copies import snapshot, standing
from monograph.bytecode.evaluation.frame import MOVED, RETURN, YIELD, Mark
from monograph.bytecode.evaluation.loop import run
from monograph.bytecode.evaluation.tracing import plain_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.bytecode.branches.branch_targets import Leaving, LoopTest, Ways
    from monograph.bytecode.evaluation.frame import Body, InterpreterFrame

__all__ = [
    "End",
    "answered",
    "finish",
    "move",
    "place_of",
    "run_iteration",
    "run_on",
    "run_round",
    "run_round_of_for",
    "run_to",
]

_STOP: Final = Mark("stop")


@dataclass(frozen=True, slots=True)
class End:
    """How a copy of a frame ended: where the ways join, by returning, raising or yielding.

    By returning although the ways join, where it leaves early, or `elsewhere`: at `outs`, or where
    the run ends that this is a part of. `value` is what it returned or raised; `frame` has the
    state in which it stood, with what left before in its `leavings`, and `context` is what whoever
    ran it says was in force there.
    """

    kind: Literal["joined", "returned", "raised", "yielded", "elsewhere"]
    frame: InterpreterFrame
    value: Any = None
    context: Any = None


# --- running copies -----------------------------------------------------------------------------


def run_to(frame: InterpreterFrame, found: Ways, answer: bool) -> End:  # noqa: FBT001  (it is the answer)
    """Run a copy of the frame as if the condition had this answer, until the ways join.

    Raises: TypeError where an iterator of the frame cannot be copied.
    """
    copied = snapshot(frame)
    if found.keeps_if is not answer:
        copied.stack.pop()
    copied.ip = found.if_true if answer else found.if_false
    return _run(copied, _ends(frame, found), begun=frame.ip - 1)


def run_on(copied: InterpreterFrame, found: Ways, leaving: Leaving | None = None) -> End:
    """Run a copy of a frame on from where it stands, or from where it leaves for."""
    if leaving is not None:
        if leaving.place == EXIT:
            return End("returned", copied, leaving.state[0])
        copied.stack[:] = leaving.state[: leaving.n_stack]
        copied.slots[:] = leaving.state[leaving.n_stack :]
        copied.ip = leaving.place
    return _run(copied, _ends(copied, found))


def _ends(frame: InterpreterFrame, found: Ways) -> frozenset[int]:
    if found.within is not None:
        return found.within.tests | found.within.outs
    joins = frozenset[int]() if found.join is None else flow_of(frame.code).alike(found.join)
    return joins | found.outs


def place_of(end: End) -> int:
    """Where a way ended: the first of the instructions that count as this one; EXIT: returned."""
    return EXIT if end.kind == "returned" else flow_of(end.frame.code).same[end.frame.ip]


def answered(ends: Sequence[End], found: Ways) -> bool:
    """Put the answer on the stacks of copies that are at the test of a round, or behind the loop.

    False, and nothing done, if any is elsewhere. One that is behind the loop answers by that.
    """
    test = found.within
    assert test is not None, "it is asked of rounds"
    if not all(end.kind == "joined" and not end.frame.leavings for end in ends):
        return False
    if any(_is_begun_anew(end, test) for end in ends):
        return False
    for end in ends:
        if end.frame.ip in test.outs:
            end.frame.stack.append(not test.stays_if)
            end.frame.ip = min(test.tests)
    return True


def _is_begun_anew(end: End, test: LoopTest) -> bool:
    """Whether a way left a `for`, and a loop around it has led to the same `for` again."""
    return end.frame.ip in test.tests and hasattr(end.frame.stack[-1], "__next__")


def run_round(
    frame: InterpreterFrame,
    test: LoopTest,
    stack: Sequence[Any],
    slots: Sequence[Any],
    stops: frozenset[int],
) -> End:
    """Run a copy of the frame through one round of a loop, to the test of the next.

    It begins with this state, and ends with the test's value on top of its stack. At `stops` it
    leaves the loop.
    """
    return _run_round(_at_start(frame, test, stack, slots), test, stops)


def _at_start(
    frame: InterpreterFrame, test: LoopTest, stack: Sequence[Any], slots: Sequence[Any]
) -> InterpreterFrame:
    """A copy of the frame where a round of a loop begins."""
    copied = snapshot(frame)
    copied.stack[:] = stack
    copied.slots[:] = slots
    copied.ip = test.start
    return copied


def run_round_of_for(
    frame: InterpreterFrame,
    test: LoopTest,
    stack: Sequence[Any],
    slots: Sequence[Any],
    value: Any,
    stops: frozenset[int],
) -> End:
    """The same of a `for`, which has no test: a truth in its iterator's place stands for one.

    Whoever leaves the loop early puts False there; `~header` among the stops says so.
    """
    return run_round(frame, test, [*stack, True, value], slots, stops | {~(test.start - 1)})


def run_iteration(
    frame: InterpreterFrame,
    test: LoopTest,
    stack: Sequence[Any],
    slots: Sequence[Any],
    value: Any,
    stops: frozenset[int],
) -> End:
    """Run a copy of the frame through one round of a `for`, whose next value this is.

    `stack` is what stands below the iterator, at the beginning and at the end. Joined: another
    round comes; elsewhere: it left the loop, at one of `stops`.
    """
    copied = _at_start(frame, test, [*stack, None, value], slots)
    end = _run(copied, test.tests | stops)
    if end.kind == "joined" and (copied.leavings or copied.ip in stops):
        return End("elsewhere", copied)
    if end.kind == "joined":
        copied.stack.pop()
    return end


def _run_round(copied: InterpreterFrame, test: LoopTest, stops: frozenset[int]) -> End:
    """Run to where the loop's next test stands, or out of it, which is an answer too."""
    end = _run(copied, test.tests | test.outs | stops)
    if end.kind == "joined" and copied.ip in stops:
        return End("elsewhere", copied)
    if copied.leavings and end.kind == "joined":
        return End("returned", copied)
    if end.kind == "joined" and copied.ip in test.outs:
        copied.stack.append(not test.stays_if)
    return end


def _run(copied: InterpreterFrame, ends: frozenset[int], begun: int | None = None) -> End:
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
        steps = list(plain_steps(body))
        for index in ends:
            if index >= 0:
                steps[index] = (_stop, None)
        stops = body.stops | ends
        known = replace(body, steps=steps, stops=stops, around=around, stopped={})
        body.stopped[ends, around] = known
    return known


def _stop(frame: InterpreterFrame, _: None) -> Mark:
    del frame
    return _STOP


# --- going on -----------------------------------------------------------------------------------


def move(frame: InterpreterFrame, join: int, stack: Sequence[Any], slots: Sequence[Any]) -> Mark:
    """Go on from where the ways join, with this state."""
    if frame.interpreter.clones:  # its own are none of a copy's, which is merged into it
        own = {*map(id, frame.stack), *map(id, frame.slots)}
        stack, slots = (
            [each if id(each) in own else standing(frame.interpreter, each) for each in values]
            for values in (stack, slots)
        )
    frame.stack[:] = stack
    frame.slots[:] = slots
    frame.ip = join
    return MOVED


def finish(frame: InterpreterFrame, value: Any) -> Mark:
    """End the call with this result."""
    frame.value = value
    return RETURN
