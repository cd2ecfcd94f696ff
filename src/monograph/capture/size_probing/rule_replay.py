"""Replay of shape rules with some sizes fixed, without running user code.

User code, and every rule, is a function of what it is given and of what it is told about sizes: of
its *premises*. Law: where all of them hold at some sizes, each step does there what it did before,
and so the graph is the module there too, whatever guards were made meanwhile. A rule that is told
something else there is asked again, with the types that its arguments have at these sizes; if it
gives what the graph says its result is there, no later step can tell.

Steps of dimensions of size 1, and of tensors without elements, may differ from what the graph says:
no element shows them. But they are handed on, so every rule that gets such a tensor is asked again,
and user code must not have asked how any tensor lies in memory. So may those of a copy that is a
view there, where nobody sees it (`layout_differences`).

What user code itself was told must hold, or only a run can tell what it would do.
"""

from __future__ import annotations

import operator
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from torch.fx.node import Node

from monograph.abstract.tensor_type import TensorType
from monograph.capture.recording.inferences import Inference, inferred
from monograph.capture.size_probing.layout_differences import are_unseen, may_begin
from monograph.capture.size_probing.retracing import Different
from monograph.diagnostics import MonographError, asked_from
from monograph.host.fx_nodes import is_removed
from monograph.integers import (
    Expr,
    Real,
    Relation,
    eq,
    followers,
    if_let_in,
    negate,
    substitute,
    substitute_real,
    substitute_relation,
    use,
)
from monograph.rules.fallback import Memo

if TYPE_CHECKING:
    from collections.abc import Mapping

    from monograph.capture.captured import Capture
    from monograph.diagnostics import Frame
    from monograph.integers import Facts, Guard, Truth


def replayed(captured: Capture, fixed: Mapping[Expr, int]) -> list[Guard] | None:
    """What other sizes must be for the graph to be the module at these; None where a run must tell.

    Raises: Different, if an operator is refused there.
    """
    there = if_let_in(captured.facts, fixed)
    if there is None or captured.inference_results:  # which are told of when the run has ended
        return None
    if not all(there.known(eq(e, simpler)) for e, simpler in captured.facts.rewritten.items()):
        return None
    recorder = captured.recorder
    n_true = _count_true(there, recorder.premises)
    replay = _Replay(captured, there, followers(captured.facts, fixed))
    for node in recorder.operations:
        inference = recorder.inferences.get(node)
        is_reached = inference is None or inference.n_told <= n_true
        if not is_reached or not replay.agrees(node):
            return None
    if n_true != len(recorder.premises) or not are_unseen(captured, replay.lying):
        return None
    return there.guards


def _count_true(there: Facts, told: Mapping[Truth, bool]) -> int:
    """How many of these, in order, hold before one does not."""
    return sum(1 for _ in takewhile(lambda each: _holds(there, *each), told.items()))


def _hold(there: Facts, told: Mapping[Truth, bool]) -> bool:
    return all(_holds(there, *each) for each in told.items())


def _holds(there: Facts, asked: Truth, answer: bool) -> bool:  # noqa: FBT001 - the answer it got
    return there.known(asked if answer else negate(asked)) is True


