"""Loop capture: a `while` whose test depends on data is recorded as one `while_loop`.

The interpreter stands at the test. One iteration is run by a copy of the frame, as the step of the
loop; see `carried_state` for what it is given. The test's own answer is carried too, so it does not
matter how the loop asks: before an iteration, after it, or in the middle.

An iteration may write to tensors from outside: see `carried_writes`.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.branches.branch_execution import move, run_round
from monograph.capture.control_flow.higher_order.operators import while_loop
from monograph.capture.control_flow.loops.loop_capture import LoopCapture
from monograph.capture.control_flow.loops.loop_returns import LoopReturns
from monograph.capture.recording.scalar_tensors import number_tensor
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_targets import LoopTest
    from monograph.capture.recording.recorder import Recorder

NAME: Final = "while"
"""How messages call the loop."""


def loop(recorder: Recorder, frame: InterpreterFrame, value: Any, test: LoopTest) -> Any:
    """Record the loop, and put the frame behind it.

    Writes to what it began with, or to what it carried, are refused from then on: see
    `recording.alias_analysis`.

    Raises: loop-carry-changes, branch-writes, branch-side-effect, and what an iteration refuses.
    """
    return _WhileCapture(recorder, frame, test).record(value)


class _WhileCapture(LoopCapture[list[Any]]):
    """A `while` while it is recorded.

    What is carried is, in this order: whether another iteration comes, what iterations change, what
    they return, and the tensors from outside that they write to.
    """

    def __init__(self, recorder: Recorder, frame: InterpreterFrame, test: LoopTest) -> None:
        super().__init__(recorder, frame, test, NAME, makes_last=False)
        self.returns = LoopReturns(recorder, self.writes.holds)
        self.begun: list[Any] = []

    def record(self, value: Any) -> Any:
        """Write the loop, and put the frame behind it."""
        first = as_truth(value)
        first = first if self.test.stays_if else first.logical_not()
        ended = self.restarted(partial(self._record_once, first))
        begun, carrying = self.begun, self.carrying
        self.writes.copy_back(self.region, ended[len(begun) :])
        n_carried = 1 + len(carrying.carried)
        ended, left = ended[:n_carried], ended[n_carried : len(begun)]
        stack, slots = carrying.state(ended[1:])
        carrying.note_aliases(begun[1:n_carried], ended[1:], [*stack, *slots])
        self.frame.leavings = self.returns.leaving(left, [*begun, *ended])
        return move(self.frame, self.test.out, stack, slots)

    def _record_once(self, first: Any) -> list[Any]:
        self.begun = [first, *self.carrying.begin(), *self.returns.begin()]
        return while_loop(
            self.recorder,
            lambda going, *_: going.clone(),
            self._step,
            [*self.begun, *self.writes.roots],
            **self.options(len(self.begun)),
        )

    def _step(self, _going: Any, *given: Any) -> list[Any]:
        """Run one iteration; returns whether another comes, and what is carried into it."""
        n_carried = len(self.carrying.carried)
        region = self.begin_iteration(given[n_carried + self.returns.count :])
        state = self.carrying.begin_iteration(given[:n_carried])
        end = self.check_end(run_round(self.frame, self.test, *state), "joined", "returned")
        returned, more = self.returns.ended(end)
        if end.kind == "returned" and not end.frame.leavings:
            going, values = returned.logical_not(), given[:n_carried]
        else:
            if len(end.frame.stack) == self.carrying.n_stack:  # at what the test's other way raises
                raise problem("loop-leaves", loop=NAME, how="left")
            going = as_truth(end.frame.stack.pop())
            going = going if self.test.stays_if else going.logical_not()
            if returned is not None:
                going = going.logical_and(returned.logical_not())
            values, _ = self.carrying.ended(end.frame)
            self.carrying.note_shared()
        written = [copy for _, copy in region.written]
        self.writes.check(region, [*self.begun[1:], *values, *more])
        return [going, *values, *more, *written]


def as_truth(value: Any) -> Any:
    """A condition as a tensor of one truth."""
    if isinstance(value, AbstractTensor):
        truth = value if value.dtype == torch.bool else value.ne(0)
        return truth.reshape(())
    return number_tensor(to_sym(to_python(value)), torch.bool)


__all__ = ["NAME", "as_truth", "loop"]
