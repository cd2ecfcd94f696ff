"""Straight-line code: a program as one function of its flat inputs, for calls without gradients.

The state is bound once, and what converts a tensor to the type that it has is left out. The
contract is checked by whoever calls. Nothing else of the program changes, nor what it writes to.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.fx.node import Node

from monograph.abstract.tensor import AbstractTensor
from monograph.host.fast_calls import fast_call
from monograph.host.overloads import aten
from monograph.program.stateful_module import make_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.program import ExportedProgram, GraphModule


def compiled_step(program: ExportedProgram) -> Callable[..., tuple[Any, ...]]:
    """The function: flat inputs → flat results."""
    return _Writer(make_module(program, check=False)).function()


class _Writer:
    """Writes the source; `bound` are the objects that it names."""

    def __init__(self, module: GraphModule) -> None:
        self.module, self.graph = module, module.graph
        self.bound: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._values: dict[Node, str] = {}
        self._last = {each: node for node in self.graph.nodes for each in node.all_input_nodes}

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """Compile it."""
        parameters: list[str] = []
        lines: list[str] = []
        for number, node in enumerate(self.graph.nodes):
            if node.op == "placeholder":
                self._values[node] = f"v{number}"
                parameters.append(f"v{number}")
            elif node.op == "get_attr":
                self._values[node] = self._bind(_attribute(self.module, str(node.target)))
            elif node.op == "output":
                lines.append(f"return {self._text(node.args[0])}")
            else:
                lines += self._call(node, f"v{number}")
        source = f"def step({', '.join(parameters)}):\n    " + "\n    ".join(lines)
        exec(compile(source, f"{__file__}, generated", "exec"), self.bound)  # noqa: S102  (written above)
        return self.bound["step"]

    def _call(self, node: Node, name: str) -> list[str]:
        if _is_identity(node):
            self._values[node] = self._values[node.args[0]]  # pyright: ignore[reportArgumentType] - a node
            return []
        self._values[node] = name
        target: Any = node.target
        if node.op == "call_module":
            target = _attribute(self.module, target)
        arguments = [self._text(each) for each in node.args]
        arguments += [f"{key}={self._text(each)}" for key, each in node.kwargs.items()]
        return [f"{name} = {self._bind(fast_call(target))}({', '.join(arguments)})"]

    def _bind(self, value: Any) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"c{len(self._names)}"
            self.bound[name] = value
        return name

    def _text(self, value: Any) -> str:
        if isinstance(value, Node):
            return self._values[value]
        if isinstance(value, list | tuple):
            items = ", ".join(self._text(each) for each in value)
            return f"[{items}]" if isinstance(value, list) else f"({items},)" if items else "()"
        if isinstance(value, slice):
            return f"slice({', '.join(map(self._text, (value.start, value.stop, value.step)))})"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{k!r}: {self._text(v)}' for k, v in value.items())}}}"
        if value is None or type(value) in {int, bool}:
            return repr(value)
        return self._bind(value)


def _is_identity(node: Node) -> bool:
    """Whether it gives the very tensor that it is given: it converts to the type that that has."""
    if node.target is not aten.to.dtype or len(node.args) != 2 or node.kwargs:
        return False
    source: Any = node.args[0]
    value = source.meta.get("val")
    return isinstance(value, AbstractTensor) and value.tensor_type.dtype == node.args[1]


def _attribute(module: Any, path: str) -> Any:
    for name in path.split("."):
        module = getattr(module, name)
    return module


__all__ = ["compiled_step"]
