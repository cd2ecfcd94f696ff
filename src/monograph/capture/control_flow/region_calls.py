"""Closing regions, and calling them: what they use from outside becomes their inputs (lifting)."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.outputs import drop_unused_nodes
from monograph.capture.recording.lifting import Subgraph, end, lift, read
from monograph.capture.recording.operators import ASSERT_SCALAR
from monograph.capture.recording.scopes import ModeRegion
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

    A parameter is written to without gradients: with them, eager code would have raised.
    """
    recorder, node = region.recorder, tensor.node
    note_written_late(recorder, tensor)
    is_leaf = node is not None and node.op == "placeholder" and tensor.tensor_type.requires_grad
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
    lifted = lift([region.graph for region in regions], first)
    for region in regions:
        _strip_regions(region)
    return lifted


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


def _strip_regions(region: Region) -> None:
    """Regions around the call of a region are none of the region's own."""
    states, around = region.recorder.scopes.states, region.around
    if not states:
        return
    for node in region.graph.nodes:
        state = states.pop(node, ())
        if not state and node.target is ASSERT_SCALAR:
            continue  # it was put first, into no mode
        if node.op == "call_function" and "nn_module_stack" in node.meta:  # numbers are in none
            inner = _inner_regions(state, around)
            if inner:
                states[node] = inner


def _inner_regions(state: State, around: State) -> State:
    if state[: len(around)] == around:
        return state[len(around) :]
    # A grad mode around the call was undone inside of it.
    enabled = next((each.settings[0] for each in reversed(state) if each.kind == "grad"), None)
    outer = next((region for region in reversed(around) if region.kind == "grad"), None)
    if outer is None:
        raise problem("branch-side-effect", operator="if", kind="switch", name="")
    undone = not outer.settings[0] if enabled is None else enabled
    kept = tuple(region for region in state if region not in around and region.kind != "grad")
    return (ModeRegion("grad", (undone,), outer.owner), *kept)


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
    return recorder.append(operator, base, arguments(attributes), {})


__all__ = ["call", "close", "write_back"]
