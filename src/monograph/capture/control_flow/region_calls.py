"""Closing regions, and calling them: what they use from outside becomes their inputs (lifting)."""

from __future__ import annotations

from contextlib import nullcontext
from itertools import takewhile
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.outputs import drop_unused_nodes
from monograph.capture.recording.autograd_views import is_made_leaf
from monograph.capture.recording.lifting import Subgraph, end, lift, read
from monograph.capture.recording.operators import ASSERT_SCALAR
from monograph.capture.torch_overrides.caught_errors import note_written_late
from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx.node import Node

    from monograph.capture.control_flow.region import Region
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.recording.scopes import State


def write_back(region: Region, tensor: AbstractTensor, value: AbstractTensor) -> None:
    """Write to a tensor from outside what a region left in its copy of it.

    A leaf is written to without gradients: with them, eager code would have raised.

    Raises: branch-writes (it was given as a view that is a leaf).
    """
    recorder, node = region.recorder, tensor.node
    note_written_late(recorder, tensor)
    is_leaf = node is not None and (node.op == "placeholder" or is_made_leaf(node))
    is_leaf = is_leaf and tensor.tensor_type.requires_grad
    subject = recorder.answers_noted.subjects.get(node) if node is not None and is_leaf else None
    if subject and recorder.answers_noted.note_tensor("is_leaf_view", subject, recorder.origin()):
        # Autograd would take its views for views of what it is a view of, without a history.
        reason = "it is a view of another tensor, made a leaf of autograd's"
        raise problem("branch-writes", operator=region.operator, name=subject.path, reason=reason)
    with torch.no_grad() if is_leaf and recorder.region is None else nullcontext():
        recorder.call(torch.ops.aten.copy_.default, (tensor, value), {})


def close(
    regions: Sequence[Region], results: Sequence[Any], first: Sequence[Node] = ()
) -> list[Node]:
    """End regions that are called with the same inputs; returns what these are, outside of them.

    Each gets its results as outputs (tensors of its own, numbers, None; or one that is returned by
    itself), and after the placeholders it has, one for each value from outside that any of them
    uses; those of `first` come first.
    """
    for region, values in zip(regions, results, strict=True):
        _write_output(region, values)
        region.leave()
        drop_unused_nodes(region.graph)
    return lift([region.graph for region in regions], first)


def _write_output(region: Region, values: Any) -> None:
    several = isinstance(values, list | tuple)
    if several and all(isinstance(value, AbstractTensor) for value in values):
        returned: Any = tuple([value.node for value in values])
        end(region.graph, returned, tuple(values))
        return
    with region:
        if several:
            returned = tuple([_returned(region, value) for value in values])
        else:
            returned = _returned(region, values)
        region.recorder.write_assertions()
    end(region.graph, returned, tuple(values) if several else values)


def _returned(region: Region, value: Any) -> Any:
    return value.node if isinstance(value, AbstractTensor) else region.recorder.convert(value)[1]


def _strip_modes(regions: Sequence[Region]) -> State:
    """Leave each node the mode regions that are not around the call; returns those that are.

    A side that leaves a `with` around the branch goes on in the modes outside of it: then the call
    stands there too, and the nodes within the `with` say so themselves.
    """
    states, around = regions[0].recorder.scopes.states, regions[0].around
    nodes = [node for region in regions for node in region.graph.nodes] if states or around else []
    noted = {node: states.pop(node, ()) for node in nodes}
    in_modes = [node for node in nodes if _is_in_modes(node, noted[node])]
    for node in in_modes:
        around = _common_prefix(around, noted[node])
    for node in in_modes:
        if inner := noted[node][len(around) :]:
            states[node] = inner
    return around


def _is_in_modes(node: Node, state: State) -> bool:
    """Whether it is run in the modes noted for it: no number, and nothing asserted first, is."""
    if node.target is ASSERT_SCALAR and not state:
        return False
    return node.op == "call_function" and "nn_module_stack" in node.meta


def _common_prefix(one: State, other: State) -> State:
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    return tuple(region for region, _ in pairs)


# --- calling -----------------------------------------------------------------------------------


def call(
    recorder: Recorder,
    operator: Any,
    base: str,
    regions: dict[str, Region],
    arguments: Callable[[list[Node]], tuple[Any, ...]],
) -> Node:
    """The node that calls closed regions; `arguments` are made of the nodes that read these."""
    children = recorder.children if recorder.region is None else recorder.region.children
    attributes = [
        read(recorder.writer, children, name, Subgraph(region.graph, region.children))
        for name, region in regions.items()
    ]
    around = _strip_modes([*regions.values()])
    node = recorder.append(operator, base, arguments(attributes), {})
    recorder.scopes.states.pop(node, None)
    if around:
        recorder.scopes.states[node] = around
    return node


__all__ = ["call", "close", "write_back"]
