"""Loop capture, shared: `while` and `for` record one iteration that stands for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from monograph.abstract.layout import is_dense
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.control_flow.dynamic_context import context_of, within_context
from monograph.capture.control_flow.loops.carried_state import CarriedState
from monograph.capture.control_flow.loops.loop_carried_writes import CarriedWrites
from monograph.capture.control_flow.region import gives_itself
from monograph.capture.internal_errors import refusal_of
from monograph.capture.restart import Restart, restarted
from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.bytecode.branches.branch_targets import LoopTest
    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder

Ended = TypeVar("Ended")


class LoopCapture(Generic[Ended]):
    """One loop while it is recorded: what is carried, and written to, is found by recording it."""

    def __init__(
        self,
        recorder: Recorder,
        frame: InterpreterFrame,
        test: LoopTest,
        name: str,
        *,
        makes_last: bool,
    ) -> None:
        self.recorder = recorder
        self.frame = frame
        self.test = test
        self.name = name
        self.carrying = CarriedState(recorder, frame, test, name, makes_last=makes_last)
        self.writes = CarriedWrites(recorder)
        self.region: Region
        """The last iteration that was recorded."""
        self.rows: list[AbstractTensor] = []
        """The slices that it went over, if it is given these."""

    def restarted(self, record: Callable[[], Ended]) -> Ended:
        """Record until no more is carried than was known, and nothing else is written to."""
        return restarted(record, self._prepare)

    def _prepare(self, restart: Restart) -> bool:
        if restart.reason == "copy" and restart.cause.region is self.region:
            self.writes.add(restart.cause)
            return True
        return restart.reason == "carry" and restart.cause in (None, self)

    def options(self, n_known: int) -> dict[str, Any]:
        """What the operator is told; the first `n_known` results are these tensors themselves."""
        n_staying = n_known * gives_itself(self.recorder)
        return {"name": self.name, "may_write": True, "n_staying": n_staying}

    def begin_iteration(self, values: Sequence[Any]) -> Region:
        """The region that is recorded; `values` is what the iteration before left in `writes`."""
        region = self.recorder.region
        assert region is not None, "an iteration is recorded in a region"
        self.region = region
        self.writes.begin_iteration(region, values)
        return region

    def note_parts(
        self,
        slices: Sequence[AbstractTensor],
        lasts: Sequence[Any],
        results: Sequence[Any],
        shares: Sequence[Sequence[AbstractTensor]],
    ) -> None:
        """A part of a tensor from outside that the last iteration gives is a copy if with gaps."""
        aliases = self.recorder.aliases
        for last, result, shared in zip(lasts, results, shares, strict=True):
            if not isinstance(last, AbstractTensor) or is_dense(last.tensor_type):
                continue
            root = last.storage_root
            if any(root is row.storage_root for row in self.rows):
                owners = [each.storage_root for each in slices]
            else:
                owners = [root] if self.is_of_outside(last) else [*shared]
            for owner in owners:
                aliases.may_alias([result, owner])
                aliases.copied(result, owner, self.name)

    def is_of_outside(self, item: AbstractTensor) -> bool:
        """Whether an item lies in memory of a tensor from outside, or of what is gone over."""
        root = item.storage_root
        is_row = any(root is each.storage_root for each in self.rows)
        return is_row or (root.node is not None and root.node.graph is not self.region.graph)

    def run(self, run: Callable[[], End]) -> End:
        """Run an iteration: the next begins with what is in force. Raises: branch-side-effect."""
        before = context_of(self.recorder, self.frame)
        end = within_context(self.recorder, self.frame, run)
        goes_on = end.kind == "joined" or bool(end.frame.leavings)
        if goes_on and not end.context.is_like(before):
            raise problem("branch-side-effect", operator=self.name, kind="switch", name="")
        return end

    def check_end(self, end: End, *kinds: str) -> End:
        """How an iteration ended, if it is one of these ways. Raises: loop-raises, loop-leaves."""
        if end.kind == "raised":
            if isinstance(end.value, MonographError | RecursionError | MemoryError):
                raise end.value
            refusal = refusal_of(end.value)
            if refusal is not None:
                raise refusal from end.value
            raise problem("loop-raises", loop=self.name, error=end.value)
        if end.kind not in kinds:
            raise problem("loop-leaves", loop=self.name, how=end.kind)
        return end


__all__ = ["LoopCapture"]
