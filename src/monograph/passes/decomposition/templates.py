"""Templates of decompositions: what an operator becomes for given types, copied at each call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.fx.node import Node

from monograph.capture.recording.operators import OPERATORS, only_computes
from monograph.host.fx_nodes import append_node
from monograph.host.operator_types import OpOverload
from monograph.integers import Expr, Real, Relation

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from monograph.passes.graph_builder import GraphBuilder


class ValueRef:
    """The value with this number: first a template's arguments, then its steps."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


@dataclass(frozen=True, slots=True)
class TemplateNode:
    """One node of a template."""

    target: Any
    base: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    val: Any


@dataclass(frozen=True, slots=True)
class Template:
    """Steps in order, and what of them the operator returns, nested as it does.

    `laid_out` are the places of arguments that must lie as they do here for this to be right.
    """

    steps: tuple[TemplateNode, ...]
    results: Any
    laid_out: tuple[int, ...] = ()


def template_of(
    slots: list[Node], builder: GraphBuilder, results: Any, laid_out: Collection[Node] = ()
) -> Template:
    """The finished graph as a template; `results` are its nodes, numbers and constants."""
    needed = _needed(builder, results)
    nodes = [node for node in builder.writer.graph.nodes if node in needed]
    return template_from(slots, nodes, results, builder.described_anew, laid_out)


def template_from(
    slots: list[Node],
    nodes: Iterable[Node],
    results: Any,
    describe: Callable[[Any], Any],
    laid_out: Collection[Node] = (),
) -> Template:
    """Nodes as a template, for other tensors than `slots`, which are all different."""
    places = {node: ValueRef(i) for i, node in enumerate(slots)}
    steps: list[TemplateNode] = []
    for node in nodes:
        args = tuple([_referring(arg, places) for arg in node.args])
        kwargs = {name: _referring(arg, places) for name, arg in node.kwargs.items()}
        val = describe(node.meta["val"])
        steps.append(TemplateNode(node.target, _base(node.target), args, kwargs, val))
        places[node] = ValueRef(len(slots) + len(steps) - 1)
    fixed = tuple(i for i, slot in enumerate(slots) if slot in laid_out)
    return Template(tuple(steps), _referring(results, places), fixed)


def _needed(builder: GraphBuilder, results: Any) -> set[Node]:
    """The calls that results are made from, and those with an effect."""
    needed: set[Node] = set()
    _collect(results, needed)
    for node in reversed(builder.writer.graph.nodes):
        if node.op != "call_function":
            needed.discard(node)
        elif node in needed or not only_computes(node):
            needed.add(node)
            needed.update(node.all_input_nodes)
    return needed


def _collect(results: Any, nodes: set[Node]) -> None:
    if isinstance(results, Node):
        nodes.add(results)
    elif isinstance(results, list):
        for each in results:
            _collect(each, nodes)


def _base(target: Any) -> str:
    if isinstance(target, OpOverload):
        return OPERATORS.of(target).base_name
    return str(target.__name__)


def _referring(value: Any, places: dict[Node, ValueRef]) -> Any:
    if isinstance(value, Node):
        return places[value]
    if isinstance(value, list | tuple):
        return [_referring(item, places) for item in value]
    return value


def instantiate(template: Template, arguments: list[Node], builder: GraphBuilder) -> Any:
    """Write a template's nodes for these tensors; gives its results."""
    values = list(arguments)
    writer, provenance, state = builder.writer, builder.provenance, builder.state
    graph, new_name = writer.graph, writer.new_name

    def filled(arg: Any) -> Any:
        cls = type(arg)
        if cls is ValueRef:
            return values[arg.index]
        if cls is list:
            return [filled(item) for item in arg]
        if cls is Expr or cls is Real or cls is Relation:
            return writer.number(arg)
        return arg

    for step in template.steps:
        kwargs = step.kwargs
        if kwargs:
            kwargs = {name: filled(arg) for name, arg in kwargs.items()}
        args = tuple([filled(arg) for arg in step.args])
        node = append_node(graph, new_name(step.base), "call_function", step.target, args, kwargs)
        meta = node.meta
        meta.update(provenance)
        meta["val"] = step.val
        if state:
            builder.states[node] = state
        values.append(node)
    return _taken(template.results, values)


def _taken(results: Any, values: list[Node]) -> Any:
    if results.__class__ is ValueRef:
        return values[results.index]
    if isinstance(results, list):
        return [_taken(each, values) for each in results]
    return results
