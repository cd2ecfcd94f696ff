"""Lambda lifting: what a subgraph uses from outside becomes its inputs.

A subgraph is written with the values of the graphs around it used as they are, as a nested function
of Python is. `lift` then gives it an input for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node, map_arg

from monograph.host.fx_nodes import (
    append_node,
    detached_node,
    inputs_of,
    put_before,
    replace_input,
)
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch.fx.graph import Graph

    from monograph.capture.recording.graph_writer import GraphWriter


@dataclass(slots=True)
class Subgraph:
    """A finished subgraph, and the subgraphs that it calls by the names it reads them by."""

    graph: Graph
    children: dict[str, Subgraph] = field(default_factory=dict[str, "Subgraph"])


def read(writer: GraphWriter, children: dict[str, Subgraph], base: str, subgraph: Subgraph) -> Node:
    """Hang a subgraph below the graph that is written; gives the node that reads it."""
    name = writer.new_name(f"{base}_0")
    children[name] = subgraph
    return append_node(writer.graph, name, "get_attr", name, (), {})


def as_nodes(writer: GraphWriter, values: Sequence[Any]) -> list[Any]:
    """Arguments of one list: plain integers become nodes where others are, as files need it."""
    if not any(isinstance(value, Node) for value in values):
        return list(values)
    return [_as_node(writer, value) if type(value) is int else value for value in values]


def _as_node(writer: GraphWriter, value: int) -> Node:
    name = writer.new_name("sym_int")
    node = append_node(writer.graph, name, "call_function", torch.sym_int, (value,), {})
    node.meta["val"] = value
    return node


def end(graph: Graph, returned: Any, values: Any) -> None:
    """Write the output; `values` are what the returned nodes stand for."""
    node = append_node(graph, "output", "output", "output", (returned,), {})
    node.meta["val"] = values


def lift(graphs: Sequence[Graph], first: Sequence[Node] = ()) -> list[Node]:
    """Turn what finished graphs use from outside into inputs; returns what these are, outside.

    All graphs get the same inputs, after the placeholders they have; those of `first` come first.
    """
    used = [_used_from_outside(graph) for graph in graphs]
    every = {source: None for each in used for source in each}
    lifted = list(dict.fromkeys([*(node for node in first if node in every), *every]))
    for graph, users in zip(graphs, used, strict=True):
        _take_inputs(graph, lifted, users)
    return lifted


def _used_from_outside(graph: Graph) -> dict[Node, list[Node]]:
    """The nodes of other graphs that a graph uses, in order, each with those that use it."""
    used: dict[Node, list[Node]] = {}
    for node in graph.nodes:
        for source in inputs_of(node):
            if source.graph is not graph:
                used.setdefault(source, []).append(node)
    if any(map(_is_arithmetic, used)):
        _recompute_numbers(graph)
        return _used_from_outside(graph)
    return used


def _recompute_numbers(graph: Graph) -> None:
    """Floats and truths from outside that are made of integers are computed from these again.

    Why: operators take tensors and integers.
    """
    memo: dict[Node, Any] = {}
    anchor = _first_call(graph)

    def inside(source: Node) -> Any:
        if source.graph is graph or not _is_arithmetic(source):
            return source
        if source not in memo:
            args = map_arg(source.args, inside)
            copy = detached_node(
                graph, source.name, source.op, source.target, args, dict(source.kwargs)
            )
            copy.meta.update(source.meta)
            put_before(anchor, copy)
            memo[source] = copy
        return memo[source]

    for node in list(graph.nodes):
        if any(map(_is_arithmetic, node.all_input_nodes)):
            node.args = map_arg(node.args, inside)
            node.kwargs = map_arg(node.kwargs, inside)


def _is_arithmetic(source: Node) -> bool:
    """Whether it is a float or a truth computed from other numbers, not read from a tensor."""
    value = source.meta.get("val")
    if source.op != "call_function" or not isinstance(value, torch.SymFloat | torch.SymBool):
        return False
    return not isinstance(source.target, OpOverload)


def _first_call(graph: Graph) -> Node:
    return next(node for node in graph.nodes if node.op != "placeholder")


def _take_inputs(graph: Graph, lifted: Sequence[Node], users: dict[Node, list[Node]]) -> None:
    """Give a graph these inputs; of those it uses, `users` says where."""
    anchor = _first_call(graph)
    for source in lifted:
        node = detached_node(graph, source.name, "placeholder", source.name, (), {})
        node.meta.update(source.meta)
        put_before(anchor, node)
        if source in users:
            for user in users[source]:
                replace_input(user, source, node)


__all__ = ["Subgraph", "as_nodes", "end", "lift", "read"]
