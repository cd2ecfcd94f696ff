"""After user code returned: outputs, reassigned buffers, assertions; what is unused is dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.operators import is_droppable
from monograph.diagnostics import problem
from monograph.host.fx_nodes import append_node, remove_node
from monograph.host.trees import pytree
from monograph.integers import Expr, Real, Relation

if TYPE_CHECKING:
    from collections.abc import Collection

    from torch.fx.node import Node

    from monograph.capture.module_state import ModuleState, StateTensor
    from monograph.capture.recorder import Recorder

_OUTPUT_CONSTANTS = (int, float, bool, str, type(None), complex, torch.dtype, torch.device)


@dataclass(frozen=True, slots=True)
class OutputLeaf:
    """One leaf of the result: its node, or the constant it is."""

    value: Any
    node: Node | None


@dataclass(frozen=True, slots=True)
class Outputs:
    """The result of user code, flattened; leaves beyond its structure go to callers' objects."""

    leaves: tuple[OutputLeaf, ...]
    spec: Any


def close_outputs(
    recorder: Recorder, state: ModuleState, result: Any, beside: list[Any]
) -> Outputs:
    """Write the nodes that end the graph, up to and including `output`.

    `beside` are values that leave the graph after the leaves of the result.

    Raises: unsupported-output.
    """
    flat, spec = pytree.tree_flatten(result)
    values = [_output_value(recorder, value, i) for i, value in enumerate([*flat, *beside])]
    values = _write_reassigned(recorder, state, values)
    recorder.write_last_assertions()
    leaves = tuple(
        OutputLeaf(
            value,
            value.node if isinstance(value, AbstractTensor) else _number_node(recorder, value),
        )
        for value in values
    )
    returned = tuple(leaf.value if leaf.node is None else leaf.node for leaf in leaves)
    graph = recorder.writer.graph
    node = append_node(graph, "output", "output", "output", (returned,), {})
    node.meta["val"] = tuple(values)
    return Outputs(leaves, spec)


def _output_value(recorder: Recorder, value: Any, index: int) -> Any:
    if isinstance(value, torch.Tensor):
        return recorder.abstract(value)
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        return value
    if isinstance(value, _OUTPUT_CONSTANTS):
        return value
    path = f"output[{index}]"
    refusal = problem("unsupported-output", path=path, type=type(value))
    recorder.refuse(refusal, f"`{path}` is None")
    return None


def _number_node(recorder: Recorder, value: Any) -> Node | None:
    number = to_python(value)
    if isinstance(number, Expr | Real | Relation):
        node = recorder.writer.number(number)
        return node if isinstance(node, torch.fx.Node) else None
    return None


def _write_reassigned(recorder: Recorder, state: ModuleState, values: list[Any]) -> list[Any]:
    """A buffer that user code replaced is written to at the end, so the next call sees it.

    Whatever else is read from the old storage (an output that views it, another buffer that takes
    its place) is copied before: eager leaves that storage untouched.
    """
    copy, clone = torch.ops.aten.copy_.default, torch.ops.aten.clone.default
    reassigned = [pair for pair in state.reassigned() if _fits(*pair)]
    overwritten = {id(buffer.abstract) for buffer, _ in reassigned}

    def kept(value: Any) -> Any:
        if isinstance(value, AbstractTensor) and id(value.storage_root) in overwritten:
            return recorder.call(clone, (value,), {})
        return value

    values = [kept(value) for value in values]
    sources = [(buffer, kept(current)) for buffer, current in reassigned]
    for buffer, current in sources:
        recorder.call(copy, (buffer.abstract, current), {})
    return values


def _fits(buffer: StateTensor, current: AbstractTensor) -> bool:
    """Whether a buffer can be written; one that cannot was refused, and the capture goes on."""
    before, now = buffer.abstract.tensor_type, current.tensor_type
    return before.dtype == now.dtype and before.shape == now.shape


def drop_unused(recorder: Recorder, kept: Collection[Node]) -> None:
    """Remove nodes without users that have no effect, and the mark where user code began.

    Those in `kept` stay, used or not.
    """
    writer = recorder.writer
    if writer.body_begin is not None:
        remove_node(writer.body_begin)
    for node in reversed(writer.graph.nodes):
        if node in kept:
            continue
        if not node.users and node.op == "call_function" and is_droppable(node.target):
            remove_node(node)
    for node in [node for node in writer.constant_of if not node.users and node not in kept]:
        writer.forget_constant(node)
        remove_node(node)
