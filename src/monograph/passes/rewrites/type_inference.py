"""Type inference of one node: what it returns, from its operator and its arguments."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from torch.fx.node import Node

from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.capture.recording.operators import OPERATORS
from monograph.host.flags import region_operators
from monograph.host.operator_types import OpOverload
from monograph.passes.graph_builder import argument_type, described
from monograph.passes.graph_walks import subgraph_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.abstract.tensor_type import TensorType
    from monograph.integers import Facts
    from monograph.rules.fallback import Memo


def inferred(node: Node, memo: Memo, facts: Facts) -> tuple[Any] | None:
    """The value of a call, in a tuple; None where this cannot tell."""
    target: Any = node.target
    if isinstance(target, OpOverload):
        args = [argument_type(arg) for arg in node.args]
        kwargs = {name: argument_type(arg) for name, arg in node.kwargs.items()}
        rule = OPERATORS.of(target).rule
        result = memo.infer(target, args, kwargs) if rule is None else rule(*args, **kwargs)
        return (described(result, facts),)
    if target is operator.getitem:
        source, index = node.args
        if not isinstance(source, Node) or "val" not in source.meta:
            return None
        return (source.meta["val"][index],)
    if target in region_operators():
        return (_result_of_region(node),)
    args = [arg.meta["val"] if isinstance(arg, Node) else arg for arg in node.args]
    return (target(*args),) if callable(target) and target.__module__ == "_operator" else None


def _result_of_region(node: Node) -> Any:
    """A region returns what its subgraph does."""
    (body,) = (each for each in node.all_input_nodes if each.op == "get_attr")
    returned: Any = subgraph_of(body).graph.output_node().args[0]
    return tuple([each.meta["val"] if isinstance(each, Node) else each for each in returned])


def retyped(val: Any, change: Callable[[TensorType], TensorType]) -> Any:
    """A value whose tensors are of other types."""
    if isinstance(val, AbstractTensor):
        return make_tensor(change(val.tensor_type), val.node, val.recorder)
    if isinstance(val, tuple | list):
        return type(val)([retyped(each, change) for each in val])
    return val


__all__ = ["inferred", "retyped"]
