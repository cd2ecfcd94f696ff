"""Mode regions: `no_grad`, `set_grad_enabled` and `autocast` inside forward become subgraphs.

While recording, each node only remembers the regions around it. Afterwards runs of neighbouring
nodes with the same outermost region move into a subgraph, called through the operator that restores
the mode at run time; inner regions are handled in the subgraph in the same way.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from torch.fx.graph import Graph
from torch.fx.node import Node, map_arg

from monograph.capture.recording.scopes import STACK_ROOT
from monograph.host.flags import region_operators
from monograph.host.fx_nodes import append_node, close_graph, detached_node, put_before, remove_node

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import torch

    from monograph.capture.recording.lifting import Subgraph
    from monograph.capture.recording.scopes import ModeRegion, State


def build_regions(
    graph: Graph,
    states: Mapping[Node, State],
    make_module: Callable[[Mapping[str, Any], Graph], torch.nn.Module],
    new_name: Callable[[str], str],
    children: Mapping[str, torch.nn.Module] | None = None,
) -> dict[str, torch.nn.Module]:
    """Move the nodes with a state into subgraphs; returns all subgraphs by attribute name.

    `children` are those that the graph has already; they go where they are called.

    Law: running the new graph runs the same operators in the same order in the same modes.
    """
    submodules = dict(children or {})
    for run in _runs(graph, states, depth=0):
        region = states[_first_call(run)][0]
        target = new_name("submod")
        inner = {node: state[1:] for node, state in states.items() if len(state) > 1}
        reads = [str(node.target) for node in run if node.op == "get_attr"]
        moved = {name: submodules.pop(name) for name in reads}
        submodules[target] = _extract(
            graph, run, region, target, inner, make_module, new_name, moved
        )
    return submodules


def build_subgraphs(
    graph: Graph,
    children: Mapping[str, Subgraph],
    states: Mapping[Node, State],
    make_module: Callable[[Mapping[str, Any], Graph], torch.nn.Module],
    new_name: Callable[[str], str],
) -> dict[str, torch.nn.Module]:
    """The subgraphs of a graph as modules: what its operators call, and its regions."""
    modules: dict[str, torch.nn.Module] = {}
    for name, child in children.items():
        below = build_subgraphs(child.graph, child.children, states, make_module, new_name)
        close_graph(child.graph)
        modules[name] = make_module(below, child.graph)
    return build_regions(graph, states, make_module, new_name, modules) if states else modules


def _runs(graph: Graph, states: Mapping[Node, State], depth: int) -> list[list[Node]]:
    """Neighbouring nodes that share their outermost region, with the subgraphs that they read."""
    runs: list[list[Node]] = []
    numbers: list[Node] = []
    reads: list[Node] = []
    previous: Any = None
    for node in graph.nodes:
        if not states.get(node) and _is_number_between(node):
            if previous is not None:
                numbers.append(node)
            continue
        if node.op == "get_attr":
            reads.append(node)
            continue
        state = states.get(node, ())
        region = state[depth] if len(state) > depth else None
        if node.op != "call_function":
            region = None
        if region is not None:
            if region == previous:
                runs[-1] += [*numbers, *reads, node]
            else:
                runs.append([*reads, node])
        numbers, reads = [], []
        previous = region
    return runs


def _is_number_between(node: Node) -> bool:
    """Whether it is arithmetic of sizes, which belongs to no line: it ends and begins no region."""
    return node.op == "call_function" and "nn_module_stack" not in node.meta


def _extract(
    graph: Graph,
    run: Sequence[Node],
    region: ModeRegion,
    target: str,
    inner: Mapping[Node, State],
    make_module: Callable[[Mapping[str, Any], Graph], torch.nn.Module],
    new_name: Callable[[str], str],
    children: Mapping[str, torch.nn.Module],
) -> torch.nn.Module:
    """Replace a run of nodes by one call of a subgraph."""
    inside = set(run)
    inputs = _outside_inputs(run, inside)
    outputs = [node for node in run if any(user not in inside for user in node.users)]
    body = Graph()
    copies: dict[Node, Node] = {}
    for node in inputs:
        copies[node] = append_node(body, node.name, "placeholder", node.name, (), {})
        copies[node].meta = dict(node.meta)
    body_states: dict[Node, State] = {}
    for node in run:
        copy = _copy(node, body, copies)
        if node in inner:
            body_states[copy] = inner[node]
    results = tuple(copies[node] for node in outputs)
    done = append_node(body, "output", "output", "output", (results,), {})
    done.meta["val"] = tuple(node.meta.get("val") for node in outputs)
    nested = build_regions(body, body_states, make_module, new_name, children)
    close_graph(body)
    _call_instead(graph, run, inputs, outputs, region, target, new_name)
    return make_module(nested, body)


def _first_call(run: Sequence[Node]) -> Node:
    """The first node that is no read of a subgraph."""
    return next(node for node in run if node.op == "call_function")


def _outside_inputs(run: Sequence[Node], inside: set[Node]) -> list[Node]:
    found: dict[Node, None] = {}
    for node in run:
        for source in node.all_input_nodes:
            if source not in inside:
                found[source] = None
    return list(found)


def _copy(node: Node, body: Graph, copies: dict[Node, Node]) -> Node:
    args = map_arg(node.args, lambda source: copies[source])
    kwargs = map_arg(node.kwargs, lambda source: copies[source])
    copy = append_node(body, node.name, node.op, node.target, args, kwargs)
    copy.meta = dict(node.meta)
    copies[node] = copy
    return copy


def _call_instead(
    graph: Graph,
    run: Sequence[Node],
    inputs: Sequence[Node],
    outputs: Sequence[Node],
    region: ModeRegion,
    target: str,
    new_name: Callable[[str], str],
) -> None:
    first = _first_call(run)  # numbers that it takes may stand after the subgraphs that it reads
    attribute = _before(graph, first, target, "get_attr", target, ())
    grad_operator, autocast_operator = region_operators()
    function: Any = grad_operator if region.kind == "grad" else autocast_operator
    arguments = (*region.settings, attribute, *inputs)
    name = new_name(f"wrap_with_{region.kind}")
    call = _before(graph, first, name, "call_function", function, arguments)
    call.meta = {
        **{key: value for key, value in first.meta.items() if key != "val"},
        "nn_module_stack": _stack_of(region, first),
        "val": tuple(node.meta.get("val") for node in outputs),
    }
    for i, node in enumerate(outputs):
        item = _before(
            graph, first, new_name("getitem"), "call_function", operator.getitem, (call, i)
        )
        item.meta = dict(node.meta)
        node.replace_all_uses_with(item)
    for node in reversed(run):
        remove_node(node)


def _stack_of(region: ModeRegion, node: Node) -> dict[str, tuple[str, str]]:
    """The modules around the region itself: those around a node in it, as far as its owner."""
    stack: dict[str, tuple[str, str]] = node.meta.get("nn_module_stack", {})
    keys, owner = list(stack), f"{STACK_ROOT}{region.owner}"
    if owner not in stack:
        return stack
    return {key: stack[key] for key in keys[: keys.index(owner) + 1]}


def _before(
    graph: Graph, place: Node, name: str, op: str, target: Any, args: tuple[Any, ...]
) -> Node:
    node = detached_node(graph, name, op, target, args, {})
    put_before(place, node)
    return node
