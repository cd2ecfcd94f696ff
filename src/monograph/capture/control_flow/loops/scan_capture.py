"""Scan capture: a `for` over a symbolic number of values is recorded as one `scan`.

The interpreter stands at a `for` whose iterator's length is a size, or a number from data. One
iteration is run by a copy of the frame, on an unknown value, as the step of the scan; see
`carried_state` for what it is given and gives on. Variables that only iterations assign are carried
too; no iteration is given one, and there must be one where they are read after the loop, as in
Python.

An iteration may write to tensors from outside: see `carried_writes`.
"""

from __future__ import annotations

from contextlib import contextmanager
from functools import partial
from inspect import CO_GENERATOR
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import SymbolicIterator
from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_execution import move, run_iteration
from monograph.bytecode.branches.branch_targets import exits, for_test
from monograph.capture.caught_refusals import answered
from monograph.capture.control_flow.branches.branch_capture import gone_on
from monograph.capture.control_flow.branches.state_merge import described
from monograph.capture.control_flow.higher_order.operators import scan
from monograph.capture.control_flow.loops.carried_state import refill
from monograph.capture.control_flow.loops.growing_lists import Growth, growing
from monograph.capture.control_flow.loops.growing_tensors import Lengthening, lengthening
from monograph.capture.control_flow.loops.list_accumulation import (
    Accumulated,
    accumulate,
    order_of,
    require_an_iteration,
)
from monograph.capture.control_flow.loops.loop_capture import LoopCapture
from monograph.capture.control_flow.loops.symbolic_sequences import Numbers
from monograph.capture.control_flow.loops.while_capture import left_early
from monograph.capture.queries.inference_tensors import note_inference
from monograph.capture.recording.scalar_tensors import filler
from monograph.capture.restart import Restart
from monograph.diagnostics import MonographError, problem
from monograph.integers import Expr, eq, ge, known, le

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.bytecode.branches.branch_targets import LoopTest
    from monograph.capture.control_flow.loops.carried_state import Path
    from monograph.capture.control_flow.loops.symbolic_sequences import SymbolicSequence
    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder

NAME: Final = "for"
"""How messages call the loop."""


def repeat(recorder: Recorder, frame: InterpreterFrame, rounds: SymbolicIterator) -> Any:
    """Record a `for` that the frame stands in, and put the frame behind it.

    NotImplemented where the loop is to be unrolled: where an iteration cannot be recorded, and
    nobody insists that the size varies.

    Raises: what an iteration refuses, loop-carry-changes, loop-raises, loop-leaves.
    """
    test = for_test(frame)
    if test is None or frame.names is not None or frame.code.co_flags & CO_GENERATOR:
        return NotImplemented
    source: Any = rounds.source
    if known(le(source.count, 0)) is True:
        return move(frame, test.out, frame.stack[:-1], frame.slots)
    must_vary = _must_vary(recorder, source)
    if not must_vary and recorder.options.unrolled:
        return NotImplemented
    if not must_vary:
        recorder.options.loops.append(frame.code.co_qualname)
    try:
        return _ForCapture(recorder, frame, source, test).record()
    except MonographError as error:
        if error.diagnostic.name == "loop-leaves":
            return _left_early(recorder, frame, source, test, error)
        if error.diagnostic.name == "loop-carry-changes" and not rounds.peeled:
            return _peeled(frame, source)
        if must_vary:
            raise
        answered(error)
        return NotImplemented


def _peeled(frame: InterpreterFrame, source: SymbolicSequence) -> Any:
    """Let the first iteration come by itself: what it begins with is often of another kind.

    Raises: check-fails.
    """
    require_an_iteration(source.count)
    stack = [*frame.stack[:-1], SymbolicIterator(source.rest(), peeled=True), source.first()]
    return move(frame, frame.ip, stack, frame.slots)


def _left_early(
    recorder: Recorder,
    frame: InterpreterFrame,
    source: SymbolicSequence,
    test: LoopTest,
    error: MonographError,
) -> Any:
    """Record it as a `while`; where that cannot be, the refusal is that of the scan."""
    stack, slots, ip = [*frame.stack], [*frame.slots], frame.ip
    try:
        return gone_on(recorder, frame, left_early(recorder, frame, source, test))
    except MonographError as other:
        frame.stack[:], frame.slots[:], frame.ip, frame.leavings = stack, slots, ip, ()
        if _must_vary(recorder, source):
            raise error from other
        answered(error)
        return NotImplemented


