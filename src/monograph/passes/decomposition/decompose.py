"""Decomposition of a program: its graph functional, and in the operators a table leaves."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import view_chain
from monograph.abstract.layout_origin import layout_sources
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.example_inputs import bind_number, bind_sizes
from monograph.capture.recording.mode_regions import build_subgraphs
from monograph.diagnostics import problem
from monograph.host.fx_nodes import append_node, close_graph
from monograph.host.overloads import aten
from monograph.integers import Expr, Real, use
from monograph.passes.decomposition.arguments import mapped
from monograph.passes.decomposition.layouts import needs_a_layout
from monograph.passes.decomposition.lowering import Lowering
from monograph.passes.decomposition.node_metadata import provenance_of
from monograph.passes.decomposition.subgraphs import BODIES
from monograph.passes.decomposition.template_cache import StaticTemplates, TemplateCache
from monograph.passes.formulas import LoweringFacts, facts_for_lowering
from monograph.passes.functionalization.autograd_history import History
from monograph.passes.functionalization.functionalize import Alias, Storage, view_of, whole
from monograph.passes.functionalization.views import View
from monograph.passes.graph_builder import GraphBuilder, is_tensor, same_layout, tensor_type
from monograph.passes.reaching_values import reaching, subgraph_call

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from torch.fx.graph import Graph

    from monograph.abstract.tensor_type import TensorType
    from monograph.capture.recording.graph_writer import GraphWriter
    from monograph.integers import Facts


Place = tuple[list[int], list[int], int]
"""Sizes, strides, and the offset from where the owner of the memory begins."""


@dataclass(frozen=True, slots=True)
class Decomposed:
    """A graph without writes.

    `writes` are the inputs whose memory the original wrote to, each with its value at the end;
    `outputs` are what it returned. The graph returns both, writes first. `laid_out` are the inputs
    whose layout the graph relies on, and `reasons` say why an operator was kept.
    """

    graph: Graph
    submodules: dict[str, torch.nn.Module]
    writes: dict[str, Node]
    outputs: list[Any]
    laid_out: Mapping[str, TensorType]
    placed: Collection[str]
    """Of these, the inputs that must begin in their memory where the example does."""
    denied: Mapping[tuple[str, str], object]
    """Inputs, and what must not be so of them, with the lines that make it so."""
    reasons: Mapping[str, str]
    rewritten: frozenset[str]
    """The inputs that the original wrote to more than once."""
    facts: LoweringFacts
    """What is known of sizes; its guards are the original's, and those that formulas need."""


