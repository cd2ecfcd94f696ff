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


class StateValues:
    """What nodes of a capture give that depend on state alone, computed when it is asked for."""

    def __init__(self, captured: Capture) -> None:
        writer = captured.recorder.writer
        self.known: dict[Node, Any] = {**writer.constant_of, **writer.buffer_of}
        for each in (*captured.state.root.parameters(), *captured.state.root.buffers()):
            stand_in = captured.state.stand_ins.get(id(each))
            if isinstance(stand_in, AbstractTensor) and stand_in.node is not None:
                self.known[stand_in.node] = each

    def of(self, node: Node) -> Any:
        """What it gives.

        Raises: TypeError (it writes to something); whatever operators do of sizes, and in a region.
        """
        if node not in self.known:
            if _is_mutable(node):
                raise TypeError(node.target)
            operator: Any = node.target
            args, kwargs = map_arg((node.args, node.kwargs), self.of)
            self.known[node] = operator(*args, **kwargs)
        return self.known[node]

    def writes_to_state(self, node: Node) -> bool:
        """Whether it writes to a parameter or buffer, or to a view of one."""
        if not _is_mutable(node):
            return False
        while node.op == "call_function" and node.all_input_nodes:
            node = node.all_input_nodes[0]
        return node in self.known


def _is_mutable(node: Node) -> bool:
    schema = getattr(node.target, "_schema", None)
    return schema is not None and schema.is_mutable


def values_of(tensors: Iterable[AbstractTensor], captured: Capture) -> dict[int, torch.Tensor]:
    """What caches of fixed sizes hold, by the identity of the abstract tensors that were kept."""
    values = StateValues(captured)
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
                    found[id(each)] = values.of(node).detach()
    return found


class Computed:
    """What a capture computes of its inputs, and with what of its state."""

    def __init__(self, captured: Capture, caches: Iterable[torch.Tensor]) -> None:
        """`caches` are the abstract tensors that it kept, or the values with which it began."""
        self._values = StateValues(captured)
        begun = {id(each) for each in caches}
        kept = [each.node for each in caches if isinstance(each, AbstractTensor)]
        kept += [node for node, value in self._values.known.items() if id(value) in begun]
        reached = _led_to(captured.input_nodes)
        of_caches = _led_to([node for node in kept if node is not None])
        graph, leaves = captured.recorder.writer.graph, captured.outputs.leaves
        lines = [
            (node, _unnumbered(f"{node.target} {map_arg((node.args, node.kwargs), lambda _: '_')}"))
            for node in nodes_of(captured.recorder)
            if node.op == "call_function"
            and (node in reached or node.graph is not graph or self._values.writes_to_state(node))
        ]
        given = [_unnumbered(str(leaf.value)) for leaf in leaves if leaf.node is None]
        self.lines = Counter([*given, *(text for _, text in lines)])
        met = [(text, each) for node, text in lines for each in node.all_input_nodes]
        met += [("output", leaf.node) for leaf in leaves if leaf.node is not None]
        self._of_state = [(text, each) for text, each in met if each not in reached]
        self.with_caches = {text for text, each in self._of_state if each in of_caches}
        """The lines that compute with caches."""

    def is_like(self, other: Computed) -> bool:
        """Whether both compute the same, caches being what they are, for all one can tell."""
        if self.lines != other.lines:
            return False
        texts = self.with_caches | other.with_caches
        return self._held(texts) == other._held(texts)

    def _held(self, texts: set[str]) -> Counter[tuple[str, bytes | None]]:
        """What state on these lines holds; None where somebody would have to know sizes to tell."""
        with torch.no_grad():
            return Counter(
                (text, self._bytes(node)) for text, node in self._of_state if text in texts
            )

    def _bytes(self, node: Node) -> bytes | None:
        try:
            held = self._values.of(node).detach().cpu().resolve_conj().resolve_neg()
            return held.contiguous().view(-1).view(torch.uint8).numpy().tobytes()
        except Exception:  # noqa: BLE001 - it is made of sizes, in a region, or by writing
            return None


def _unnumbered(text: str) -> str:
    """A line without the numbers of what is unbacked."""
    return re.sub(r"\bu\d+", "u", text)


def _led_to(nodes: Iterable[Node]) -> set[Node]:
    """These nodes, and all that is computed of them."""
    waiting = [*nodes]
    reached: set[Node] = set()
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += node.users
    return reached


__all__ = ["Computed", "values_of"]
