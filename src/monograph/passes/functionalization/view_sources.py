"""View chains: what a node of a functional graph is a view of."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor import with_requires_grad
from monograph.capture.recording.operators import OPERATORS
from monograph.host.operator_types import OpOverload
from monograph.passes.functionalization.writes import is_spared
from monograph.passes.graph_builder import argument_type, is_tensor, tensor_type

if TYPE_CHECKING:
    from torch.fx.node import Node


def seen_through(node: Node) -> list[Node]:
    """A node, and what it is a view of, and so on to the tensor that owns the memory."""
    found = [node]
    while found[-1].op == "call_function":
        target: Any = found[-1].target
        source: Any = found[-1].args[0] if found[-1].args else None
        made_by = source.target if target is operator.getitem else target
        if not is_view(made_by) and not _is_spared(found[-1]):
            break
        found.append(source)
    return found


def is_view(target: Any) -> bool:
    """Whether an operator's results lie in the memory of its argument."""
    return isinstance(target, OpOverload) and OPERATORS.of(target).shared is not None


def _is_spared(node: Node) -> bool:
    target: Any = node.target
    is_operator = isinstance(target, OpOverload)
    return is_operator and is_spared(OPERATORS.of(target), node.args, node.kwargs)


def type_in_training(value: Any) -> Any:
    """An argument as rules see it, in need of a gradient if it is a parameter or a view of one."""
    given = argument_type(value)
    if not is_tensor(value):
        return given
    owner = seen_through(value)[-1]
    return with_requires_grad(given, owner.op == "placeholder" and tensor_type(owner).requires_grad)


__all__ = ["is_view", "seen_through", "type_in_training"]
