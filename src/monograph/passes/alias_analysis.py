"""Alias sets of a graph: which values may share memory, is it written to, is it returned.

A conservative partition: two nodes are apart only where no operator can have made one a view of the
other. A composite operator may return its argument (`dropout` in evaluation does), so its results
are taken to share memory with all its arguments, whatever its schema says.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.aliasing import aliasing_of, written_by
from monograph.capture.recording.operators import is_droppable
from monograph.host.operator_types import HigherOrderOperator, OpOverload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.fx.node import Node


class Sharing:
    """The memory of one graph. Those `together` are placeholders that may share memory."""

    def __init__(self, module: torch.fx.GraphModule, *together: Iterable[Node]) -> None:
        self._parent: dict[Node, Node] = {}
        self._written: set[Node] = set()
        self._returned: set[Node] = set()
        for group in together:
            self._join([*group])
        for node in module.graph.nodes:
            if node.op == "output":
                self._returned.update(node.all_input_nodes)
            elif node.op == "call_function":
                self._read(module, node)
        self._written = {self.root(node) for node in self._written}
        self._returned = {self.root(node) for node in self._returned}

    def root(self, node: Node) -> Node:
        """The same node for all that may share memory."""
        while node in self._parent:
            node = self._parent[node]
        return node

    def is_written(self, node: Node) -> bool:
        """Whether anything in the graph writes to the memory of this value."""
        return self.root(node) in self._written

    def is_returned(self, node: Node) -> bool:
        """Whether the caller may get hold of the memory of this value."""
        return self.root(node) in self._returned

    def is_settled(self, node: Node) -> bool:
        """Whether neither what the node reads nor what it makes is ever written to."""
        return not any(self.is_written(each) for each in (node, *node.all_input_nodes))

    def _join(self, nodes: list[Node]) -> None:
        for node in nodes[1:]:
            one, other = self.root(nodes[0]), self.root(node)
            if one is not other:
                self._parent[other] = one

    def _read(self, module: torch.fx.GraphModule, node: Node) -> None:
        target: Any = node.target
        self._written.update(written_arguments(module, node))
        tensors = [each for each in node.all_input_nodes if may_hold_memory(each)]
        if isinstance(target, OpOverload):
            if aliasing_of(target).may_alias:
                self._join([node, *tensors])
        elif isinstance(target, HigherOrderOperator) or target is operator.getitem:
            self._join([node, *tensors])


def is_pure(node: Node) -> bool:
    """Whether running the node has no effect and no randomness: only its result matters."""
    return node.op == "call_function" and is_droppable(node.target)


def written_arguments(module: torch.fx.GraphModule, node: Node) -> list[Node]:
    """What a node of this module writes to; a subgraph that writes to anything, to all it takes."""
    target: Any = node.target
    if isinstance(target, OpOverload):
        return written_by(node)
    if not isinstance(target, HigherOrderOperator):
        return []
    bodies = (each for each in node.all_input_nodes if each.op == "get_attr")
    if not any(writes(getattr(module, str(each.target), None)) for each in bodies):
        return []
    return [each for each in node.all_input_nodes if may_hold_memory(each)]


def writes(module: object) -> bool:
    """Whether a subgraph writes to anything."""
    if not isinstance(module, torch.fx.GraphModule):
        return False
    for node in module.graph.nodes:
        target = node.target
        if isinstance(target, OpOverload) and written_by(node):
            return True
    return any(writes(child) for child in module.children())


def may_hold_memory(node: Node) -> bool:
    """Whether a value is a tensor, or holds some."""
    val = node.meta.get("val")
    return val is None or isinstance(val, torch.Tensor | tuple | list)


__all__ = [
    "Sharing",
    "is_pure",
    "may_hold_memory",
    "writes",
    "written_arguments",
]
