"""What a node of a graph returns, worked out from its operator and its arguments."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, NoReturn

from torch.fx.node import Node

from monograph.abstract.symbols import to_python, to_sym
from monograph.abstract.tensor import AbstractTensor, make_tensor
from monograph.abstract.tensor_type import TensorType
from monograph.capture.recording.operators import OPERATORS
from monograph.diagnostics import problem
from monograph.host.flags import region_operators
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.integers import Facts
    from monograph.rules.fallback import Memo


class Described:
    """Stands behind the tensors that `meta["val"]` of a rewritten graph holds."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts

    def _refuse(self, *args: Any, **_kwargs: Any) -> NoReturn:
        raise problem("leaked-tensor", tensor=str(args[0] if args else "a value"))

    call = item = truth = getitem = setitem = read_data = _refuse

    def layout_asked(self, _tensor: AbstractTensor) -> None:
        """Let a reader of a finished graph look at strides."""

    def dtype_asked(self, _tensor: AbstractTensor) -> None:
        """Let a reader of a finished graph look at dtypes."""


def inferred(node: Node, memo: Memo, facts: Facts) -> tuple[Any] | None:
    """The value of a call, in a tuple; None where this cannot tell."""
    target: Any = node.target
    if isinstance(target, OpOverload):
        args = [_type(arg) for arg in node.args]
        kwargs = {name: _type(arg) for name, arg in node.kwargs.items()}
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
    child: Any = getattr(body.graph.owning_module, str(body.target))
    returned: Any = child.graph.output_node().args[0]
    return tuple([each.meta["val"] if isinstance(each, Node) else each for each in returned])


def _type(arg: Any) -> Any:
    if isinstance(arg, Node):
        val = arg.meta["val"]
        return val.tensor_type if isinstance(val, AbstractTensor) else to_python(val)
    if isinstance(arg, list | tuple):
        return [_type(each) for each in arg]  # pyright: ignore[reportUnknownVariableType]
    return arg


def described(result: Any, facts: Facts) -> Any:
    """What `meta["val"]` holds for the result of a rule."""
    if isinstance(result, TensorType):
        recording: Any = Described(facts)
        return make_tensor(result, None, recording)
    if isinstance(result, list | tuple):
        return tuple([described(each, facts) for each in result])  # pyright: ignore[reportUnknownVariableType]
    return to_sym(result, facts)


def retyped(val: Any, change: Callable[[TensorType], TensorType]) -> Any:
    """A value whose tensors are of other types."""
    if isinstance(val, AbstractTensor):
        return make_tensor(change(val.tensor_type), val.node, val.recorder)
    if isinstance(val, tuple | list):
        return type(val)([retyped(each, change) for each in val])  # pyright: ignore[reportUnknownVariableType]
    return val


__all__ = ["described", "inferred", "retyped"]
