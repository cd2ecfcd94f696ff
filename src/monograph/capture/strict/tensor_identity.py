"""Whether two variables are one tensor: operators that give back their argument are recorded too.

Eager's `x.contiguous() is x` where there is nothing to do; in a capture each call makes a tensor of
its own, and code that asks is answered, or refused where the answer depends on how an input lies.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from torch.fx.node import Node

from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.input_mutation import identity_refusal
from monograph.capture.recording.operators import OPERATORS
from monograph.capture.recording.storage_effects import is_inplace
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.abstract.tensor_type import TensorType


def _converts_nothing(source: TensorType, result: TensorType, node: Node) -> bool | None:
    if (source.dtype, source.device) != (result.dtype, result.device):
        return False
    asks_more = any(each is True for each in (*node.args, *node.kwargs.values()))
    return None if asks_more or node.kwargs.get("memory_format") is not None else True


def _drops_nothing(_source: TensorType, _result: TensorType, node: Node) -> bool:
    probability, trains = node.args[1:3]
    return not (probability and trains)


def _lies_well(_source: TensorType, _result: TensorType, _node: Node) -> None:
    """Layouts are the caller's."""


def _has_rank(rank: int) -> Callable[..., bool]:
    def has(source: TensorType, _result: TensorType, _node: Node) -> bool:
        return source.rank >= rank

    return has


def _is_real(source: TensorType, _result: TensorType, _node: Node) -> bool:
    return not source.dtype.is_complex


def _always(_source: TensorType, _result: TensorType, _node: Node) -> bool:
    return True


_GIVES_BACK: Final[dict[str, Callable[[Any, Any, Any], bool | None]]] = {
    "alpha_dropout": _drops_nothing,
    "atleast_1d": _has_rank(1),
    "atleast_2d": _has_rank(2),
    "atleast_3d": _has_rank(3),
    "conj": _is_real,
    "contiguous": _lies_well,
    "dropout": _drops_nothing,
    "feature_alpha_dropout": _drops_nothing,
    "feature_dropout": _drops_nothing,
    "flatten": lambda source, _result, _node: source.rank == 1,
    "pin_memory": _lies_well,
    "positive": _always,
    "real": _is_real,
    "resolve_conj": _lies_well,
    "resolve_neg": _lies_well,
    "to": _converts_nothing,
    "type_as": _converts_nothing,
}
"""By the operator's name: whether it gives back its argument itself; None where that is open."""


def are_one(left: Any, right: Any) -> Any:
    """`left is right` of two tensors of a capture that are two objects here.

    NotImplemented where neither may be the other.

    Raises: outside-read.
    """
    if not isinstance(left, AbstractTensor) or not isinstance(right, AbstractTensor):
        return NotImplemented
    if left.node is None or right.node is None or left.node is right.node:
        return NotImplemented
    ways = _given_back(left.node), _given_back(right.node)
    met = [each for each in ways[0] if each in ways[1]]
    if not met:
        return NotImplemented
    doubts = [way[node] for way in ways for node in met[:1] if way[node]]
    if doubts:
        because = f"whether `{doubts[0]}` gave back its argument"
        raise identity_refusal(because=because)
    return True


def _given_back(node: Node) -> dict[Node, str]:
    """The nodes whose tensor this may be, and the operator that leaves it open, "" where none."""
    found = {node: ""}
    doubt = ""
    while node.op == "call_function" and isinstance(node.target, OpOverload):
        op = OPERATORS.of(node.target)
        source: Any = node.args[0] if node.args else None
        verdict = True if is_inplace(op) else _verdict(op.base_name, source, node)
        if verdict is False:
            break
        doubt = doubt or ("" if verdict else op.base_name)
        node = source
        found[node] = doubt
    return found


def _verdict(name: str, source: Any, node: Node) -> bool | None:
    gives_back = _GIVES_BACK.get(name)
    if gives_back is None or not isinstance(source, Node):
        return False
    given, made = source.meta.get("val"), node.meta.get("val")
    if not isinstance(given, AbstractTensor) or not isinstance(made, AbstractTensor):
        return False
    return gives_back(given.tensor_type, made.tensor_type, node)


__all__ = ["are_one"]
