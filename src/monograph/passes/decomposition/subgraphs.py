"""Lowering of higher-order operators: each body becomes a graph in the same operators.

A body is walked as a graph inside of the new one, so the values it is given are those that stand
for them outside, and whatever it needs besides (sizes that a formula asks for) becomes an input.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.layout_origin import layout_sources
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.example_inputs import bind_number
from monograph.capture.inputs.outputs import drop_unused_nodes
from monograph.capture.recording.lifting import Subgraph, as_nodes, end, lift, read
from monograph.host.higher_order import ASSOCIATIVE_SCAN, COND, MAP, SCAN, WHILE_LOOP
from monograph.host.overloads import aten
from monograph.integers import Expr, Real
from monograph.passes.decomposition.arguments import mapped
from monograph.passes.decomposition.layouts import needs_a_layout
from monograph.passes.functionalization.functionalize import whole
from monograph.passes.graph_builder import is_tensor, same_layout, tensor_type
from monograph.passes.graph_walks import subgraph_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from torch.fx.graph import Graph

    from monograph.passes.decomposition.lowering import Lowering


BODIES: Final[Mapping[object, int]] = MappingProxyType(
    {ASSOCIATIVE_SCAN: 1, COND: 2, MAP: 1, SCAN: 1, WHILE_LOOP: 2}
)
"""How many subgraphs an operator calls. They stand first, after the condition of `cond`."""


def lower_call(lowering: Lowering, node: Node, env: Mapping[Node, Any]) -> Node:
    """Lower a call and the bodies it calls; gives the new call."""
    builder, target = lowering.builder, node.target
    before: Any = [node.args[0]] if target is COND else []
    n_bodies = BODIES[target]
    attributes: Any = node.args[len(before) : len(before) + n_bodies]
    *own, additional = node.args[len(before) + n_bodies :]
    values = lowering.read(mapped(additional, env))
    n_own = sum(len(each) for each in own) * (2 if target is ASSOCIATIVE_SCAN else 1)  # pyright: ignore[reportArgumentType]
    bodies = [_body(lowering, attribute, n_own, values) for attribute in attributes]
    carried = [
        as_nodes(builder.writer, builder.written(lowering.read(mapped(each, env)))) for each in own
    ]
    _keep_layouts(lowering, bodies, [each for group in carried for each in group])
    first = [value for value in values if value.__class__ is Node]
    lifted = lift([body.graph for body in bodies], first)
    children = builder.children
    reads = [
        read(builder.writer, children, _base(attribute), body)
        for attribute, body in zip(attributes, bodies, strict=True)
    ]
    condition = lowering.read(mapped(before, env))
    args = (*condition, *reads, *carried, lifted)
    base = node.name.rstrip("0123456789").rstrip("_")
    return builder.emit(target, base, args, {}, node.meta["val"])


def _keep_layouts(lowering: Lowering, bodies: Sequence[Subgraph], given: Sequence[Any]) -> None:
    """What bodies go by the layout of lies so when the loop begins; rounds leave it so."""
    for body in bodies:
        graph = body.graph
        passed = {node for node in lowering.laid_out if node.graph is graph}
        own = [node for node in graph.nodes if node.op == "placeholder"]
        for source in layout_sources({*passed, *filter(needs_a_layout, graph.nodes)}):
            if source.graph is graph:
                source = given[own.index(source) % len(given)]  # noqa: PLW2901 - from outside
            lowering.laid_out.update([source] if isinstance(source, Node) else [])


def _base(attribute: Node) -> str:
    return attribute.name.rstrip("0123456789").rstrip("_")


def _body(lowering: Lowering, attribute: Node, n_own: int, values: Sequence[Any]) -> Subgraph:
    builder = lowering.builder
    child = subgraph_of(attribute)
    page = builder.writer.inner_page()
    outer = builder.writer.turn_to(page), builder.children, builder.state, lowering.regions
    provenance = builder.provenance
    builder.children, builder.state, lowering.regions = {}, (), ()
    lowering.writes.find(child.graph, is_program=True)
    inputs = [each for each in child.graph.nodes if each.op == "placeholder"]
    inner = {each: _own_input(lowering, each) for each in inputs[:n_own]}
    inner |= dict(zip(inputs[n_own:], values, strict=True))
    # What copies by layout may be written to: of an input, it is a copy.
    inner |= {each: whole(inner[each]) for each in inputs if each in lowering.writes.roots}
    lowering.walk(child.graph, inner, is_program=True)
    _write_output(lowering, child.graph, inner)
    subgraph = Subgraph(page.graph, builder.children)
    builder.provenance = provenance
    page_around, builder.children, builder.state, lowering.regions = outer
    builder.writer.turn_to(page_around)
    drop_unused_nodes(page.graph)
    return subgraph


def _own_input(lowering: Lowering, source: Node) -> Any:
    """An input that differs from step to step."""
    builder = lowering.builder
    name = builder.writer.new_name(source.name)
    node = builder.placeholder(name, source.meta["val"])
    number = to_python(source.meta["val"])
    if isinstance(number, Expr | Real):
        bind_number(number, node, builder.writer)
        return number
    return node


def _write_output(lowering: Lowering, graph: Graph, env: Mapping[Node, Any]) -> None:
    builder = lowering.builder
    returned: Any = graph.output_node().args[0]
    several = isinstance(returned, list | tuple)
    taken: list[Any] = []
    for each in returned if several else [returned]:
        value = builder.written(lowering.read(mapped(each, env)))
        if is_tensor(value):
            value = _as_before(lowering, each, value, taken)
        taken.append(value)
    result = tuple(taken) if several else taken[0]
    shown = [each.meta["val"] if isinstance(each, Node) else each for each in taken]
    end(builder.writer.graph, result, tuple(shown) if several else shown[0])


def _as_before(lowering: Lowering, before: Node, value: Node, taken: Sequence[Any]) -> Node:
    """A result with storage of its own, which lies as it did."""
    builder, val = lowering.builder, before.meta["val"]
    options = {}
    lies = isinstance(val, AbstractTensor) and same_layout(val.tensor_type, tensor_type(value))
    if not lies and isinstance(val, AbstractTensor) and val.tensor_type.strides is None:
        options = {"memory_format": torch.contiguous_format}
    is_input = value.op == "placeholder" or value.graph is not builder.writer.graph
    if options or is_input or value in taken:
        copy: Node = builder.call(aten.clone.default, (value,), options)
        return copy
    return value


__all__ = ["BODIES", "lower_call"]
