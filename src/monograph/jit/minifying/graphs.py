"""Delta debugging of graphs: fewer outputs, fewer nodes, smaller and plainer inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch.fx import Graph, GraphModule, Interpreter

from monograph.jit.minifying.failures import copies

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from torch.fx import Node

__all__ = ["GraphCase", "reduced", "with_plainer_inputs"]


class GraphCase(NamedTuple):
    """A graph, or what else is called, and the inputs with which it fails."""

    graph: Any
    inputs: tuple[Any, ...]

    @property
    def n_nodes(self) -> int:
        """How many nodes compute."""
        return sum(node.op.startswith("call_") for node in self.graph.graph.nodes)


def reduced(case: GraphCase, fails: Callable[[GraphCase], bool]) -> GraphCase:
    """The smallest case that was found by steps each of which fails in the same way."""
    return with_plainer_inputs(_with_fewer_nodes(case, fails), fails)


def with_plainer_inputs(case: GraphCase, fails: Callable[[GraphCase], bool]) -> GraphCase:
    """Make sizes smaller and values plainer, as long as that fails."""
    for candidates in (_smaller, _plainer):
        found: GraphCase | None = case
        while found is not None:
            case = found
            found = next((each for each in candidates(case) if fails(each)), None)
    return case


def _with_fewer_nodes(case: GraphCase, fails: Callable[[GraphCase], bool]) -> GraphCase:
    """Leave nodes out, in halves, quarters, and so on, as long as that fails.

    What a node needs of those that are left out becomes an input, with the value that it had.
    """
    values = _values(case)
    best, names = case, _calls(case)
    size = max(len(names) // 2, 1)
    while True:
        for start in range(0, len(names), size):
            kept = names[:start] + names[start + size :]
            smaller = _subset(case, {*kept}, values) if kept else None
            if smaller is not None and smaller.n_nodes < len(names) and fails(smaller):
                best, names = smaller, _calls(smaller)
                break
        else:
            if size == 1:
                return best
            size //= 2


def _calls(case: GraphCase) -> list[str]:
    return [node.name for node in case.graph.graph.nodes if node.op.startswith("call_")]


def _values(case: GraphCase) -> dict[str, torch.Tensor]:
    """What each node gives, as it is when it has run."""
    values: dict[str, torch.Tensor] = {}

    class Noting(Interpreter):
        def run_node(self, n: Node) -> Any:
            result = super().run_node(n)
            if isinstance(result, torch.Tensor):
                values[n.name] = result.detach().clone().requires_grad_(result.requires_grad)
            return result

    Noting(case.graph).run(*copies(case.inputs))
    return values


def _subset(case: GraphCase, kept: set[str], values: dict[str, torch.Tensor]) -> GraphCase:
    """The case with these nodes, those whose results are no tensors, and inputs for the rest."""
    nodes = [node for node in case.graph.graph.nodes if node.op != "output"]
    kept = set(kept)
    for node in reversed(nodes):
        if node.name in kept:
            kept |= {each.name for each in node.all_input_nodes if each.name not in values}
    needed = {each for node in nodes if node.name in kept for each in node.all_input_nodes}
    graph = Graph()
    made: dict[Node, Node] = {}
    inputs: list[Any] = []
    for node in nodes:
        if node in needed and node.name not in kept:
            made[node] = graph.placeholder(node.name)
            inputs.append(values[node.name])
    for node in nodes:
        if node.name in kept:
            made[node] = graph.node_copy(node, made.__getitem__)
    ends = [made[node] for node in nodes if node.name in kept and node.name in values]
    graph.output(tuple([node for node in ends if not node.users]))
    return GraphCase(GraphModule(torch.nn.Module(), graph), tuple(inputs))


def _smaller(case: GraphCase) -> Iterator[GraphCase]:
    """The case with one size cut everywhere where it stands."""
    tensors = [each for each in case.inputs if isinstance(each, torch.Tensor)]
    for size in sorted({n for each in tensors for n in each.shape if n > 1}, reverse=True):
        for other in sorted({1, 2, size // 2, size - 1} - {0, size}):
            if other < size:
                yield GraphCase(case.graph, tuple(_cut(each, size, other) for each in case.inputs))


def _cut(value: Any, size: int, other: int) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    needs_grad, value = value.requires_grad, value.detach()
    for dim, n in enumerate(value.shape):
        if n == size:
            value = value.narrow(dim, 0, other)
    return value.clone().requires_grad_(needs_grad)


def _plainer(case: GraphCase) -> Iterator[GraphCase]:
    """The case with one tensor made of zeros or ones, or without a gradient."""
    for index, value in enumerate(case.inputs):
        if isinstance(value, torch.Tensor):
            for other in _plain_forms(value):
                yield GraphCase(
                    case.graph, (*case.inputs[:index], other, *case.inputs[index + 1 :])
                )


def _plain_forms(value: torch.Tensor) -> Iterator[torch.Tensor]:
    if value.requires_grad:
        yield value.detach()
    plain = value.detach()
    if not value.requires_grad and not _is_uniform(plain):
        yield torch.ones(value.shape, dtype=value.dtype, device=value.device)
        yield torch.zeros(value.shape, dtype=value.dtype, device=value.device)


def _is_uniform(value: torch.Tensor) -> bool:
    return any(bool((value == each).all()) for each in (0, 1))
