"""Node metadata after lowering: where each node comes from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch.fx.traceback import NodeSource, NodeSourceAction

if TYPE_CHECKING:
    from torch.fx.node import Node

MADE_BY: Final = "ExportedProgram.run_decompositions()"


def provenance_of(node: Node) -> dict[str, Any]:
    """What the nodes that stand for a node have in their `meta`: where it came from."""
    meta = dict(node.meta)
    meta.pop("val", None)
    meta["from_node"] = [NodeSource(node, MADE_BY, NodeSourceAction.CREATE)]
    return meta


__all__ = ["MADE_BY", "provenance_of"]