def decompose(
    graph: Graph,
    table: Mapping[Any, Callable[..., Any]],
    facts: Facts,
    make_module: Callable[[Mapping[str, Any], Graph], torch.nn.Module],
    *,
    keeps_autocast: bool = False,
    static: StaticTemplates | None = None,
    without_history: Collection[str] = (),
    leaves: Collection[str] = (),
    shared: Sequence[Mapping[str, Place]] = (),
    example: Mapping[Expr, int] = MappingProxyType({}),
) -> Decomposed:
    """Lower a program's graph; the graph itself stays as it is.

    `without_history` and `leaves` are names of inputs, as `History` has them; `shared` are inputs
    that lie in the memory of one of them, which stands first, and where they lie there; `example`
    are the sizes of the example, which no formula excludes.

    Raises: write-through-view, not-functional.
    """
    lowered = facts_for_lowering(facts, example)
    builder, cache = GraphBuilder(lowered), TemplateCache(static or StaticTemplates())
    history = History(builder.states, without_history, leaves)
    lowering = Lowering(
        table, lowered, builder, cache, keeps_autocast=keeps_autocast, history=history
    )
    lowered.locate = builder.lines
    with use(lowered):
        lowering.writes.find(graph, is_program=True)
        env = _placeholders(graph, lowering)
        _share(env, lowering, shared)
        inputs = {node: value for node, value in env.items() if value.__class__ is Alias}
        lowering.returned = _returned(graph)
        lowering.walk(graph, env, is_program=True)
        source = graph.output_node()
        returned: Any = source.args[0]
        _check_branches(returned, env, lowering)
        builder.provenance = {}
        state_input = [mapped(each, env) for each in returned]
        writes = {
            node.name: alias.storage.value
            for node, alias in inputs.items()
            if alias.storage.generation and not alias.views and _owns(alias, node)
        }
        writes |= _returned_themselves(state_input, inputs, {*writes.values()}, lowering)
        outputs = _kept_apart(state_input, list(inputs.values()), lowering)
        done = append_node(
            builder.writer.graph, "output", "output", "output", ((*writes.values(), *outputs),), {}
        )
        done.meta["val"] = tuple(
            each.meta["val"] if isinstance(each, Node) else each
            for each in (*writes.values(), *outputs)
        )
        laid_out = layout_sources(lowering.laid_out)  # of what is unused too: copies hang on it
        builder.drop_unused()
        laid_out |= layout_sources(filter(needs_a_layout, builder.writer.graph.nodes))
        written = builder.writer
        submodules = build_subgraphs(
            written.graph, builder.children, builder.states, make_module, written.new_name
        )
    values: Any = done.args[0]  # regions renamed some of what is returned
    _name_outputs(written, returned, values[len(writes) :])
    close_graph(written.graph, written.names)
    writes = dict(zip(writes, values, strict=False))
    outputs = list(values[len(writes) :])
    rewritten = frozenset(node.name for node, a in inputs.items() if a.storage.generation > 1)
    reasons = cache.static.reasons
    return Decomposed(
        written.graph,
        submodules,
        writes,
        outputs,
        {node.name: tensor_type(node) for node in laid_out if is_tensor(node)},
        lowering.placed,
        lowering.denied | _not_leaf_views(state_input),
        reasons,
        rewritten,
        lowered,
    )


def _not_leaf_views(returned: Sequence[Any]) -> dict[tuple[str, str], object]:
    """Inputs, views of which are returned, written to where autograd does not see it.

    Of a view that was taken before the write, it then knows the base alone: no gradient flows to a
    leaf between them, as one does through the value that replaces the view.
    """
    views = [each for each in returned if each.__class__ is Alias and each.views]
    unseen = [each.storage.input for each in views if each.storage.has_unseen_write]
    return {(node.name, "is_leaf_view"): () for node in unseen if node is not None}


def _name_outputs(writer: GraphWriter, before: Sequence[Any], after: Sequence[Any]) -> None:
    """What is returned has the name that it had; another node that has it gets a new one."""
    named = {node.name: node for node in writer.graph.nodes}
    done: set[Node] = set()
    for old, new in zip(before, after, strict=True):
        if not _is_computed(old) or not _is_computed(new) or new in done:
            continue
        done.add(new)
        other = named.get(old.name)
        if other is new:
            continue
        if other is not None:
            if other in done or other.op != "call_function":
                continue
            other.name = writer.new_name(old.name.rstrip("0123456789").rstrip("_"))
            named[other.name] = other
        del named[new.name]
        new.name = old.name
        named[new.name] = new
        writer.names.add(new.name)


def _is_computed(value: Any) -> bool:
    return isinstance(value, Node) and value.op == "call_function"


def _owns(alias: Alias, node: Node) -> bool:
    return alias.storage.input is not None and alias.storage.input.name == node.name


def _returned_themselves(
    state_input: Sequence[Any], inputs: Mapping[Node, Alias], written: set[Node], lowering: Lowering
) -> dict[str, Node]:
    """The values of inputs that are returned, and lie in the memory of another that is written to.

    Each is said to be written as well, by a node of its own: so what is returned is that input.
    """
    found: dict[str, Node] = {}
    for node, alias in inputs.items():
        if _owns(alias, node) or not any(value is alias for value in state_input):
            continue
        value = lowering.builder.written(lowering.read(alias))
        if value in written:
            value = alias.node = lowering.compute(aten.alias.default, value)
        written.add(value)
        found[node.name] = value
    return found


