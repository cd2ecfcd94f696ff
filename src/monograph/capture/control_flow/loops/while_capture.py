"""Python's own `while` on a value inside a tensor, as one `while_loop`.

The interpreter stands at the test of a loop whose answer depends on data. One round is run by a
copy of the frame, from behind the test to the next test, as the step of a loop; see `carrying` for
what it is given. The test's own answer is carried too, so it does not matter how the loop asks:
before a round, after it, or in the middle.

A round may write to tensors from outside: see `carried_writes`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.branches.branch_execution import move, run_round
from monograph.capture.control_flow.higher_order.operators import while_loop
from monograph.capture.control_flow.loops.carried_state import Carrying, More
from monograph.capture.control_flow.loops.carried_writes import CarriedWrites
from monograph.capture.control_flow.loops.loop_returns import Returns
from monograph.capture.control_flow.subgraphs import WritesOutside, gives_itself
from monograph.capture.recording.scalar_tensors import number_tensor
from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.bytecode import Frame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.bytecode.branches.branch_targets import LoopTest
    from monograph.capture.control_flow.subgraphs import Body
    from monograph.capture.recording.recorder import Recorder

NAME: Final = "while"
"""How messages call the loop."""


def loop(recorder: Recorder, frame: Frame, value: Any, test: LoopTest) -> Any:
    """Record the loop, and put the frame behind it.

    Writes to what it began with, or to what it carried, are refused from then on: see `forking`.

    Raises: loop-carry-changes, branch-writes, branch-side-effect, and what a round refuses.
    """
    return _Loop(recorder, frame, test).record(value)


class _Loop:
    """One loop while it is recorded.

    What is carried is, in this order: whether another round comes, what rounds change, what they
    return, and the tensors from outside that they write to.
    """

    def __init__(self, recorder: Recorder, frame: Frame, test: LoopTest) -> None:
        self.recorder = recorder
        self.frame = frame
        self.test = test
        self.carrying = Carrying(recorder, frame, test, NAME, makes_last=False)
        self.writes = CarriedWrites(recorder)
        self.returns = Returns(recorder, self.writes.holds)
        self.begun: list[Any] = []
        self.body: Body
        """The last round that was recorded."""

    def record(self, value: Any) -> Any:
        """Write the loop, and put the frame behind it."""
        recorder, carrying, returns = self.recorder, self.carrying, self.returns
        first = as_truth(value)
        while True:
            begun = [first if self.test.stays_if else first.logical_not(), *carrying.begin()]
            n_carried = len(begun)
            begun += returns.begin()
            roots = self.writes.roots
            self.begun = begun[1:]
            try:
                ended = while_loop(
                    recorder,
                    lambda going, *_: going.clone(),
                    self._step,
                    [*begun, *roots],
                    name=NAME,
                    may_write=True,
                    n_staying=len(begun) * gives_itself(recorder),
                )
            except More:
                continue
            except WritesOutside as found:
                self.writes.add(found, self.body)
                continue
            break
        self.writes.copy_back(self.body, ended[len(begun) :])
        ended, left = ended[:n_carried], ended[n_carried : len(begun)]
        stack, slots = carrying.state(ended[1:])
        carrying.note_doubts(begun[1:n_carried], ended[1:], [*stack, *slots])
        self.frame.leavings = returns.leaving(left, [*begun, *ended])
        return move(self.frame, self.test.out, stack, slots)

    def _step(self, _going: Any, *given: Any) -> list[Any]:
        """Run one round; returns whether another comes, and what is carried into it."""
        body = self.recorder.body
        assert body is not None, "a round is recorded in a body"
        self.body = body
        n_carried = len(self.carrying.carried)
        n_known = n_carried + self.returns.count
        self.writes.begin_round(body, given[n_known:])
        end = self._run(given[:n_carried])
        returned, more = self.returns.ended(end)
        if end.kind == "returned" and not end.frame.leavings:
            going, values = returned.logical_not(), given[:n_carried]
        else:
            going = as_truth(end.frame.stack.pop())
            going = going if self.test.stays_if else going.logical_not()
            if returned is not None:
                going = going.logical_and(returned.logical_not())
            values, _ = self.carrying.ended(end.frame)
            self.carrying.note_shared()
        written = [copy for _, copy in body.written]
        self.writes.check(body, [*self.begun, *values, *more])
        return [going, *values, *more, *written]

    def _run(self, carried: Sequence[Any]) -> End:
        end = run_round(self.frame, self.test, *self.carrying.state(carried))
        if end.kind == "raised":
            if isinstance(end.value, MonographError | RecursionError | MemoryError):
                raise end.value
            raise problem("loop-raises", error=end.value)
        if end.kind not in {"joined", "returned"}:
            raise problem("loop-leaves", how=end.kind)
        return end


def as_truth(value: Any) -> Any:
    """A condition as a tensor of one truth."""
    if isinstance(value, AbstractTensor):
        truth = value if value.dtype == torch.bool else value.ne(0)
        return truth.reshape(())
    return number_tensor(to_sym(to_python(value)), torch.bool)


__all__ = ["NAME", "as_truth", "loop"]
