"""Graph partitioning: the largest parts that a backend supports, each handed over whole.

Law: a partition is convex: no value leaves it and comes back, so it can run as one step. Parts that
write, draw random numbers, or touch memory that is written to stay outside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch.fx.node import Node, map_arg

from monograph.host.fx_nodes import append_node, close_graph
from monograph.passes.alias_analysis import Sharing, is_pure

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class Partition:
    """Nodes that a backend supports, in order, and the values that go in and come out."""

    nodes: tuple[Node, ...]
    inputs: tuple[Node, ...]
    outputs: tuple[Node, ...]

    def graph(self) -> torch.fx.Graph:
        """The partition as a graph of its own, which takes `inputs` and returns `outputs`."""
        graph = torch.fx.Graph()
        copies: dict[Node, Node] = {}
        for node in self.inputs:
            copies[node] = append_node(graph, node.name, "placeholder", node.name, (), {})
        for node in self.nodes:
            args = map_arg(node.args, copies.__getitem__)
            kwargs = map_arg(node.kwargs, copies.__getitem__)
            copies[node] = append_node(graph, node.name, node.op, node.target, args, kwargs)
        for node, copy in copies.items():
            copy.meta = dict(node.meta)
        results = tuple(copies[node] for node in self.outputs)
        append_node(graph, "output", "output", "output", (results,), {})
        close_graph(graph)
        return graph


def partition(
    module: torch.fx.GraphModule, supports: Callable[[Node], bool]
) -> tuple[Partition, ...]:
    """Split the nodes that `supports` accepts into as few partitions as depth allows.

    A node's depth counts how often a path to it enters supported nodes from others; supported nodes
    of one depth that are connected are a partition.
    """
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    sharing = Sharing(module, inputs)
    chosen: dict[Node, bool] = {}
    depth: dict[Node, int] = {}
    for node in module.graph.nodes:
        chosen[node] = is_pure(node) and sharing.is_settled(node) and bool(supports(node))
        depth[node] = max(
            (
                depth[each] + (chosen[node] and not chosen[each] and each.op == "call_function")
                for each in node.all_input_nodes
            ),
            default=0,
        )
    groups = _connected([node for node in chosen if chosen[node]], depth)
    return tuple(_partition(nodes) for nodes in groups)


def _connected(nodes: list[Node], depth: dict[Node, int]) -> list[list[Node]]:
    """Nodes of one depth that use each other."""
    group: dict[Node, int] = {}
    for node in nodes:
        near = {group[n] for n in node.all_input_nodes if n in group and depth[n] == depth[node]}
        number = min(near, default=len(group))
        group[node] = number
        for each, other in group.items():
            if other in near:
                group[each] = number
    found: dict[int, list[Node]] = {}
    for node in nodes:
        found.setdefault(group[node], []).append(node)
    return list(found.values())


def _partition(nodes: list[Node]) -> Partition:
    inside = set(nodes)
    inputs = {each: None for node in nodes for each in node.all_input_nodes if each not in inside}
    outputs = [node for node in nodes if any(user not in inside for user in node.users)]
    return Partition(tuple(nodes), tuple(inputs), tuple(outputs))


__all__ = ["Partition", "partition"]
