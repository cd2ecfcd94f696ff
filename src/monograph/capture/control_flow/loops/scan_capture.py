"""A `for` over a symbolic number of values, as one `scan`.

The interpreter stands at a `for` whose iterator's length is a size, or a number from data. One
round is run by a copy of the frame, on an unknown value, as the step of the scan; see `carrying`
for what it is given and gives on. Variables that only rounds assign are carried too; no round is
given one, and there must be a round where they are read after the loop, as in Python.

A round may write to tensors from outside: they are carried too, and their last value is copied
back.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.layout import is_dense
from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode import SymbolicIterator
from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_execution import move, run_iteration
from monograph.bytecode.branches.branch_targets import for_test
from monograph.capture.caught_refusals import answered
from monograph.capture.control_flow.branches.state_merge import described
from monograph.capture.control_flow.higher_order.operators import scan
from monograph.capture.control_flow.loops.carried_state import Carrying, More
from monograph.capture.control_flow.loops.carried_writes import CarriedWrites
from monograph.capture.control_flow.loops.list_accumulation import require_a_round
from monograph.capture.control_flow.subgraphs import WritesOutside, gives_itself
from monograph.capture.recording.scalar_tensors import own
from monograph.diagnostics import MonographError, problem
from monograph.integers import Expr

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.bytecode import Frame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.bytecode.branches.branch_targets import LoopTest
    from monograph.capture.control_flow.loops.carried_state import Path
    from monograph.capture.control_flow.loops.symbolic_sequences import Source
    from monograph.capture.control_flow.subgraphs import Body
    from monograph.capture.recording.recorder import Recorder

NAME: Final = "for"
"""How messages call the loop."""
_FATAL: Final = (RecursionError, MemoryError)


def repeat(recorder: Recorder, frame: Frame, rounds: SymbolicIterator) -> Any:
    """Record a `for` that the frame stands in, and put the frame behind it.

    NotImplemented where rounds are to come one by one: where a round cannot be recorded, and nobody
    insists that the size varies.

    Raises: what a round refuses, loop-carry-changes, loop-raises, loop-leaves.
    """
    test = for_test(frame)
    handling = frame.interpreter.handling
    is_handling = handling.error is not None or handling.previous is not None
    if test is None or frame.names is not None or is_handling:
        return NotImplemented
    source: Any = rounds.source
    must_vary = _must_vary(recorder, source)
    if not must_vary and recorder.paths.unrolled:
        return NotImplemented
    if not must_vary:
        recorder.paths.loops.append(frame.code.co_qualname)
    try:
        return _ForLoop(recorder, frame, source, test).record()
    except MonographError as error:
        if error.diagnostic.name == "loop-carry-changes" and not rounds.peeled:
            return _peeled(frame, source)
        if must_vary:
            raise
        answered(error)
        return NotImplemented


def _peeled(frame: Frame, source: Source) -> Any:
    """Let the first round come by itself: what it begins with is often of another kind.

    Raises: loop-makes-nothing.
    """
    require_a_round(source.count)
    stack = [*frame.stack[:-1], SymbolicIterator(source.rest(), peeled=True), source.first()]
    return move(frame, frame.ip, stack, frame.slots)


def _must_vary(recorder: Recorder, source: Source) -> bool:
    """Whether the number of rounds is not the example's to choose."""
    symbols = getattr(source.count, "symbols", ())
    return any(symbol not in recorder.may_be_fixed for symbol in symbols)


