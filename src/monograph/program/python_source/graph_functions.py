"""Code generation: a `torch.fx` graph as one straight-line Python function.

The function holds the objects that it calls, and lets go of each value behind its last use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch.fx.node import Node

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torch.fx import Graph


def expression(value: Any, leaf: Callable[[Any], str]) -> str:
    """A value as an expression; `leaf` writes what is no tuple, list, dictionary or slice."""

    def listed(values: Iterable[Any]) -> str:
        return "".join(f"{expression(each, leaf)}, " for each in values)

    if isinstance(value, tuple):
        return f"({listed(value)})"
    if isinstance(value, list):
        return f"[{listed(value)}]"
    if isinstance(value, dict):
        return f"{{{''.join(f'{k!r}: {expression(v, leaf)}, ' for k, v in value.items())}}}"
    if isinstance(value, slice):
        return f"slice({listed((value.start, value.stop, value.step))})"
    return leaf(value)


def graph_function(
    graph: Graph,
    name: str,
    *,
    before: tuple[str, ...] = (),
    found_at: Callable[[str], Any] | None = None,
    called: Callable[[Any], Any] = lambda target: target,
    source_of: Callable[[Node], Any] = lambda _node: None,
) -> Callable[..., Any]:
    """The function: the placeholders of a graph → its output.

    `before` are parameters in front. `found_at` gives what `get_attr` and `call_module` name,
    `called` what is called for a function, `source_of` the node whose value a node only passes on.
    """
    return _Writer(graph, found_at, called, source_of).function(name, before)


class _Writer:
    """Writes the source; `bound` are the objects that it names."""

    def __init__(
        self,
        graph: Graph,
        found_at: Callable[[str], Any] | None,
        called: Callable[[Any], Any],
        source_of: Callable[[Node], Any],
    ) -> None:
        self.graph, self.found_at, self.called = graph, found_at, called
        self.bound: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._values: dict[Node, str] = {}
        for number, node in enumerate(graph.nodes):
            source = source_of(node)
            if node.op == "get_attr":
                self._values[node] = self._bind(self._found(node.target))
            else:
                self._values[node] = f"v{number}" if source is None else self._values[source]

    def function(self, name: str, before: tuple[str, ...]) -> Callable[..., Any]:
        """Compile it."""
        parameters, lines = [*before], list[str]()
        last = {self._values[each]: n for n in self.graph.nodes for each in n.all_input_nodes}
        written = set(self.bound)
        for node in self.graph.nodes:
            value = self._values[node]
            if node.op == "placeholder":
                parameters.append(value)
                written.add(value)
            elif node.op == "output":
                lines.append(f"return {self._text(node.args[0])}")
            elif value not in written:
                lines.append(f"{value} = {self._call(node)}")
                written.add(value)
                used = dict.fromkeys(self._values[each] for each in (node, *node.all_input_nodes))
                dead = [v for v in used if v not in self.bound and last.get(v, node) is node]
                lines += [f"{' = '.join(dead)} = None"] if dead else []
        source = f"def {name}({', '.join(parameters)}):\n  " + "\n  ".join(lines)
        exec(compile(source, f"{__file__}, generated", "exec"), self.bound)  # noqa: S102  (written above)
        return self.bound[name]

    def _call(self, node: Node) -> str:
        args, target = list(node.args), node.target
        if node.op == "call_method":
            callee = f"{self._text(args.pop(0))}.{target}"
        else:
            function = self._found(target) if node.op == "call_module" else self.called(target)
            callee = self._bind(function)
        arguments = [self._text(each) for each in args]
        arguments += [f"{key}={self._text(each)}" for key, each in node.kwargs.items()]
        return f"{callee}({', '.join(arguments)})"

    def _found(self, target: Any) -> Any:
        assert self.found_at is not None, "graphs without a module name nothing of it"
        return self.found_at(target)

    def _bind(self, value: Any) -> str:
        name = self._names.get(id(value))
        if name is None:
            name = self._names[id(value)] = f"c{len(self._names)}"
            self.bound[name] = value
        return name

    def _text(self, value: Any) -> str:
        return expression(value, self._leaf)

    def _leaf(self, value: Any) -> str:
        if isinstance(value, Node):
            return str(self._values[value])
        if value is None or type(value) in {bool, int, str}:
            return repr(value)
        return self._bind(value)


__all__ = ["expression", "graph_function"]
