"""Node metadata after lowering: where each node comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch.fx.traceback import NodeSource, NodeSourceAction

if TYPE_CHECKING:
    import torch
    from torch.fx.node import Node

MADE_BY: Final = "ExportedProgram.run_decompositions()"


def provenance_of(node: Node) -> dict[str, Any]:
    """What the nodes that stand for a node have in their `meta`: where it came from."""
    meta = dict(node.meta)
    meta.pop("val", None)
    meta["from_node"] = [NodeSource(node, MADE_BY, NodeSourceAction.CREATE)]
    return meta


def module_of(node: Any) -> torch.nn.Module:
    """The subgraph that a get_attr node names."""
    value: Any = node.graph.owning_module
    for part in str(node.target).split("."):
        value = getattr(value, part)
    return value


__all__ = ["MADE_BY", "module_of", "provenance_of"]
