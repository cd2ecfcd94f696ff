"""What a node of a functional graph is a view of."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor import with_requires_grad
from monograph.capture.operators import OPERATORS
from monograph.host.operator_types import OpOverload
from monograph.passes.decompositions import is_idle_dropout
from monograph.passes.draft import argument_type, is_tensor, tensor_type

if TYPE_CHECKING:
    from torch.fx.node import Node


def seen_through(node: Node) -> list[Node]:
    """A node, and what it is a view of, and so on to the tensor that owns the memory."""
    found = [node]
    while found[-1].op == "call_function":
        target: Any = found[-1].target
        is_view = isinstance(target, OpOverload) and OPERATORS.of(target).shared is not None
        if not (is_view or target is operator.getitem or is_idle_dropout(target, found[-1].args)):
            break
        source: Any = found[-1].args[0]
        if target is operator.getitem and not _gives_views(source):
            break
        found.append(source)
    return found


def _gives_views(node: Node) -> bool:
    target: Any = node.target
    return isinstance(target, OpOverload) and OPERATORS.of(target).shared is not None


def type_in_training(value: Any) -> Any:
    """An argument as rules see it, in need of a gradient if it is a parameter or a view of one."""
    given = argument_type(value)
    if not is_tensor(value):
        return given
    owner = seen_through(value)[-1]
    return with_requires_grad(given, owner.op == "placeholder" and tensor_type(owner).requires_grad)


__all__ = ["seen_through", "type_in_training"]
