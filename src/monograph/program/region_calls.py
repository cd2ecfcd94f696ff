"""Running a region's subgraph in its mode, when a program runs.

A program's graph calls torch's higher-order operators, which other tools know. Called eagerly they
load Dynamo first (seconds, once), and they leave the mode changed if the body raises; so the graph
of `program.module()` calls these functions instead, with the same arguments.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.flags import region_operators
from monograph.host.fx_nodes import append_node, close_graph
from monograph.program.assertions import ASSERT_SCALAR, assert_holds, with_values
from monograph.program.graph_module import GraphModule

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch.fx import Node


def run_with_grad_mode(enabled: bool, body: Callable[..., Any], /, *args: Any) -> Any:  # noqa: FBT001 - as the operator's
    """Run `body(*args)` with gradients recorded or not."""
    with torch.set_grad_enabled(enabled):
        return body(*args)


def run_with_autocast(
    device: str,
    dtype: torch.dtype | None,
    enabled: bool,  # noqa: FBT001
    cache: bool | None,  # noqa: FBT001
    body: Callable[..., Any],
    /,
    *args: Any,
) -> Any:
    """Run `body(*args)` under autocast."""
    with torch.autocast(device, dtype, enabled, cache):
        return body(*args)


_GRAD, _AUTOCAST = region_operators()
RUNS: Final[Mapping[object, Callable[..., Any]]] = MappingProxyType(
    {_GRAD: run_with_grad_mode, _AUTOCAST: run_with_autocast}
)


def runnable_target(node: Node) -> Any:
    """What to call for a node of a program's graph."""
    if node.target is ASSERT_SCALAR:
        return assert_holds
    return RUNS.get(node.target, node.target) if node.op == "call_function" else node.target


def runnable_args(node: Node) -> tuple[Any, ...]:
    """With which arguments."""
    return with_values(node) if node.target is ASSERT_SCALAR else node.args


def runnable_child(child: torch.nn.Module) -> torch.nn.Module:
    """A region's subgraph with the regions inside it made runnable too."""
    if not isinstance(child, torch.fx.GraphModule):
        return child
    special = {*RUNS, ASSERT_SCALAR}
    if not any(node.target in special for node in child.graph.nodes if node.op == "call_function"):
        return child
    graph = torch.fx.Graph()
    copies: dict[Node, Node] = {}
    for node in child.graph.nodes:
        args = torch.fx.map_arg(runnable_args(node), copies.__getitem__)
        kwargs = torch.fx.map_arg(node.kwargs, copies.__getitem__)
        copies[node] = append_node(graph, node.name, node.op, runnable_target(node), args, kwargs)
        copies[node].meta = dict(node.meta)
    close_graph(graph, [node.name for node in graph.nodes])
    children = {name: runnable_child(inner) for name, inner in child.named_children()}
    return GraphModule(children, graph)
