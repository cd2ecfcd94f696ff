"""Walks over a graph module and its subgraphs: modules with their paths, calls, named bodies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torch.fx.node import Node


def graph_modules(module: torch.nn.Module, path: str = "") -> Iterator[tuple[str, Any]]:
    """A graph module and all below it, each with its path: the outermost has none."""
    if isinstance(module, torch.fx.GraphModule):
        yield path, module
    for name, child in module.named_children():
        yield from graph_modules(child, f"{path}.{name}" if path else name)


def calls(module: torch.nn.Module) -> Iterator[Node]:
    """Every call of a graph and of the subgraphs it calls."""
    for _, each in graph_modules(module):
        yield from (node for node in each.graph.nodes if node.op == "call_function")


def subgraph_of(node: Any) -> Any:
    """The subgraph that a get_attr node names."""
    return node.graph.owning_module.get_submodule(str(node.target))


__all__ = ["calls", "graph_modules", "subgraph_of"]