def _must_vary(recorder: Recorder, source: SymbolicSequence) -> bool:
    """Whether the number of iterations is not the example's to choose."""
    symbols = getattr(source.count, "symbols", ())
    return any(symbol not in recorder.may_be_fixed for symbol in symbols)


class _ForCapture(LoopCapture[Any]):
    """A `for` while it is recorded."""

    def __init__(
        self, recorder: Recorder, frame: InterpreterFrame, source: SymbolicSequence, test: LoopTest
    ) -> None:
        super().__init__(recorder, frame, test, NAME, makes_last=True)
        self.source = source
        self.begun: list[AbstractTensor] = []
        self.slices: list[AbstractTensor] = []
        """What the loop begins with, and goes over."""
        self.born: dict[Path, TensorType] = {}
        """Variables that iterations assign first, carried too: nobody reads their beginning."""
        self.growths: list[Growth] = []
        """Lists from outside that iterations append to."""
        self.appended: list[tuple[Growth, list[Any]]] = []
        """What the last iteration appended to which of them."""
        self.longer: dict[Path, Lengthening] = {}
        """What is carried that grows."""
        self.n_grown = 0
        """How many tensors are carried of these lists."""
        self.shared: list[list[Any]] = []
        """What other results than what is carried may be one with."""

    def record(self) -> Any:
        """Write the scan, and put the frame behind the loop."""
        self.slices = self.source.slices(self.recorder)
        return self._go_on(list(self.restarted(self._record_once)))

    def _record_once(self) -> Any:
        recorder = self.recorder
        self.begun = self.carrying.begin()
        for n, each in self._longer():
            self._require_another(self.begun[n])
            self.begun[n] = recorder.abstract(each.begin(self.begun[n], self.source.count))
        known = [*self.begun, *[recorder.abstract(filler(each)) for each in self.born.values()]]
        grown = [value for each in self.growths for value in each.begin(self.source.count)]
        self.n_grown = len(grown)
        begun = [*known, *grown, *self.writes.roots]
        slices = (
            [*self.slices, *self._numbers().slices(recorder)] if self._counts() else self.slices
        )
        return scan(recorder, self._step, begun, slices, **self.options(len(known)))

    def _counts(self) -> bool:
        """Whether an iteration needs its number."""
        return bool(self.longer) or any(each.asked for each in self.growths)

    def _longer(self) -> list[tuple[int, Lengthening]]:
        """What is carried that grows, by its number."""
        carried = enumerate(self.carrying.carried)
        return [(n, self.longer[path]) for n, path in carried if path in self.longer]

    def _require_another(self, begun: AbstractTensor) -> None:
        """What callers see is left without an iteration, of which the program would have a copy.

        Raises: check-fails.
        """
        root = begun.storage_root.node
        is_made = root is not None and root.op == "call_function" and self.recorder.region is None
        if not is_made and known(eq(begun.tensor_type.numel(), 0)) is not True:
            require_an_iteration(self.source.count)

    def _numbers(self) -> Numbers:
        return Numbers(0, 1, self.source.count)

    def _step(self, *given: Any) -> list[Any]:
        """Run one iteration on what is carried, on what is written to, and on slices."""
        n_carried, n_written = len(self.carrying.carried), len(self.writes.roots)
        n_known = n_carried + len(self.born)
        grown = given[n_known : n_known + self.n_grown]
        n_begun = n_known + self.n_grown
        region = self.begin_iteration(given[n_begun : n_begun + n_written])
        slices = given[n_begun + n_written :]
        self.rows = list(slices)
        for each in slices:
            self.recorder.aliases.differ("offset", each.node)
        for whole, each in zip(self.slices, slices, strict=False):
            note_inference((whole,), each)
        rest = iter(slices)
        value = self.source.at(self.recorder, rest)
        index = self._numbers().at(self.recorder, rest) if self._counts() else None
        carried = list(given[:n_carried])
        for n, each in self._longer():
            carried[n] = each.given(carried[n], index)
        state = self.carrying.begin_iteration(carried)
        with _undone(region):
            with (
                growing(self.recorder, self.growths, iter(grown), index) as appended,
                self._lists(region) as others,
            ):
                end = self._run(state, value)
            self._settle_lists(appended, others)
            values, born = self.carrying.ended(end.frame)
            self._settle_lengths(given, values, index)
        written = [copy for _, copy in region.written]
        items = [item for _, new in self.appended for item in new]
        ended = [each for growth, new in appended for each in growth.ended(new, region)]
        self._settle_born([self.recorder.abstract(each).tensor_type for each in born], region)
        results = [
            self.recorder.abstract(each) for each in (*values, *born, *ended, *written, *items)
        ]
        held = results[:n_begun] + results[n_begun + n_written :]
        self.writes.check(region, [*self.begun, *self.slices, *held])
        self.shared = self.carrying.note_shared(results[len(values) :])
        return list(results)

    def _settle_lengths(self, given: Sequence[Any], values: list[Any], index: Any) -> None:
        """Carry what grows as a whole. Raises: Restart, loop-carry-changes."""
        for n, each in self._longer():
            ended = each.ended(given[n], self.recorder.abstract(values[n]), index)
            if ended is None:
                raise _growing("a tensor", "one that is longer by another number each time")
            values[n] = ended
        region = self.recorder.region
        assert region is not None, "an iteration is recorded as a region"
        n_known = len(self.longer)
        for path, before, after in zip(self.carrying.carried, given, values, strict=False):
            if path not in self.longer and isinstance(after, AbstractTensor):
                found = lengthening(before, after, region.before)
                self.longer |= {} if found is None else {path: found}
        if len(self.longer) > n_known:
            raise Restart("carry")

    def _settle_lists(
        self, appended: list[tuple[Growth, list[Any]]], others: list[tuple[list[Any], list[Any]]]
    ) -> None:
        """Record the iteration again if lists grow that it may have looked into.

        Raises: Restart.
        """
        for _, new in (*appended, *others):
            for item in new:
                if not isinstance(item, torch.Tensor):
                    raise _growing("a list of tensors", f"one with {described(item)}")
        if others:
            self.growths += [Growth(self, each, new) for each, new in others]
            raise Restart("carry")
        self.appended = [(each, new) for each, new in appended if new]

    def _settle_born(self, types: Sequence[TensorType], region: Region) -> None:
        """Record the iteration again if it assigns variables that are not carried yet.

        Raises: Restart, operator-arguments (a size that may differ from iteration to iteration).
        """
        born = dict(zip(self.carrying.born, types, strict=True))
        if born.keys() == self.born.keys():
            return
        for path, each in born.items():
            sizes = [size for size in each.shape if isinstance(size, Expr)]
            if not all(region.before.issuperset(size.symbols) for size in sizes):
                value = self.recorder.abstract(self.carrying.born[path])
                made = described(value)
                reason = f"a round makes {made}, whose sizes may differ from round to round"
                raise problem("operator-arguments", operator=NAME, reason=reason)
        self.born = born
        raise Restart("carry")

    def _run(self, state: tuple[list[Any], list[Any]], value: Any) -> End:
        end = self.run(
            partial(run_iteration, self.frame, self.test, *state, value, exits(self.frame))
        )
        if end.kind == "elsewhere":
            returns = any(each.place == EXIT for each in end.frame.leavings)
            raise problem("loop-leaves", loop=NAME, how="returned" if returns else "left")
        return self.check_end(end, "joined")

    @contextmanager
    def _lists(self, region: Region) -> Generator[list[tuple[list[Any], list[Any]]]]:
        """Let lists from outside grow while an iteration runs, and be as before when it has.

        Gives what was appended to which. Lists that a comprehension builds stand on the stack.
        """
        built = [each for each in self.frame.stack if type(each) in (list, set, dict)]
        before = [each.copy() for each in built]
        appended: list[tuple[list[Any], list[Any]]] = []
        try:
            yield appended
            if region.effects is not None:
                appended += region.effects.appended()
            told = {id(each) for each, _ in appended}
            known = {id(each.owner) for each in self.growths}
            for each, was in zip(built, before, strict=True):
                if id(each) in told or id(each) in known:
                    continue
                if type(each) is list and len(each) > len(was):
                    appended.append((each, each[len(was) :]))
                elif len(each) != len(was):
                    raise _growing("a set or a dict", "a longer one")
            appended[:] = [(each, new) for each, new in appended if id(each) not in known]
            for each, new in appended:
                del each[slice(len(new)) if each[0] is new[0] else slice(-len(new), None)]
        finally:
            known = {id(each.owner) for each in self.growths}
            for each, was in zip(built, before, strict=True):
                if id(each) not in known and len(each) != len(was):
                    refill(each, was)

    def _go_on(self, results: list[AbstractTensor]) -> Any:
        recorder, carrying = self.recorder, self.carrying
        begun: list[Any] = [*self.begun]
        slices, roots = self.slices, self.writes.roots
        rest = iter(results)
        after, born, grown, written = (
            [next(rest) for _ in each]
            for each in (begun, carrying.born, range(self.n_grown), roots)
        )
        stacks = list(rest)
        self.writes.copy_back(self.region, written)
        for n, each in self._longer():
            first = self.carrying.leaves[carrying.carried[n]].value
            after[n] = each.last(after[n], self.source.count)
            begun[n] = None
            is_there = known(ge(self.source.count, 1)) is True
            if not is_there and known(eq(first.tensor_type.numel(), 0)) is not True:
                recorder.aliases.may_alias([after[n], first])
                recorder.aliases.copied(after[n], first.storage_root, "for")
        lasts = [*carrying.made, *carrying.born.values()]
        shares = [*carrying.roots, *self.shared[: len(born)]]
        self.note_parts(slices, lasts, [*after, *born], shares)
        # Of the results, those of tensors that are written to are these tensors.
        made = [*after, *born, *grown, *roots, *stacks]
        for shared, result in zip([*carrying.roots, *self.shared], made, strict=True):
            if shared:
                recorder.aliases.may_alias([result, *shared, *slices])
                recorder.aliases.differ("offset", result.node)
        items = [item for _, new in self.appended for item in new]
        for value, result in zip(
            [*lasts[len(carrying.made) :], *items], born + stacks, strict=True
        ):
            if isinstance(value, AbstractTensor):
                note_inference((value,), result)
        if born:
            require_an_iteration(self.source.count)
        held = dict(zip(map(id, carrying.made), after, strict=True))
        self._let_grow(iter(stacks), held)
        stack, slots = carrying.state(after, born)
        carrying.note_aliases(begun, after, [*stack, *slots])
        return move(self.frame, self.test.out, stack, slots)

    def _let_grow(self, stacks: Iterator[AbstractTensor], held: Mapping[int, Any]) -> None:
        """Put into lists what iterations appended; `held` is what variables hold after the last."""
        shared = iter(self.shared[len(self.shared) - sum(len(new) for _, new in self.appended) :])
        for growth, new in self.appended:
            self.recorder.scopes.tell(growth.owner)
            made = [next(stacks) for _ in new]
            owners = [each for item in new for each in (*self._owners(item), *next(shared))]
            last = held.get(id(new[-1]))
            if last is None and new[-1].node.graph is not self.region.graph:
                last = new[-1]  # the same in every iteration
            item = Accumulated(self.source.count, made, last, owners, order_of(new))
            accumulate(self.recorder, growth.owner, item, at_front=growth.at_front)

    def _owners(self, item: AbstractTensor) -> list[AbstractTensor]:
        """The tensors from outside, or those gone over, that an item lies in the memory of."""
        root = item.storage_root
        if any(root is each.storage_root for each in self.rows):
            return [each.storage_root for each in self.slices]
        return [root] if self.is_of_outside(item) else []


@contextmanager
def _undone(region: Region) -> Generator[None]:
    """Put back what an iteration wrote to objects from outside where it is given up."""
    try:
        yield
    except BaseException:
        if region.effects is not None:
            region.effects.undo()
        raise


def _growing(before: str, after: str) -> MonographError:
    return problem(
        "loop-carry-changes",
        operator=NAME,
        what="kind",
        result="what an iteration adds to",
        before=before,
        after=after,
    )


__all__ = ["NAME", "repeat"]