class _ForLoop:
    """One loop while it is recorded."""

    def __init__(self, recorder: Recorder, frame: Frame, source: Source, test: LoopTest) -> None:
        self.recorder = recorder
        self.frame = frame
        self.source = source
        self.test = test
        self.carrying = Carrying(recorder, frame, test, NAME, makes_last=True)
        self.writes = CarriedWrites(recorder)
        self.body: Body
        """The last round that was recorded."""
        self.begun: list[AbstractTensor] = []
        self.slices: list[AbstractTensor] = []
        """What the loop begins with, and goes over."""
        self.rows: list[AbstractTensor] = []
        """The slices of the last round that was recorded."""
        self.born: dict[Path, TensorType] = {}
        """Variables that rounds assign first, carried too: nobody reads what these begin with."""
        self.growing: list[list[Any]] = []
        """Lists from outside that rounds append to."""
        self.appended: list[tuple[list[Any], list[Any]]] = []
        """What the last round appended to which list from outside."""
        self.shared: list[list[Any]] = []
        """What other results than what is carried may be one with."""

    def record(self) -> Any:
        """Write the scan, and put the frame behind the loop."""
        recorder, carrying = self.recorder, self.carrying
        slices = self.slices = self.source.slices(recorder)
        while True:
            begun = [recorder.abstract(each) for each in carrying.begin()]
            self.begun = begun
            known = [*begun, *[recorder.abstract(_unread(each)) for each in self.born.values()]]
            roots = self.writes.roots
            try:
                results = scan(
                    recorder,
                    self._step,
                    [*known, *roots],
                    slices,
                    name=NAME,
                    may_write=True,
                    n_staying=len(known) * gives_itself(recorder),
                )
            except More:
                continue
            except WritesOutside as found:
                self.writes.add(found, self.body)
                continue
            break
        return self._go_on(begun, roots, slices, list(results))

    def _step(self, *given: Any) -> list[Any]:
        """Run one round on what is carried, on what is written to, and on slices."""
        body = self.recorder.body
        assert body is not None, "a round is recorded in a body"
        self.body = body
        n_carried, n_written = len(self.carrying.carried), len(self.writes.roots)
        n_known = n_carried + len(self.born)
        self.writes.begin_round(body, given[n_known : n_known + n_written])
        slices = given[n_known + n_written :]
        self.rows = list(slices)
        for each in slices:
            self.recorder.doubts.differ("offset", each.node)
        value = self.source.at(self.recorder, iter(slices))
        state = self.carrying.state(given[:n_carried])
        with _undone(body):
            with self.recorder.grown.growing(self.growing), self._lists(body) as appended:
                end = self._run(state, value)
            self._settle_lists(appended)
            values, born = self.carrying.ended(end.frame)
        written = [copy for _, copy in body.written]
        items = [item for _, new in appended for item in new]
        self._settle_born([self.recorder.abstract(each).tensor_type for each in born], body)
        results = [self.recorder.abstract(each) for each in (*values, *born, *written, *items)]
        others = results[:n_known] + results[n_known + n_written :]
        self.writes.check(body, [*self.begun, *self.slices, *others])
        self.shared = self.carrying.note_shared(results[len(values) :])
        return list(results)

    def _settle_lists(self, appended: list[tuple[list[Any], list[Any]]]) -> None:
        """Record the round again if lists grow that it may have looked into.

        Raises: More.
        """
        known = {id(each) for each in self.growing}
        news = [each for each, _ in appended if id(each) not in known]
        self.appended = appended
        if news:
            self.growing += news
            raise More

    def _settle_born(self, types: Sequence[TensorType], body: Body) -> None:
        """Record the round again if it assigns variables that are not carried yet.

        Raises: More, operator-arguments (a size that may differ from round to round).
        """
        born = dict(zip(self.carrying.born, types, strict=True))
        if born.keys() == self.born.keys():
            return
        for path, each in born.items():
            sizes = [size for size in each.shape if isinstance(size, Expr)]
            if not all(body.before.issuperset(size.symbols) for size in sizes):
                value = self.recorder.abstract(self.carrying.born[path])
                reason = f"a round makes {value!r}, whose sizes may differ from round to round"
                raise problem("operator-arguments", operator=NAME, reason=reason)
        self.born = born
        raise More

    def _run(self, state: tuple[list[Any], list[Any]], value: Any) -> End:
        end = run_iteration(self.frame, self.test, *state, value)
        if end.kind == "raised":
            if isinstance(end.value, (MonographError, *_FATAL)):
                raise end.value
            raise problem("loop-raises", loop=NAME, error=end.value)
        if end.kind == "elsewhere":
            returns = any(each.place == EXIT for each in end.frame.leavings)
            raise problem("loop-leaves", loop=NAME, how="returned" if returns else "left")
        if end.kind != "joined":
            raise problem("loop-leaves", loop=NAME, how=end.kind)
        return end

    @contextmanager
    def _lists(self, body: Body) -> Generator[list[tuple[list[Any], list[Any]]]]:
        """Let lists from outside grow while a round runs, and be as before when it has.

        Gives what was appended to which. Lists that a comprehension builds stand on the stack.
        """
        built = [each for each in self.frame.stack if type(each) in (list, set, dict)]
        before = [each.copy() for each in built]
        appended: list[tuple[list[Any], list[Any]]] = []
        try:
            yield appended
            if body.part is not None:
                appended += body.part.appended()
            told = {id(each) for each, _ in appended}
            for each, was in zip(built, before, strict=True):
                if id(each) in told:
                    continue
                if type(each) is list and len(each) > len(was):
                    appended.append((each, each[len(was) :]))
                elif len(each) != len(was):
                    raise _growing("a set or a dict", "a longer one")
            for each, new in appended:
                for item in new:
                    if not isinstance(item, torch.Tensor):
                        raise _growing("a list of tensors", f"one with {described(item)}")
                del each[-len(new) :]
        finally:
            for each, was in zip(built, before, strict=True):
                _refill(each, was)

    def _go_on(
        self,
        begun: Sequence[AbstractTensor],
        roots: Sequence[AbstractTensor],
        slices: Sequence[AbstractTensor],
        results: list[AbstractTensor],
    ) -> Any:
        recorder, carrying = self.recorder, self.carrying
        rest = iter(results)
        after, born, written = (
            [next(rest) for _ in each] for each in (begun, carrying.born, roots)
        )
        stacks = list(rest)
        self.writes.copy_back(self.body, written)
        lasts = [*carrying.made, *carrying.born.values()]
        self._part(slices, lasts, [*after, *born])
        # Of the results, those of tensors that are written to are these tensors.
        for shared, result in zip(self.shared, [*born, *roots, *stacks], strict=True):
            if shared:
                recorder.doubts.entangle([result, *shared, *slices])
                recorder.doubts.differ("offset", result.node)
        for shared, result in zip(carrying.roots, after, strict=True):
            if shared:
                recorder.doubts.entangle(slices)
                recorder.doubts.differ("offset", result.node)
        if born:
            require_a_round(self.source.count)
        held = dict(zip(map(id, carrying.made), after, strict=True))
        self._let_grow(iter(stacks), held)
        stack, slots = carrying.state(after, born)
        carrying.note_doubts(begun, after, [*stack, *slots])
        return move(self.frame, self.test.out, stack, slots)

    def _part(
        self, slices: Sequence[AbstractTensor], lasts: Sequence[Any], results: Sequence[Any]
    ) -> None:
        """A part of a tensor from outside that the last round gives is a copy, if it has gaps."""
        doubts = self.recorder.doubts
        for last, result in zip(lasts, results, strict=True):
            if not isinstance(last, AbstractTensor) or is_dense(last.tensor_type):
                continue
            root = last.storage_root
            if any(root is row.storage_root for row in self.rows):
                owners = [each.storage_root for each in slices]
            else:
                owners = [root] if self._is_of_outside(last) else []
            for owner in owners:
                doubts.entangle([result, owner])
                doubts.part(result, owner, "for")

    def _let_grow(self, stacks: Iterator[AbstractTensor], held: Mapping[int, Any]) -> None:
        """Put into lists what rounds appended; `held` is what variables hold after the last."""
        for grown, new in self.appended:
            self.recorder.scopes.tell(grown)
            made = [next(stacks) for _ in new]
            last = held.get(id(new[-1]))
            if last is None and new[-1].node.graph is not self.body.graph:
                last = new[-1]  # the same in every round
            is_view = last is None and self._is_of_outside(new[-1])
            self.recorder.grown.add(grown, self.source.count, made, last, is_view=is_view)

    def _is_of_outside(self, item: AbstractTensor) -> bool:
        """Whether an item lies in memory of a tensor from outside, or of what is gone over."""
        root = item.storage_root
        is_row = any(root is each.storage_root for each in self.rows)
        return is_row or (root.node is not None and root.node.graph is not self.body.graph)


def _unread(t: TensorType) -> torch.Tensor:
    """A tensor of a type, for what has no value before the first round."""
    shape = tuple(map(to_sym, t.shape))
    if t.strides is None:
        return own(torch.zeros(shape, dtype=t.dtype, device=t.device))
    strides = tuple(map(to_sym, t.strides))
    return own(torch.empty_strided(shape, strides, dtype=t.dtype, device=t.device)).zero_()


@contextmanager
def _undone(body: Body) -> Generator[None]:
    """Put back what a round wrote to objects from outside where it is given up."""
    try:
        yield
    except BaseException:
        if body.part is not None:
            body.part.undo()
        raise


def _growing(before: str, after: str) -> MonographError:
    return problem(
        "loop-carry-changes",
        operator=NAME,
        what="kind",
        result="what a round adds to",
        before=before,
        after=after,
    )


def _refill(built: Any, was: Any) -> None:
    if len(built) != len(was):
        built.clear()
        (built.extend if type(built) is list else built.update)(was)


__all__ = ["NAME", "repeat"]
