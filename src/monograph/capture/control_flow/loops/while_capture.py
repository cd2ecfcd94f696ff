"""Loop capture: a `while` whose test depends on data is recorded as one `while_loop`.

So is a `for` over a symbolic number of values that may be left early: the number of its iteration
is carried, and the test is whether another value comes.

The interpreter stands at the test. One iteration is run by a copy of the frame, as the step of the
loop; see `carried_state` for what it is given. The test's own answer is carried too, so it does not
matter how the loop asks: before an iteration, after it, or in the middle.

An iteration may write to tensors from outside: see `carried_writes`.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import SymbolicIterator
from monograph.bytecode.branches.branch_execution import move, run_round, run_round_of_for
from monograph.bytecode.branches.branch_targets import condition_of, exits, leading_back
from monograph.bytecode.branches.frame_copies import snapshot
from monograph.capture.caught_refusals import answered
from monograph.capture.control_flow.higher_order.operators import while_loop
from monograph.capture.control_flow.loops.loop_capture import LoopCapture
from monograph.capture.control_flow.loops.loop_exits import LoopExits
from monograph.capture.recording.scalar_tensors import number_tensor
from monograph.diagnostics import MonographError, problem
from monograph.integers import ge, lt

if TYPE_CHECKING:
    from collections.abc import Generator

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_targets import LoopTest
    from monograph.capture.control_flow.loops.symbolic_sequences import SymbolicSequence
    from monograph.capture.recording.recorder import Recorder

_SELECT: Final = torch.ops.aten.select.int
_OF_EXITS: Final = {"branch-copies", "loop-carry-changes", "loop-leaves"}
NAME: Final = "while"
"""How messages call the loop."""


def loop(recorder: Recorder, frame: InterpreterFrame, value: Any, test: LoopTest) -> Any:
    """Record the loop, and put the frame behind it.

    Writes to what it began with, or to what it carried, are refused from then on: see
    `recording.alias_analysis`.

    Raises: loop-carry-changes, branch-writes, branch-side-effect, and what an iteration refuses.
    """
    return _recorded(recorder, frame, value, test)


def left_early(
    recorder: Recorder, frame: InterpreterFrame, source: SymbolicSequence, test: LoopTest
) -> Any:
    """Record a `for` that iterations leave, and put the frame behind it. Raises: as `loop`."""
    return _recorded(recorder, frame, to_sym(ge(source.count, 1)), test, source)


def _recorded(
    recorder: Recorder,
    frame: InterpreterFrame,
    value: Any,
    test: LoopTest,
    source: SymbolicSequence | None = None,
) -> Any:
    """Record the loop; where that is refused, with the ways that leave it as exits.

    A way that a loop around it leads back to the test ends a round: it would pass for the next one.
    """
    places = exits(frame) - test.outs
    stops = leading_back(frame, places)
    try:
        if source is None or not stops:
            return _WhileCapture(recorder, frame, test, source, stops).record(value)
        with _own_iterators(frame):
            return _WhileCapture(recorder, frame, test, source, frozenset()).record(value)
    except MonographError as refusal:
        if refusal.diagnostic.name not in _OF_EXITS or places == stops:
            raise
        try:
            moved = _WhileCapture(recorder, frame, test, source, places).record(value)
        except MonographError as other:
            answered(other)
            raise refusal from None
        answered(refusal)
        return moved


@contextmanager
def _own_iterators(frame: InterpreterFrame) -> Generator[None]:
    """Let iterations that run on behind the loop advance clones of the frame's iterators.

    Raises: branch-copies.
    """
    clones: dict[int, Any] = {}
    copied = snapshot(frame, clones)
    originals = {id(clones[id(each)]): each for each in clones.get(-1, ())}
    frame.stack[:], frame.slots[:] = copied.stack, copied.slots
    try:
        yield
    finally:
        for values in (frame.stack, frame.slots):
            values[:] = [originals.get(id(each), each) for each in values]


class _WhileCapture(LoopCapture[list[Any]]):
    """A `while` while it is recorded.

    What is carried is, in this order: whether another iteration comes, what iterations change, what
    they return, and the tensors from outside that they write to.
    """

    def __init__(
        self,
        recorder: Recorder,
        frame: InterpreterFrame,
        test: LoopTest,
        source: SymbolicSequence | None,
        stops: frozenset[int],
    ) -> None:
        """`source` is what a `for` goes over; at `stops` an iteration ends, and leaves the loop."""
        name = NAME if source is None else "for"
        super().__init__(recorder, frame, test, name, makes_last=False)
        self.source = source
        self.slices = [] if source is None else source.slices(recorder)
        self.n_first = 1 if source is None else 2
        self.exits = LoopExits(recorder, self.writes.holds)
        self.stops = stops
        self.begun: list[Any] = []

    def record(self, value: Any) -> Any:
        """Write the loop, and put the frame behind it."""
        first = as_truth(value)
        first = first if self.test.stays_if else first.logical_not()
        ended = self.restarted(partial(self._record_once, first))
        begun, carrying = self.begun, self.carrying
        aliases = self.recorder.aliases
        with aliases.merging(condition_of(self.frame)):
            self.writes.copy_back(self.region, ended[len(begun) :])
            first, n_carried = self.n_first, self.n_first + len(carrying.carried)
            ended, left = ended[:n_carried], ended[n_carried : len(begun)]
            stack, slots = carrying.state(ended[first:])
            lasts = [*carrying.made, *self.exits.made]
            shares = [*carrying.roots, *self.exits.roots]
            self.note_parts((), lasts, [*ended[first:], *left], shares)
            carrying.note_aliases(begun[first:n_carried], ended[first:], [*stack, *slots])
            self.frame.leavings = self.exits.leaving(left, [*begun, *ended])
        return move(self.frame, self.test.out, stack, slots)

    def _record_once(self, first: Any) -> list[Any]:
        number = [] if self.source is None else [number_tensor(0, torch.int64)]
        self.begun = [first, *number, *self.carrying.begin(), *self.exits.begin()]
        return while_loop(
            self.recorder,
            lambda going, *_: going.clone(),
            self._step,
            [*self.begun, *self.writes.roots],
            **self.options(len(self.begun)),
        )

    def _step(self, _going: Any, *given: Any) -> list[Any]:
        """Run one iteration; returns whether another comes, and what is carried into it."""
        number, given = (None, given) if self.source is None else (given[0], given[1:])
        n_carried = len(self.carrying.carried)
        region = self.begin_iteration(given[n_carried + self.exits.count :])
        state = self.carrying.begin_iteration(given[:n_carried])
        run = partial(run_round, self.frame, self.test, *state, self.stops)
        if self.source is not None:
            value = self._value(self.source, number)
            run = partial(run_round_of_for, self.frame, self.test, *state, value, self.stops)
        end = self.check_end(self.run(run), "joined", "returned")
        returned, more = self.exits.ended(end)
        if end.kind == "returned" and not end.frame.leavings:
            going, values = returned.logical_not(), given[:n_carried]
            self.carrying.put_back()
        else:
            is_out = len(end.frame.stack) == self.carrying.n_stack  # at what the other way raises
            if is_out or type(end.frame.stack[-1]) is SymbolicIterator:  # a loop around goes on
                raise problem("loop-leaves", loop=self.name, how="left")
            going = as_truth(end.frame.stack.pop())
            going = going if self.test.stays_if else going.logical_not()
            if returned is not None:
                going = going.logical_and(returned.logical_not())
            values, _ = self.carrying.ended(end.frame)
            self.carrying.note_shared()
        written = [copy for _, copy in region.written]
        self.writes.check(region, [*self.begun[1:], *self.slices, *values, *more])
        if self.source is None or number is None:
            return [going, *values, *more, *written]
        following = number + 1
        comes = as_truth(to_sym(lt(to_python(following.item()), self.source.count)))
        return [going.logical_and(comes), following, *values, *more, *written]

    def _value(self, source: SymbolicSequence, number: Any) -> Any:
        """The value of an iteration, by its number."""
        index = number.item()
        self.recorder.facts.assume(ge(to_python(index), 0))
        self.recorder.facts.assume(lt(to_python(index), source.count))
        rows: list[Any] = [
            self.recorder.call(_SELECT, (each, 0, index), {}) for each in self.slices
        ]
        for row in rows:
            self.recorder.aliases.may_alias([row])  # nobody may write to what is gone over
        return source.at(self.recorder, iter(rows))


def as_truth(value: Any) -> Any:
    """A condition as a tensor of one truth."""
    if isinstance(value, AbstractTensor):
        truth = value if value.dtype == torch.bool else value.ne(0)
        return truth.reshape(())
    return number_tensor(to_sym(to_python(value)), torch.bool)


__all__ = ["NAME", "as_truth", "left_early", "loop"]
