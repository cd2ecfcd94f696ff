"""Code generation: a graph becomes a Python function that holds the functions it calls.

`torch.fx` writes the names under which PyTorch has its functions, which may be others' by now.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx import GraphModule, Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch.fx import Graph

__all__ = ["SegmentGraph"]


class SegmentGraph(GraphModule):
    """A graph module whose `forward` calls the very functions that its nodes hold."""

    def __init__(self, graph: Graph) -> None:
        """The graph is kept as it is."""
        super().__init__(torch.nn.Module(), graph, "SegmentGraph")

    def recompile(self) -> Any:
        """Write `forward` again, as the graph is now."""
        type(self).forward = _function(self.graph)  # each graph module has a class of its own
        return None

    @property
    def code(self) -> str:
        """What `torch.fx` would run."""
        return self.graph.python_code("self").src


class _ExpressionWriter:
    """Writes expressions; what has no short text is a constant by its name."""

    def __init__(self, graph: Graph) -> None:
        self.constants: dict[str, Any] = {}
        self.names = {node: f"n{index}" for index, node in enumerate(graph.nodes)}

    def constant(self, value: Any) -> str:
        if type(value) in (bool, int, str, type(None)):
            return repr(value)
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def text(self, value: Any) -> str:
        if isinstance(value, Node):
            return self.names[value]
        if isinstance(value, tuple):
            return f"({self.listed(value)})"
        if isinstance(value, list):
            return f"[{self.listed(value)}]"
        if isinstance(value, dict):
            return f"{{{''.join(f'{key!r}: {self.text(each)}, ' for key, each in value.items())}}}"
        if isinstance(value, slice):
            return f"{self.constant(slice)}({self.listed((value.start, value.stop, value.step))})"
        return self.constant(value)

    def listed(self, values: Iterable[Any]) -> str:
        return "".join(f"{self.text(each)}, " for each in values)

    def call(self, node: Node) -> str:
        args = list(node.args)
        is_method = node.op == "call_method"
        callee = f"{self.text(args.pop(0))}.{node.target}" if is_method else None
        named = "".join(f"{key}={self.text(each)}, " for key, each in node.kwargs.items())
        return f"{callee or self.constant(node.target)}({self.listed(args)}{named})"


def _function(graph: Graph) -> Callable[..., Any]:
    """Each value is let go of behind the node that uses it last."""
    writer = _ExpressionWriter(graph)
    names = writer.names
    last = {each: node for node in graph.nodes for each in (*node.all_input_nodes, node)}
    freed: dict[Node, list[str]] = {}
    for each, node in last.items():
        freed.setdefault(node, []).append(names[each])
    inputs = "".join(f", {names[node]}" for node in graph.nodes if node.op == "placeholder")
    lines = [f"def forward(self{inputs}):"]
    for node in graph.nodes:
        if node.op == "output":
            lines.append(f"  return {writer.text(node.args[0])}")
        elif node.op != "placeholder":
            lines.append(f"  {names[node]} = {writer.call(node)}")
            if node in freed:
                lines.append(f"  {' = '.join(freed[node])} = None")
    scope = dict(writer.constants)
    exec(compile("\n".join(lines), "<graph>", "exec"), scope)  # noqa: S102 - the lines above
    return scope["forward"]
