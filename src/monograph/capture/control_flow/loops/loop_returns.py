"""Early return from a loop: a `return` on data in an iteration that stands for all of them.

Whether an iteration returned is carried, and ends the loop; so is what it returned, which is
something of its type until one does. Behind the loop, that is a side that has left for good, as
behind a condition (see `join_point`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_targets import Leaving
from monograph.capture.control_flow.branches.state_merge import kind_of_number
from monograph.capture.recording.scalar_tensors import filler, number_tensor
from monograph.capture.restart import Restart
from monograph.diagnostics import problem
from monograph.host.trees import pytree, unflatten
from monograph.integers import symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.bytecode.branches.branch_execution import End
    from monograph.capture.recording.recorder import Recorder

_DTYPES = {int: torch.int64, float: torch.float64, bool: torch.bool}


class LoopReturns:
    """What is known so far of what iterations return."""

    def __init__(self, recorder: Recorder, is_written: Callable[[Any], bool]) -> None:
        """`is_written` says whether iterations write to a tensor, which is returned as it is."""
        self.recorder = recorder
        self._is_written = is_written
        self.leaves: list[Any] | None = None
        """What an iteration returned, flat; None as long as none was seen to return."""
        self.spec: Any = None
        self.context: Any = None
        self.types: dict[int, TensorType] = {}
        """Of the leaves that iterations make."""
        self.roots: list[list[Any]] = []
        self.made: list[Any] = []
        """What the last iteration that was recorded returned of these."""

    @property
    def count(self) -> int:
        """How many values are carried."""
        return 0 if self.leaves is None else 1 + len(self.types)

    def begin(self) -> list[Any]:
        """What the loop begins with: nothing is returned."""
        if self.leaves is None:
            return []
        return [number_tensor(False, torch.bool), *map(filler, self.types.values())]

    def ended(self, end: End) -> tuple[Any, list[Any]]:
        """Whether an iteration returned, None if none does, and what else is carried of it.

        Raises: Restart, loop-leaves.
        """
        flag, value, self.context = _returned(end)
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
            raise Restart("carry")
        assert self.recorder.region is not None, "an iteration is recorded as a region"
        self.made = list(values.values())
        self.roots = self.recorder.region.shared(self.made)
        return flag, [flag, *values.values()]

    def _carried(self, leaf: Any) -> AbstractTensor | None:
        """A leaf that is made in the iteration, as a tensor."""
        region = self.recorder.region
        assert region is not None, "an iteration is recorded as a region"
        if isinstance(leaf, AbstractTensor):
            if self._is_written(leaf):
                return None
            is_inside = leaf.node is not None and leaf.node.graph is region.graph
            return leaf if is_inside else None
        kind = kind_of_number(leaf)
        if kind is None or isinstance(leaf, int | float):
            return None
        return self.recorder.abstract(number_tensor(leaf, _DTYPES[kind]))

    def _check_sizes(self) -> None:
        region = self.recorder.region
        assert region is not None, "an iteration is recorded as a region"
        for t in self.types.values():
            if any(not symbols(size) <= region.before for size in t.shape):
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
                self.recorder.aliases.may_alias([value, *roots, *tensors])
            leaves[n] = value if isinstance(leaves[n], AbstractTensor) else value.item()
        return (Leaving(EXIT, flag, (unflatten(leaves, self.spec),), self.context),)


def _returned(end: End) -> tuple[Any, Any, Any]:
    """Whether an iteration returned, what, and in which context; it leaves for nowhere else."""
    if end.kind == "returned" and not end.frame.leavings:
        return number_tensor(True, torch.bool), end.value, end.context
    if not end.frame.leavings:
        return None, None, None
    if [each.place for each in end.frame.leavings] != [EXIT]:
        raise problem("loop-leaves", how="elsewhere")
    (leaving,) = end.frame.leavings
    return leaving.flag, leaving.state[0], leaving.context


__all__ = ["LoopReturns"]
