"""Early exits from a loop: a `return` on data in an iteration that stands for all of them.

Whether an iteration left is carried, and ends the loop; so is what it returned, which is something
of its type until one does. Behind the loop, that is a side that has left for good, as behind a
condition (see `join_point`).

Where that cannot be carried, as its size is made in the iteration, iterations end where they leave
the loop: what they hold there is carried, and the rest of the way is recorded behind the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.bytecode.analysis.control_flow_graph import EXIT
from monograph.bytecode.branches.branch_targets import Leaving
from monograph.capture.control_flow.branches.state_merge import kind_of_number
from monograph.capture.control_flow.loops.carried_state import leaves_in, rebuilt
from monograph.capture.recording.scalar_tensors import filler, number_tensor
from monograph.capture.restart import Restart
from monograph.diagnostics import problem
from monograph.host.trees import pytree, unflatten
from monograph.integers import symbols

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from monograph.abstract.tensor_type import TensorType
    from monograph.bytecode.branches.branch_execution import End
    from monograph.capture.recording.recorder import Recorder

_DTYPES = {int: torch.int64, float: torch.float64, bool: torch.bool}


@dataclass(slots=True, eq=False)
class _LoopExit:
    """What is known so far of one place that iterations leave for, and what they hold there."""

    leaving: Leaving
    leaves: Mapping[Any, Any]
    spec: Any
    types: dict[Any, TensorType]
    """Of the leaves that iterations make."""
    made: list[Any] = field(default_factory=list[Any])
    roots: list[list[Any]] = field(default_factory=list[list[Any]])

    def with_values(self, flag: Any, values: Sequence[Any]) -> Leaving:
        """The way behind the loop, with these in the place of what iterations make."""
        known = {
            path: value if isinstance(self.leaves[path], AbstractTensor) else value.item()
            for path, value in zip(self.types, values, strict=True)
        }
        before = self.leaving
        if before.place == EXIT:
            state = (unflatten([known.get(n, leaf) for n, leaf in self.leaves.items()], self.spec),)
        else:
            state = tuple([rebuilt(each, (n,), known) for n, each in enumerate(before.state)])
        return Leaving(before.place, flag, state, before.context, before.n_stack)


class LoopExits:
    """What is known so far of how iterations leave."""

    def __init__(self, recorder: Recorder, is_written: Callable[[Any], bool]) -> None:
        """`is_written` says whether iterations write to a tensor, which is returned as it is."""
        self.recorder = recorder
        self._is_written = is_written
        self._exits: dict[int, _LoopExit] = {}

    @property
    def count(self) -> int:
        """How many values are carried."""
        return sum(1 + len(each.types) for each in self._exits.values())

    @property
    def made(self) -> list[Any]:
        """What the last iteration left with, of what is carried."""
        return [value for each in self._exits.values() for value in (None, *each.made)]

    @property
    def roots(self) -> list[list[Any]]:
        """The tensors that each of those may be one with."""
        return [roots for each in self._exits.values() for roots in ([], *each.roots)]

    def begin(self) -> list[Any]:
        """What the loop begins with: no iteration has left."""
        return [value for each in self._exits.values() for value in _nothing(each)]

    def ended(self, end: End) -> tuple[Any, list[Any]]:
        """Whether an iteration left, None if none does, and what else is carried of it.

        Raises: Restart, loop-leaves.
        """
        found = {each.place: each for each in _ways_out(end)}
        news = {place: self._exit(each) for place, each in found.items()}
        if any(not self._is_known(place, each) for place, each in news.items()):
            self._exits |= news
            self._check_sizes(news.values())
            raise Restart("carry")
        left: Any = None
        carried: list[Any] = []
        for place, known in self._exits.items():
            if place not in news:  # a number that is known by now decides
                known.made, known.roots = [None for _ in known.types], [[] for _ in known.types]
                carried += _nothing(known)
                continue
            known.leaving, known.leaves = news[place].leaving, news[place].leaves
            known.made = news[place].made
            known.roots = self._shared(known.made)
            flag = found[place].flag
            left = flag if left is None else left.logical_or(flag)
            carried += [flag, *known.made]
        return left, carried

    def _exit(self, leaving: Leaving) -> _LoopExit:
        if leaving.place == EXIT:
            flat, spec = pytree.tree_flatten(leaving.state[0])
            leaves = dict(enumerate(flat))
        else:
            flat, spec = enumerate(leaving.state), None
            leaves = {leaf.path: leaf.value for n, each in flat for leaf in leaves_in(each, (n,))}
        values = {path: self._carried(leaf) for path, leaf in leaves.items()}
        made = {path: value for path, value in values.items() if value is not None}
        types = {path: value.tensor_type for path, value in made.items()}
        return _LoopExit(leaving, leaves, spec, types, [*made.values()])

    def _is_known(self, place: int, found: _LoopExit) -> bool:
        return place in self._exits and self._exits[place].types.keys() == found.types.keys()

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

    def _shared(self, values: Sequence[Any]) -> list[list[Any]]:
        assert self.recorder.region is not None, "an iteration is recorded as a region"
        return self.recorder.region.shared(values)

    def _check_sizes(self, exits: Iterable[_LoopExit]) -> None:
        region = self.recorder.region
        assert region is not None, "an iteration is recorded as a region"
        sizes = [size for each in exits for t in each.types.values() for size in t.shape]
        if not all(symbols(size) <= region.before for size in sizes):
            raise problem("loop-leaves", how="returned")

    def leaving(self, ended: Sequence[Any], others: Sequence[Any]) -> tuple[Leaving, ...]:
        """The ways that have left, behind the loop; `others` is what it began and ended with."""
        rest = iter(ended)
        found: list[Leaving] = []
        for each in self._exits.values():
            flag, *values = (next(rest) for _ in (0, *each.types))
            for value, roots in zip(values, each.roots, strict=True):
                if roots:
                    tensors = [one for one in others if isinstance(one, AbstractTensor)]
                    self.recorder.aliases.may_alias([value, *roots, *tensors])
            found.append(each.with_values(flag, values))
        return tuple(found)


def _nothing(known: _LoopExit) -> list[Any]:
    return [number_tensor(False, torch.bool), *map(filler, known.types.values())]


def _ways_out(end: End) -> Sequence[Leaving]:
    """Whether an iteration left, for where, and with what."""
    if end.kind == "returned" and not end.frame.leavings:
        return [Leaving(EXIT, number_tensor(True, torch.bool), (end.value,), end.context)]
    return end.frame.leavings


__all__ = ["LoopExits"]
