"""Ending bodies, and calling them: what they use from outside becomes their inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.recording.lifting import Subgraph, end, lift, read
from monograph.capture.recording.outputs import drop_unused_nodes
from monograph.capture.recording.scopes import Region

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx.node import Node

    from monograph.capture.control_flow.subgraphs import Body
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.recording.scopes import State


def close(bodies: Sequence[Body], results: Sequence[Any], first: Sequence[Node] = ()) -> list[Node]:
    """End bodies that are called with the same inputs; returns what these are, outside of them.

    Each gets its results as outputs (tensors of its own, numbers, None; or one that is returned by
    itself), and after the placeholders it has, one for each value from outside that any of them
    uses; those of `first` come first.
    """
    for body, values in zip(bodies, results, strict=True):
        _write_output(body, values)
        body.depart()
        drop_unused_nodes(body.graph)
    lifted = lift([body.graph for body in bodies], first)
    for body in bodies:
        _strip_regions(body)
    return lifted


def _write_output(body: Body, values: Any) -> None:
    several = isinstance(values, list | tuple)
    if several and all(isinstance(value, AbstractTensor) for value in values):
        returned: Any = tuple([value.node for value in values])
        end(body.graph, returned, tuple(values))
        return
    with body:
        if several:
            returned = tuple([_returned(body, value) for value in values])
        else:
            returned = _returned(body, values)
        body.recorder.write_assertions()
    end(body.graph, returned, tuple(values) if several else values)


def _returned(body: Body, value: Any) -> Any:
    return value.node if isinstance(value, AbstractTensor) else body.recorder.convert(value)[1]


def _strip_regions(body: Body) -> None:
    """Regions around the call of a body are none of the body's own."""
    states, around = body.recorder.scopes.states, body.around
    if not states:
        return
    for node in body.graph.nodes:
        state = states.pop(node, ())
        if node.op == "call_function" and "nn_module_stack" in node.meta:  # numbers are in none
            inner = _inner_regions(state, around)
            if inner:
                states[node] = inner


def _inner_regions(state: State, around: State) -> State:
    if state[: len(around)] == around:
        return state[len(around) :]
    # A grad mode around the call was undone inside of it.
    enabled = next((each.settings[0] for each in reversed(state) if each.kind == "grad"), None)
    outer = next(region for region in reversed(around) if region.kind == "grad")
    undone = not outer.settings[0] if enabled is None else enabled
    kept = tuple(region for region in state if region not in around and region.kind != "grad")
    return (Region("grad", (undone,), outer.owner), *kept)


# --- calling -----------------------------------------------------------------------------------


def call(
    recorder: Recorder,
    operator: Any,
    base: str,
    bodies: dict[str, Body],
    arguments: Callable[[list[Node]], tuple[Any, ...]],
) -> Node:
    """The node that calls closed bodies; `arguments` are made of the nodes that read these."""
    children = recorder.children if recorder.body is None else recorder.body.children
    attributes = [
        read(recorder.writer, children, name, Subgraph(body.graph, body.children))
        for name, body in bodies.items()
    ]
    return recorder.append(operator, base, arguments(attributes), {})


__all__ = ["call", "close"]
