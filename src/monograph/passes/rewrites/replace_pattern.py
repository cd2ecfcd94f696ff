"""Pattern rewriting: wherever a small graph of operators occurs, another takes its place.

A pattern is a function of operator calls; its parameters match any value, numbers and sizes
included. Law: an occurrence is replaced only where nothing inside it is used outside, and nothing
in it touches memory that is written to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node, map_arg

from monograph.passes.alias_analysis import Sharing, is_pure
from monograph.passes.rewrites.registry import rewrite

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.passes.rewrites.program_copy import ProgramCopy

Bindings = dict[Node, Any]


@rewrite
def replace_pattern(
    edited: ProgramCopy, pattern: Callable[..., Any], replacement: Callable[..., Any]
) -> None:
    """Replace each occurrence of `pattern` by `replacement`, which has the same parameters.

    Both call operators (`torch.ops.aten.add.Tensor(x, y)`) and return one value. What the
    replacement returns must have the type that the pattern's result had.
    """
    wanted, offered = _graph(pattern), _graph(replacement)
    (root,) = wanted.output_node().all_input_nodes
    for module in list(edited.graphs()):
        inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
        sharing = Sharing(module, inputs)
        for node in reversed(list(module.graph.nodes)):
            if node.target is not root.target or (not node.users and node.op == "call_function"):
                continue
            found: Bindings = {}
            if _matches(root, node, found) and _is_closed(wanted, root, found, sharing):
                _replace(module.graph, node, wanted, offered, found)


def _graph(function: Callable[..., Any]) -> torch.fx.Graph:
    return torch.fx.symbolic_trace(function).graph


def _matches(wanted: Any, given: Any, found: Bindings) -> bool:
    """Whether a value has the form of the pattern; what its nodes stand for goes into `found`."""
    if not isinstance(wanted, Node):
        return _matches_constant(wanted, given, found)
    if wanted in found:
        known = found[wanted]
        return known is given if isinstance(given, Node) else _is_same(known, given)
    if wanted.op == "placeholder":
        found[wanted] = given
        return True
    if not isinstance(given, Node) or given.target is not wanted.target:
        return False
    found[wanted] = given
    return (
        _matches(list(wanted.args), list(given.args), found)
        and wanted.kwargs.keys() == given.kwargs.keys()
        and all(_matches(arg, given.kwargs[name], found) for name, arg in wanted.kwargs.items())
    )


def _matches_constant(wanted: Any, given: Any, found: Bindings) -> bool:
    if isinstance(wanted, list | tuple):
        return (
            isinstance(given, list | tuple)
            and len(wanted) == len(given)
            and all(_matches(w, g, found) for w, g in zip(wanted, given, strict=True))
        )
    return _is_same(wanted, given)


def _is_same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and repr(one) == repr(other)


def _is_closed(wanted: torch.fx.Graph, root: Node, found: Bindings, sharing: Sharing) -> bool:
    inside = {found[node] for node in wanted.nodes if node.op == "call_function" and node in found}
    return all(
        is_pure(node)
        and sharing.is_settled(node)
        and (node is found[root] or all(user in inside for user in node.users))
        for node in inside
    )


def _replace(
    graph: torch.fx.Graph,
    place: Node,
    wanted: torch.fx.Graph,
    offered: torch.fx.Graph,
    found: Bindings,
) -> None:
    given = [found.get(node) for node in wanted.nodes if node.op == "placeholder"]
    values: dict[Node, Any] = dict(
        zip((n for n in offered.nodes if n.op == "placeholder"), given, strict=True)
    )
    provenance = {
        key: value for key, value in place.meta.items() if key in {"stack_trace", "nn_module_stack"}
    }
    with graph.inserting_before(place):
        for node in offered.nodes:
            if node.op == "call_function":
                args = map_arg(node.args, values.__getitem__)
                kwargs = map_arg(node.kwargs, values.__getitem__)
                values[node] = graph.call_function(node.target, args, kwargs)  # pyright: ignore[reportArgumentType]
                values[node].meta = dict(provenance)
            elif node.op == "output":
                (result,) = node.all_input_nodes
                place.replace_all_uses_with(values[result])
    for node in reversed([n for n in wanted.nodes if n.op == "call_function"]):
        old = found[node]
        if not old.users:
            graph.erase_node(old)


__all__ = ["replace_pattern"]
