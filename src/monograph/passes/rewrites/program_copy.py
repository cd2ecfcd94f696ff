"""The subject of a rewrite: a copy of a program's graph, and what its inputs stand for.

A rewrite edits it in place. `state_inputs` are the placeholders that stand for state; a rewrite
may add some, or erase those that nothing uses. What it says in `devices` and `dtypes` becomes the
contract.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch.fx.node import Node, map_arg

from monograph.host.fx_nodes import append_node, close_graph
from monograph.passes.graph_walks import graph_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from monograph.integers import Facts


@dataclass(frozen=True, slots=True)
class StateInput:
    """What a placeholder stands for, other than a user's input."""

    kind: Literal["parameter", "buffer", "constant"]
    target: str
    persistent: bool | None = None


@dataclass(slots=True)
class ProgramCopy:
    """A program being rewritten."""

    module: torch.fx.GraphModule
    state_inputs: dict[str, StateInput]
    """By name of placeholder."""
    tensors: dict[str, torch.Tensor]
    """By qualified name, all names of tied ones."""
    written: frozenset[str]
    """The placeholders that the graph writes to in place."""
    facts: Facts
    devices: dict[torch.device | None, torch.device] = field(
        default_factory=dict["torch.device | None", torch.device]
    )
    """Where inputs are from now on; None stands for any device."""
    dtypes: dict[torch.dtype, torch.dtype] = field(default_factory=dict[torch.dtype, torch.dtype])
    """What inputs are from now on."""
    is_typed: bool = False
    """Whether a rewrite left every value its type: rules asked anew may need a guard more."""

    @property
    def graph(self) -> torch.fx.Graph:
        """The graph."""
        return self.module.graph

    def placeholders(self) -> list[Node]:
        """The inputs of the graph, state first."""
        return [node for node in self.graph.nodes if node.op == "placeholder"]

    def tensor_of(self, node: Node) -> torch.Tensor | None:
        """The tensor that a placeholder of state stands for, of the shape of its `val`."""
        state_input = self.state_inputs.get(node.name)
        return None if state_input is None else self.tensors[state_input.target]

    def add_state(self, state_input: StateInput, tensor: torch.Tensor, val: Any) -> Node:
        """A new placeholder of state, before the user's inputs: `val` has the shape of `tensor`."""
        self.tensors[state_input.target] = tensor
        inputs = (node for node in self.graph.nodes if node.name not in self.state_inputs)
        with self.graph.inserting_before(next(inputs)):
            node = self.graph.placeholder(
                f"{state_input.kind[0]}_{state_input.target}".replace(".", "_")
            )
        node.meta["val"] = val
        self.state_inputs[node.name] = state_input
        return node

    def new_target(self, base: str) -> str:
        """A qualified name that no tensor has."""
        number = 0
        while f"{base}_{number}" in self.tensors:
            number += 1
        return f"{base}_{number}"

    def drop_state(self, node: Node) -> None:
        """Erase a placeholder of state that nothing uses, and its tensor."""
        state_input = self.state_inputs.pop(node.name, None)
        if state_input is None:
            return
        self.graph.erase_node(node)
        tensor = self.tensors[state_input.target]
        if all(self.tensors[each.target] is not tensor for each in self.state_inputs.values()):
            for name in [name for name, each in self.tensors.items() if each is tensor]:
                del self.tensors[name]

    def drop_unused_constants(self) -> None:
        """Erase the constants that nothing uses; parameters and buffers stay."""
        for node in self.placeholders():
            state_input = self.state_inputs.get(node.name)
            if state_input is not None and state_input.kind == "constant" and not node.users:
                self.drop_state(node)

    def graphs(self) -> Iterator[torch.fx.GraphModule]:
        """The graph modules: the program's, then those of regions and other subgraphs."""
        return (each for _, each in graph_modules(self.module))


def copied(
    module: torch.fx.GraphModule,
    make: Callable[[Mapping[str, Any], torch.fx.Graph], torch.fx.GraphModule],
) -> torch.fx.GraphModule:
    """Copy a graph module and its subgraphs, under the same names; values are shared."""
    graph = torch.fx.Graph()
    copies: dict[Node, Node] = {}
    for node in module.graph.nodes:
        args = map_arg(node.args, copies.__getitem__)
        kwargs = map_arg(node.kwargs, copies.__getitem__)
        copies[node] = append_node(graph, node.name, node.op, node.target, args, kwargs)
        copies[node].meta = dict(node.meta)
    close_graph(graph)
    children = {
        name: copied(child, make) if isinstance(child, torch.fx.GraphModule) else child
        for name, child in module.named_children()
    }
    return make(children, graph)


__all__ = ["ProgramCopy", "StateInput", "copied"]
