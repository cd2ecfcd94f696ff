"""Filled caches: whether a call that finds them filled computes of its inputs what this one did.

A call may keep what it made of state alone (a table of angles) in an attribute, for the next one.
The program makes it anew, so what the next call does with it must be what this one does.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import map_arg

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.captured import nodes_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.fx.node import Node

    from monograph.capture.captured import Capture


def values_of(tensors: Iterable[AbstractTensor], captured: Capture) -> dict[int, torch.Tensor]:
    """What caches of fixed sizes hold, by the identity of the abstract tensors that were kept."""
    known: dict[Node, Any] = dict(captured.recorder.writer.constant_of)
    for each in (*captured.state.root.parameters(), *captured.state.root.buffers()):
        stand_in = captured.state.stand_ins.get(id(each))
        if isinstance(stand_in, AbstractTensor) and stand_in.node is not None:
            known[stand_in.node] = each

    def value(node: Node) -> Any:
        if node not in known:
            operator: Any = node.target
            args, kwargs = map_arg((node.args, node.kwargs), value)
            known[node] = operator(*args, **kwargs)
        return known[node]

    found: dict[int, torch.Tensor] = {}
    nodes = {*nodes_of(captured.recorder)}
    with torch.no_grad():
        for each in tensors:
            node, kind = each.node, each.tensor_type
            shape: Any = kind.shape
            with suppress(Exception):  # it is made of sizes, or in a region
                if node is None or node not in nodes:  # kept, and not used: any will do
                    found[id(each)] = torch.zeros(shape, dtype=kind.dtype, device=kind.device)
                else:
                    found[id(each)] = value(node).detach()
    return found


def computed_of_inputs(captured: Capture) -> Counter[str]:
    """What a capture computes of its inputs, whatever else that is computed with."""
    waiting, reached = [*captured.input_nodes], set[Any]()
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += node.users
    graph = captured.recorder.writer.graph
    nodes = [each for each in nodes_of(captured.recorder) if each.op == "call_function"]
    lines = [
        f"{node.target} {map_arg((node.args, node.kwargs), lambda _: '_')}"
        for node in nodes
        if node in reached or node.graph is not graph
    ]
    lines += [str(leaf.value) for leaf in captured.outputs.leaves if leaf.node is None]
    return Counter(re.sub(r"\bu\d+", "u", line) for line in lines)


__all__ = ["computed_of_inputs", "values_of"]
