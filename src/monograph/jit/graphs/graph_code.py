"""Code generation: a graph becomes a Python function that holds the functions it calls.

`torch.fx` writes the names under which PyTorch has its functions, which may be others' by now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule

from monograph.program.python_source.graph_functions import graph_function

if TYPE_CHECKING:
    from torch.fx import Graph

__all__ = ["SegmentGraph"]


class SegmentGraph(GraphModule):
    """A graph module whose `forward` calls the very functions that its nodes hold."""

    def __init__(self, graph: Graph, sides: dict[str, Graph]) -> None:
        """The graph is kept as it is; `sides` are those that its branches and theirs name."""
        root = torch.nn.Module()
        for node in graph.find_nodes(op="get_attr"):
            setattr(root, node.target, SegmentGraph(sides[node.target], sides))
        super().__init__(root, graph, "SegmentGraph")

    def recompile(self) -> Any:
        """Write `forward` again, as the graph is now."""
        type(self).forward = graph_function(
            self.graph, "forward", before=("self",), found_at=lambda name: getattr(self, name)
        )  # each graph module has a class of its own
        return None

    @property
    def code(self) -> str:
        """What `torch.fx` would run."""
        return self.graph.python_code("self").src