def _share(env: dict[Node, Any], lowering: Lowering, shared: Sequence[Mapping[str, Place]]) -> None:
    """Inputs in one memory that is written to are views of the one that is all of it."""
    inputs = {node.name: node for node in env}
    for group in shared:
        nodes = [inputs[name] for name in group if name in inputs]
        if lowering.writes.roots.isdisjoint(nodes):
            continue
        first, *rest = nodes
        owner = env[first]
        if owner.__class__ is not Alias:
            owner = env[first] = whole(owner, is_input=True)
        for node in rest:
            seen = node.meta["val"].tensor_type
            view = View(aten.as_strided.default, group[node.name], {}, None, owner.type, seen)
            is_all = same_layout(seen, owner.type) and not group[node.name][2]
            env[node] = Alias(owner.storage, owner.type) if is_all else view_of(owner, view)


def _returned(graph: Graph) -> frozenset[Node]:
    """The outputs, and what they may be, or be views of."""
    returned: Any = graph.output_node().args[0]
    return frozenset(reaching(each for each in returned if _is_tensor_of(each)))


def _is_tensor_of(value: Any) -> bool:
    return isinstance(value, Node) and isinstance(value.meta.get("val"), torch.Tensor)


def _check_branches(returned: Sequence[Any], env: Mapping[Node, Any], lowering: Lowering) -> None:
    """What a branch or a loop returns is no input that is written to: that is written at the end.

    Raises: not-functional.
    """
    for each in returned:
        if not _is_tensor_of(each) or env[each].__class__ is Alias:
            continue
        found = reaching([each])
        calls = [call for call in map(subgraph_call, found) if call and call.target in BODIES]
        for node in found if calls else ():
            value: Any = env.get(node)
            if value.__class__ is Alias and value.storage.input and value.storage.generation:
                lowering.builder.provenance = provenance_of(calls[0])
                reason = "what it gives may be an input that is written to"
                op = str(calls[0].target)
                raise problem("not-functional", at=lowering.builder.lines(), op=op, reason=reason)


def _placeholders(graph: Graph, lowering: Lowering) -> dict[Node, Any]:
    """The same inputs under the same names; those that are written to own a storage."""
    builder = lowering.builder
    env: dict[Node, Any] = {}
    for node in graph.nodes:
        if node.op != "placeholder":
            continue
        val = node.meta["val"]
        new = builder.placeholder(node.name, val)
        new.meta.update(node.meta)
        number = to_python(val)
        if isinstance(val, AbstractTensor):
            bind_sizes(val.tensor_type, new, builder.writer)
            env[node] = whole(new, is_input=True) if node in lowering.writes.roots else new
        elif isinstance(number, Expr | Real):
            bind_number(number, new, builder.writer)
            env[node] = number
        else:
            env[node] = new
    builder.writer.begin_body()
    return env


def _kept_apart(state_input: list[Any], inputs: list[Alias], lowering: Lowering) -> list[Any]:
    """The outputs; one that is a view of a written value, and not of the input, is of a copy.

    A returned value that is made from a written one by views alone stands for a view of the input
    (`program/stateful_module.py`); so whatever is none must not look like one. Memory that several
    outputs are views of is copied once.
    """
    written = {alias.storage.value: alias.storage for alias in inputs if alias.storage.generation}
    builder = lowering.builder

    def is_apart(node: Any, owner: Storage | None) -> bool:
        chain = view_chain(node) if is_tensor(node) else ()
        return all(written.get(each, owner) is owner for each in chain)

    kept: list[Any] = []
    for value in state_input:
        owner: Storage | None = value.storage if value.__class__ is Alias else None
        if owner is not None and owner.input is None and not is_apart(owner.value, owner):
            owner.value = builder.call(aten.clone.default, (owner.value,), {})
            owner.generation += 1
        node = builder.written(lowering.read(value))
        is_copied = not is_apart(node, owner)
        kept.append(builder.call(aten.clone.default, (node,), {}) if is_copied else node)
    return kept
