"""What a node of a functional graph is a view of."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from monograph.capture.operators import OPERATORS
from monograph.host.operator_types import OpOverload
from monograph.passes.draft import tensor_type

if TYPE_CHECKING:
    from torch.fx.node import Node


def seen_through(node: Node) -> list[Node]:
    """A node, and what it is a view of, and so on to the tensor that owns the memory."""
    found = [node]
    while found[-1].op == "call_function":
        target: Any = found[-1].target
        is_view = isinstance(target, OpOverload) and OPERATORS.of(target).shared is not None
        if not is_view and target is not operator.getitem:
            break
        source: Any = found[-1].args[0]
        if target is operator.getitem and not _gives_views(source):
            break
        found.append(source)
    return found


def _gives_views(node: Node) -> bool:
    target: Any = node.target
    return isinstance(target, OpOverload) and OPERATORS.of(target).shared is not None


def is_state(node: Node) -> bool:
    """Whether a tensor is an input that needs a gradient, as parameters do, or a view of one."""
    owner = seen_through(node)[-1]
    return owner.op == "placeholder" and tensor_type(owner).requires_grad


__all__ = ["is_state", "seen_through"]
