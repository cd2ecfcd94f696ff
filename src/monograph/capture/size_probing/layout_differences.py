"""Layout differences: steps that lie otherwise in memory at some sizes, where nothing shows it.

`expand` and `reshape` make a copy, but at a batch of one they make a view: the same elements in the
same order, with other strides. The program calls the same operators there, so it gets what the
module gets; only the types in its graph say otherwise, and whoever goes by these must not be wrong.

Law: nothing that may lie in that memory is written to afterwards or returned, and no user code
asked how a tensor lies in memory. Each operator that takes such a tensor is asked for its result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.abstract.aliasing import aliasing_of, storage_source, view_chain, written_by
from monograph.host.fx_nodes import is_removed
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from torch.fx.node import Node

    from monograph.capture.captured import Capture


def may_begin(node: Node) -> bool:
    """Whether an operator gives a view or a copy, by the layout of what it is given."""
    target: Any = node.target
    return isinstance(target, OpOverload) and aliasing_of(target).decides_by_layout


def are_unseen(captured: Capture, lying: AbstractSet[Node]) -> bool:
    """Whether steps of a capture may lie otherwise in memory than its graph says."""
    if not lying:
        return True
    leaves = (leaf.node for leaf in captured.outputs.leaves)
    if captured.recorder.shows_layout or any(
        not lying.isdisjoint(view_chain(node)) for node in leaves if node is not None
    ):
        return False
    return not are_written_to(captured, lying)


def are_written_to(captured: Capture, nodes: AbstractSet[Node]) -> bool:
    """Whether the memory of any of these values is written to after the first was made."""
    memory = {storage_source(node) for node in nodes}
    return any(
        not memory.isdisjoint(map(storage_source, written_by(node)))
        for node in _after(captured, nodes)
    )


def _after(captured: Capture, lying: AbstractSet[Node]) -> list[Node]:
    """The operators that come after the first of these."""
    nodes = [node for node in captured.recorder.operations if not is_removed(node)]
    first = next((at for at, node in enumerate(nodes) if node in lying), len(nodes))
    return nodes[first:]


__all__ = ["are_unseen", "are_written_to", "may_begin"]
