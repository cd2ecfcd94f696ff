"""Going both ways at a condition: copies of a frame that run to where the ways join.

Asked what a condition means, a watcher may take the frame apart: `ways` says where either answer
leads and where both meet again; `run_to` runs a copy of the frame from one to the other. Then it
puts the frame at the join with a state of its own making (`move`), or ends it (`finish`), and hands
what these return to the interpreter as its answer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from monograph.bytecode.flow import EXIT, flow_of
from monograph.bytecode.frame import RETURN, YIELD, Mark
from monograph.bytecode.instructions import JUMPS
from monograph.bytecode.loop import run
from monograph.bytecode.operators import truth
from monograph.bytecode.snapshots import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.bytecode.frame import Frame

__all__ = ["MOVED", "End", "Ways", "decide", "finish", "move", "run_to", "signal_of", "ways"]

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
    """

    if_true: int
    if_false: int
    join: int | None
    keeps_if: bool | None
    live: int


@dataclass(frozen=True, slots=True)
class End:
    """How a copy of a frame ended: where the ways join, by returning, raising or yielding.

    By returning although the ways join, where an exception of its own led it past the join.
    `value` is what it returned or raised; `frame` has the state in which it stood.
    """

    kind: Literal["joined", "returned", "raised", "yielded"]
    frame: Frame
    value: Any = None


def ways(frame: Frame) -> Ways:
    """Where the conditional jump leads that the frame stands in."""
    index = frame.ip - 1
    handler, target = frame.body.steps[index]
    name = handler.__name__
    assert name in JUMPS, f"{name} is no jump"
    flow = flow_of(frame.code)
    join: int | None = flow.joins[index]
    if join == index:
        join = None
    live = 0 if join is None or join == EXIT else flow.live[join]
    on = index + 1
    if name == "POP_JUMP_IF_FALSE":
        return Ways(on, target, join, None, live)
    if name == "POP_JUMP_IF_TRUE":
        return Ways(target, on, join, None, live)
    if name == "JUMP_IF_FALSE_OR_POP":
        return Ways(on, target, join, False, live)
    assert name == "JUMP_IF_TRUE_OR_POP", f"{name} asks for no condition"
    return Ways(target, on, join, True, live)


def run_to(frame: Frame, found: Ways, answer: bool) -> End:  # noqa: FBT001  (it is the answer)
    """Run a copy of the frame as if the condition had this answer, until the ways join.

    Raises: TypeError where an iterator of the frame cannot be copied.
    """
    copied = snapshot(frame)
    if found.keeps_if is not answer:
        copied.stack.pop()
    copied.ip = found.if_true if answer else found.if_false
    join = found.join
    if join is not None and join != EXIT:
        copied.body = _stopping(frame, join)
    if copied.ip == join:
        return End("joined", copied)
    try:
        signal = run(copied)
    except Exception as error:  # noqa: BLE001  (it is the program's)
        return End("raised", copied, error)
    if signal is _STOP:
        copied.ip = join or 0
        return End("joined", copied)
    if signal is YIELD:
        return End("yielded", copied, copied.value)
    return End("returned", copied, copied.value)


def _stopping(frame: Frame, join: int) -> Any:
    """The body of the frame's code, but for a stop at the join."""
    steps = list(frame.body.steps)
    steps[join] = (_stop, None)
    return replace(frame.body, steps=steps)


def _stop(frame: Frame, _: None) -> Mark:
    del frame
    return _STOP


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
