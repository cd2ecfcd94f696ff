"""Python's own `while` on a value inside a tensor, as one `while_loop`.

The interpreter stands at the test of a loop whose answer depends on data. One round is run by a
copy of the frame, from behind the test to the next test, as the step of a loop; see `carrying` for
what it is given. The test's own answer is carried too, so it does not matter how the loop asks:
before a round, after it, or in the middle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.forking import move, run_round
from monograph.capture.carrying import Carrying, More
from monograph.capture.control_flow import while_loop
from monograph.capture.number_tensors import number_tensor
from monograph.capture.returning import Returns
from monograph.capture.subgraphs import gives_itself
from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from monograph.bytecode import Frame
    from monograph.bytecode.forking import LoopTest
    from monograph.capture.recorder import Recorder

NAME: Final = "while"
"""How messages call the loop."""


def loop(recorder: Recorder, frame: Frame, value: Any, test: LoopTest) -> Any:
    """Record the loop, and put the frame behind it.

    Writes to what it began with, or to what it carried, are refused from then on: see `forking`.

    Raises: loop-carry-changes, branch-writes, branch-side-effect, and what a round refuses.
    """
    carrying = Carrying(recorder, frame, test, NAME, makes_last=False)
    returns = Returns(recorder)
    first = as_truth(value)

    def step(_going: Any, *given: Any) -> list[Any]:
        """Run one round; returns whether another comes, and what is carried into it."""
        end = run_round(frame, test, *carrying.state(given[: len(given) - returns.count]))
        if end.kind == "raised":
            if isinstance(end.value, MonographError | RecursionError | MemoryError):
                raise end.value
            raise problem("loop-raises", error=end.value)
        if end.kind not in {"joined", "returned"}:
            raise problem("loop-leaves", how=end.kind)
        returned, more = returns.ended(end)
        if end.kind == "returned" and not end.frame.leavings:
            return [returned.logical_not(), *given[: len(given) - len(more)], *more]
        going = as_truth(end.frame.stack.pop())
        going = going if test.stays_if else going.logical_not()
        if returned is not None:
            going = going.logical_and(returned.logical_not())
        values, _ = carrying.ended(end.frame)
        carrying.note_shared()
        return [going, *values, *more]

    while True:
        begun = [first if test.stays_if else first.logical_not(), *carrying.begin()]
        n_carried = len(begun)
        begun += returns.begin()
        try:
            ended = while_loop(
                recorder,
                lambda going, *_: going.clone(),
                step,
                begun,
                name=NAME,
                stays=gives_itself(recorder),
            )
        except More:
            continue
        break
    ended, left = ended[:n_carried], ended[n_carried:]
    stack, slots = carrying.state(ended[1:])
    carrying.note_doubts(begun[1:n_carried], ended[1:], [*stack, *slots])
    frame.leavings = returns.leaving(left, [*begun, *ended])
    return move(frame, test.out, stack, slots)


def as_truth(value: Any) -> Any:
    """A condition as a tensor of one truth."""
    if isinstance(value, AbstractTensor):
        truth = value if value.dtype == torch.bool else value.ne(0)
        return truth.reshape(())
    return number_tensor(value, torch.bool)


__all__ = ["NAME", "as_truth", "loop"]