class _Replay:
    """Rules asked again at some sizes, and what they ask of the others."""

    def __init__(self, captured: Capture, there: Facts, values: Mapping[Expr, int]) -> None:
        self._captured = captured
        self._facts = there
        self._values = dict(values)
        self._fallback = Memo()
        self._instead: dict[Node, Any] = {}
        """Types of results that differ from what the graph says, in steps that nothing shows."""
        self.lying: set[Node] = set()
        """Those that lie otherwise in memory, for their elements to show."""

    def agrees(self, node: Node) -> bool:
        """Whether this step is there what the graph says. Raises: Different."""
        inference = self._captured.recorder.inferences.get(node)
        affected = bool(self._instead) and any(n in self._instead for n in node.all_input_nodes)
        if inference is None:
            return not affected or self._takes(node)
        if not affected and not self._is_told_otherwise(inference):
            return True
        result = self._inferred(inference, node)
        if result is None:
            return False
        expected = self._at(inference.result)
        if self._same(result, expected, shown=False):
            return True
        if not self._same(result, expected, shown=True):
            if is_removed(node):
                return False
            begins = may_begin(node) or not self.lying.isdisjoint(node.all_input_nodes)
            if not begins or not self._same_elements(result, expected):
                raise Different(f"gets another result of {node.target}", self._origin(node))
            self.lying.add(node)
        self._instead[node] = result
        return not inference.op.mutated and not self._captured.recorder.shows_layout

    def _takes(self, node: Node) -> bool:
        """Whether this is one of several results of an operator."""
        if node.target is not operator.getitem:
            return False
        results, index = node.args
        self._instead[node] = self._instead[results][index]  # pyright: ignore[reportArgumentType, reportCallIssue, reportIndexIssue]
        return True

    def _is_told_otherwise(self, inference: Inference) -> bool:
        if not _hold(self._facts, inference.premises):
            return True
        # Its answers are remembered, and then nothing is told.
        return inference.op.rule is None and self._depends(inference.args, inference.kwargs)

    def _depends(self, *values: Any) -> bool:
        for value in values:
            match value:
                case TensorType():
                    found = self._depends(value.shape, value.strides, value.offset)
                case dict():
                    found = self._depends(*value.values())
                case list() | tuple():
                    found = self._depends(*value)
                case _:
                    found = not self._values.keys().isdisjoint(getattr(value, "symbols", ()))
            if found:
                return True
        return False

    def _inferred(self, inference: Inference, node: Node) -> Any:
        """The rule's answer there; None if it is about something else. Raises: Different."""
        facts = self._facts
        frames = self._origin(node)
        facts.locate = lambda: frames
        born = len(facts.symbols), len(facts.assertions)
        try:
            # A node that was removed has no arguments any more.
            given = inference.args if is_removed(node) else node.args
            named = inference.kwargs if is_removed(node) else node.kwargs
            args = [self._given(t, arg) for t, arg in zip(inference.args, given, strict=True)]
            kwargs = {name: self._given(t, named[name]) for name, t in inference.kwargs.items()}
            with use(facts), asked_from(frames):
                result = inferred(inference.op, args, kwargs, self._fallback)
        except ZeroDivisionError:
            return None
        except MonographError as error:
            if is_removed(node):
                return None
            headline = error.problems[0].diagnostic.headline
            raise Different(f"is refused: {headline}", frames) from error
        return result if born == (len(facts.symbols), len(facts.assertions)) else None

    def _origin(self, node: Node) -> tuple[Frame, ...]:
        return self._captured.recorder.scopes.filter.innermost_user(node.meta["frames"])

    # --- types at these sizes ----------------------------------------------------------------

    def _given(self, t: Any, arg: Any) -> Any:
        """An argument: what the graph says there, or what an earlier rule said instead."""
        if isinstance(arg, Node):
            return self._instead[arg] if arg in self._instead else self._at(t)
        if isinstance(arg, list | tuple) and isinstance(t, list | tuple):
            return [self._given(*pair) for pair in zip(t, arg, strict=True)]
        return self._at(t)

    def _at(self, value: Any) -> Any:
        """What this is at these sizes."""
        match value:
            case TensorType():
                return self._type_at(value)
            case Expr():
                return self._facts.simplify(substitute(value, self._values))
            case Real():
                return substitute_real(value, self._values)
            case Relation():
                return substitute_relation(value, self._values)
            case list():
                return [self._at(item) for item in value]
            case tuple():
                return tuple(self._at(item) for item in value)
            case _:
                return value

    def _type_at(self, t: TensorType) -> TensorType:
        return TensorType(
            self._at(t.shape),
            t.dtype,
            t.device,
            None if t.strides is None else self._at(t.strides),
            self._at(t.offset),
            t.requires_grad,
        )

    def _same(self, mine: Any, theirs: Any, *, shown: bool) -> bool:
        """Whether two results agree; with `shown`, as far as elements of tensors show it."""
        if isinstance(mine, TensorType):
            return isinstance(theirs, TensorType) and self._same_type(mine, theirs, shown=shown)
        if isinstance(mine, list | tuple):
            return (
                isinstance(theirs, list | tuple)
                and len(mine) == len(theirs)
                and all(self._same(*pair, shown=shown) for pair in zip(mine, theirs, strict=True))
            )
        if isinstance(mine, Expr) or isinstance(theirs, Expr):
            both = isinstance(mine, Expr | int) and isinstance(theirs, Expr | int)
            return both and (mine is theirs or self._facts.known(eq(mine, theirs)) is True)
        return mine is theirs or (type(mine) is type(theirs) and repr(mine) == repr(theirs))

    def _same_elements(self, mine: Any, theirs: Any) -> bool:
        """Whether two tensors differ in their strides and offset at most."""
        return (
            isinstance(mine, TensorType)
            and isinstance(theirs, TensorType)
            and (mine.dtype is theirs.dtype and mine.device == theirs.device)
            and self._same(mine.shape, theirs.shape, shown=True)
        )

    def _same_type(self, mine: TensorType, theirs: TensorType, *, shown: bool) -> bool:
        if not self._same_elements(mine, theirs):
            return False
        if shown and 0 in mine.shape:
            return True
        steps = zip(mine.shape, mine.stride(), theirs.stride(), strict=True)
        return self._same(mine.offset, theirs.offset, shown=shown) and all(
            (shown and size == 1) or self._same(step, other, shown=shown)
            for size, step, other in steps
        )


__all__ = ["replayed"]
