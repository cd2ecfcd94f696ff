"""A `return` on data in a round of a loop that is recorded as one.

Whether a round returned is carried, and ends the loop; so is what it returned, which is something
of its type until a round does. Behind the loop, that is a way that has left for good, as behind a
condition (see `arriving`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import to_sym
from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_targets import Leaving
from monograph.capture.control_flow.alias_analysis import shared
from monograph.capture.control_flow.branches.state_merge import kind_of_number
from monograph.capture.control_flow.loops.carried_state import More
from monograph.capture.recording.scalar_tensors import number_tensor, own
from monograph.diagnostics import problem
from monograph.host.trees import pytree
from monograph.integers import symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.bytecode.branches.branch_execution import End
    from monograph.capture.recording.recorder import Recorder

_DTYPES = {int: torch.int64, float: torch.float64, bool: torch.bool}


class Returns:
    """What is known so far of what rounds return."""

    def __init__(self, recorder: Recorder, is_written: Callable[[Any], bool]) -> None:
        """`is_written` says whether rounds write to a tensor, which is returned as it is."""
        self.recorder = recorder
        self._is_written = is_written
        self.leaves: list[Any] | None = None
        """What a round returned, flat; None as long as none was seen to return."""
        self.spec: Any = None
        self.types: dict[int, TensorType] = {}
        """Of the leaves that rounds make."""
        self.roots: list[list[Any]] = []

    @property
    def count(self) -> int:
        """How many values are carried."""
        return 0 if self.leaves is None else 1 + len(self.types)

    def begin(self) -> list[Any]:
        """What the loop begins with: nothing is returned."""
        if self.leaves is None:
            return []
        fillers = [
            own(torch.zeros(tuple(map(to_sym, t.shape)), dtype=t.dtype, device=t.device))
            for t in self.types.values()
        ]
        return [number_tensor(False, torch.bool), *fillers]

    def ended(self, end: End) -> tuple[Any, list[Any]]:
        """Whether a round returned, None if none does, and what else is carried of it.

        Raises: More, loop-leaves.
        """
        flag, value = _returned(end)
        if flag is None:
            return None, []
        leaves, spec = pytree.tree_flatten(value)
        values = {n: self._carried(leaf) for n, leaf in enumerate(leaves)}
        values = {n: value for n, value in values.items() if value is not None}
        is_new = self.leaves is None or values.keys() != self.types.keys()
        self.leaves, self.spec = leaves, spec
        if is_new:
            self.types = {n: value.tensor_type for n, value in values.items()}
            self._check_sizes()
            raise More
        assert self.recorder.body is not None, "a round is recorded as a body"
        self.roots = shared(self.recorder.doubts, self.recorder.body, list(values.values()))
        return flag, [flag, *values.values()]

    def _carried(self, leaf: Any) -> AbstractTensor | None:
        """A leaf that is made in the round, as a tensor."""
        body = self.recorder.body
        assert body is not None, "a round is recorded as a body"
        if isinstance(leaf, AbstractTensor):
            if self._is_written(leaf):
                return None
            is_inside = leaf.node is not None and leaf.node.graph is body.graph
            return leaf if is_inside else None
        kind = kind_of_number(leaf)
        if kind is None or isinstance(leaf, int | float):
            return None
        return self.recorder.abstract(number_tensor(leaf, _DTYPES[kind]))

    def _check_sizes(self) -> None:
        body = self.recorder.body
        assert body is not None, "a round is recorded as a body"
        for t in self.types.values():
            if any(not symbols(size) <= body.before for size in t.shape):
                raise problem("loop-leaves", how="returned")

    def leaving(self, ended: Sequence[Any], others: Sequence[Any]) -> tuple[Leaving, ...]:
        """The way that has left, behind the loop; `others` is what it began and ended with."""
        if self.leaves is None:
            return ()
        flag, *values = ended
        leaves = list(self.leaves)
        for (n, value), roots in zip(zip(self.types, values, strict=True), self.roots, strict=True):
            if roots:
                tensors = [each for each in others if isinstance(each, AbstractTensor)]
                self.recorder.doubts.entangle([value, *roots, *tensors])
            leaves[n] = value if isinstance(leaves[n], AbstractTensor) else value.item()
        return (Leaving(EXIT, flag, (pytree.tree_unflatten(leaves, self.spec),)),)


def _returned(end: End) -> tuple[Any, Any]:
    """Whether a round returned, and what; it may also leave for nowhere else."""
    if end.kind == "returned" and not end.frame.leavings:
        return number_tensor(True, torch.bool), end.value
    if not end.frame.leavings:
        return None, None
    if [each.place for each in end.frame.leavings] != [EXIT]:
        raise problem("loop-leaves", how="elsewhere")
    (leaving,) = end.frame.leavings
    return leaving.flag, leaving.state[0]


__all__ = ["Returns"]
