"""Common subexpressions: what is computed twice from the same values is computed once.

Law: two nodes become one only where nobody can tell: neither reads or makes memory that anything
writes to, neither draws random numbers, and the caller does not get both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.fx.node import Node

from monograph.passes.alias_analysis import Sharing, is_pure
from monograph.passes.rewrites.registry import rewrite

if TYPE_CHECKING:
    import torch

    from monograph.passes.rewrites.program_copy import ProgramCopy


@rewrite
def common_subexpressions(edited: ProgramCopy) -> None:
    """Merge nodes that call the same operator with the same arguments, within each graph."""
    for module in list(edited.graphs()):
        _merge(module)


def _merge(module: torch.fx.GraphModule) -> None:
    inputs = [node for node in module.graph.nodes if node.op == "placeholder"]
    sharing = Sharing(module, inputs)
    known: dict[Any, Node] = {}
    for node in list(module.graph.nodes):
        if not is_pure(node) or not sharing.is_settled(node):
            continue
        key = (node.target, _key(node.args), _key(node.kwargs))
        first = known.setdefault(key, node)
        if first is node or (sharing.is_returned(first) and sharing.is_returned(node)):
            continue
        node.replace_all_uses_with(first)
        module.graph.erase_node(node)


def _key(value: Any) -> Any:
    """Equal for equal arguments: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    if isinstance(value, Node):
        return value
    if isinstance(value, list | tuple):
        return (type(value).__name__, *(_key(each) for each in value))
    if isinstance(value, dict):
        return tuple((name, _key(each)) for name, each in sorted(value.items()))
    return type(value).__name__, repr(value)


__all__ = ["common_subexpressions"]
