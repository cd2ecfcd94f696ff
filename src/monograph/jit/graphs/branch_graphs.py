"""The graph of a segment while it is recorded, and those of the sides of branches within it.

A side has a graph of its own. What it takes from graphs around becomes a parameter of it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, Final

from torch.fx import Graph

from monograph.jit.graphs.data_numbers import KEEPING_SHAPES
from monograph.jit.guard_code import storage_of

if TYPE_CHECKING:
    import torch
    from torch.fx import Node

__all__ = ["BranchGraphs", "BranchSide", "GivenUp", "NotRecordable"]


class NotRecordable(Exception):  # noqa: N818 - a signal, which is no error
    """An operation that no graph can hold, with the reason, and where that is if not here."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason)
        self.place = place


class GivenUp(BaseException):
    """A side of a branch would do what outlives it; no user code catches that."""


class BranchSide:
    """One side of a branch on data while it is recorded, as a graph of its own."""

    def __init__(self, nodes: dict[int, Node], tainted: set[int], depth: int) -> None:
        """What is known before it; `depth` is how high the stack was, with the condition."""
        self.graph = Graph()
        self.nodes, self.tainted = dict(nodes), set(tainted)
        self.depth = depth
        self.parameters: dict[Node, Node] = {}
        """Placeholders for nodes of graphs around, by those."""
        self.storages: set[int] = set()
        """Memory that was there before."""


class BranchGraphs:
    """What is known of the graph that is recorded now."""

    def __init__(self) -> None:
        """Nothing has been recorded."""
        self.graph = Graph()
        self.side: BranchSide | None = None
        """The side of a branch on data that is recorded now; `graph` is its graph then."""
        self.sides: dict[str, Graph] = {}
        """The graphs of sides that are recorded, by the names that nodes have for them."""
        self.chosen: set[int] = set()
        """Tensors that branches have left, which may be others in other calls."""
        self.nodes: dict[int, Node] = {}
        self.tainted: set[int] = set()
        """Tensors whose shape depends on data."""
        self.counted: set[int] = set()
        """Those of them that hold what was counted, and have the same rank in any case."""
        self.unbacked: set[Node] = set()
        """The nodes that give those."""
        self.shown: dict[int, Any] = {}
        """Memory that is looked at after the graph ran, with the instruction that looks."""
        self.expectations: list[tuple[Node, Any, tuple[Any, ...]]] = []
        """What is to be checked behind a node: a function, and what it takes after the node."""
        self.n_calls = 0
        self.is_exact = False
        """Whether metadata that Python did not ask for matter, too."""
        self._kept: list[Any] = []
        self._given: dict[int, Node] = {}
        """The inputs by identity, which are nodes in sides of branches, too."""
        self._storages: set[int] = set()
        self._own_storages: set[int] = set()
        """Memory that the graph makes, whatever the metadata: who writes there changes no input."""

    def keep(self, value: Any) -> None:
        """Keep an object alive, so that its identity stays its own."""
        self._kept.append(value)

    def lifted(self, node: Node) -> Node:
        """A node of a graph around, as a parameter of the side that is recorded."""
        if self.side is None or node.graph is self.graph:
            return node
        found = self.side.parameters.get(node)
        if found is None:
            with self.graph.inserting_after(self.graph._root):  # noqa: SLF001 - "to the front"
                found = self.graph.placeholder(f"outer_{len(self.side.parameters)}")
            self.side.parameters[node] = found
            if node in self.unbacked:
                self.unbacked.add(found)
        return found

    def choose(self, tensor: torch.Tensor, node: Node, *, varies: bool) -> None:
        """A branch on data has left a tensor; `varies` is whether its shape depends on data."""
        self.keep(tensor)
        self.nodes[id(tensor)] = node
        self.chosen.add(id(tensor))
        storage = storage_of(tensor)
        self._storages.add(storage)
        self._own_storages.discard(storage)
        if self.side is not None:
            self.side.storages.add(storage)
        if varies:
            self.tainted.add(id(tensor))

    def saved(self) -> dict[str, Any]:
        """What a side that is given up may have changed."""
        return {name: copy.copy(getattr(self, name)) for name in _OF_SIDES} | {"graph": self.graph}

    def restore(self, saved: dict[str, Any]) -> None:
        """As it was."""
        for name, value in saved.items():
            setattr(self, name, value)

    def refuse_in_side(self) -> None:
        """Raises: NotRecordable, where a side is recorded."""
        if self.side is not None:
            raise NotRecordable("an effect in a side of a branch on data")

    def depends_on_shapes(self, node: Node, target: Any) -> bool:
        """Whether a node takes a tensor whose shape depends on data, or numbers that may be one."""
        behind = {self.nodes[each] for each in self.tainted}
        if self.side is not None:
            behind |= {own for outer, own in self.side.parameters.items() if outer in behind}
        if target not in KEEPING_SHAPES:
            behind |= self.unbacked
        return not behind.isdisjoint(node.all_input_nodes)


_OF_SIDES: Final = (
    *("nodes", "tainted", "counted", "unbacked", "expectations", "shown", "n_calls", "side"),
    *("sides", "chosen", "is_exact", "_own_storages"),
)
"""Inputs stay inputs, and so does the memory that is theirs."""
