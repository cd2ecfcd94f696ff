"""Tensor identity (`is`): operators that give back their argument are recorded too.

Eager's `x.contiguous() is x` where there is nothing to do; in a capture each call makes a tensor of
its own, and code that asks is answered, or refused where the answer depends on how an input lies.
"""

from __future__ import annotations

from operator import getitem
from typing import TYPE_CHECKING, Any

from monograph.abstract.aliasing import (
    ARGUMENT,
    Result,
    may_drop_nothing,
    results_of,
    source_of,
)
from monograph.abstract.chosen_object import ChosenObject, refused
from monograph.abstract.tensor import AbstractTensor
from monograph.capture.inputs.input_mutation import identity_refusal

if TYPE_CHECKING:
    from torch.fx.node import Node

    from monograph.capture.recording.recorder import Recorder


def are_one(recorder: Recorder, left: Any, right: Any) -> Any:
    """`left is right` of two tensors of a capture that are two objects here.

    NotImplemented where neither may be the other.

    Raises: outside-read, branch-decides, specialized-value (one was chosen by data).
    """
    for each in (left, right):
        if type(each) is ChosenObject:
            refused(each)
    left, right = _represented(left, right), _represented(right, left)
    recorder.aliases.check_same(left, right)
    if left is right:
        return True
    if not issubclass(type(left), AbstractTensor) or not issubclass(type(right), AbstractTensor):
        return NotImplemented
    if left.node is None or right.node is None:
        return NotImplemented
    if left.node is right.node:  # they were retyped, as all names of a tensor are
        return any(each is right for each in recorder.lineage.names(left)) or NotImplemented
    ways = _given_back(left.node), _given_back(right.node)
    met = [each for each in ways[0] if each in ways[1]]
    if not met:
        if all(any(node in way for node in recorder.input_nodes) for way in ways):
            raise identity_refusal()
        return NotImplemented
    doubts = [way[node] for way in ways for node in met[:1] if way[node]]
    if doubts:
        because = f"whether `{doubts[0]}` gave back its argument"
        raise identity_refusal(because=because)
    return True


def _represented(value: Any, other: Any) -> Any:
    """The abstract tensor for a real one, which lists and variables hold beside modules."""
    writer: Any = getattr(getattr(other, "recorder", None), "writer", None)
    if writer is None or not issubclass(type(other), AbstractTensor):
        return value
    return writer.represented(value)


def _given_back(node: Node) -> dict[Node, str]:
    """The nodes whose tensor this may be, and the operator that leaves it open, "" where none."""
    found = {node: ""}
    doubt = ""
    source = source_of(node)
    while source is not None and (may_drop_nothing(node) or Result.ARGUMENT in results_of(node)):
        call: Any = node.args[0] if node.target is getitem else node
        is_sure = results_of(node) == ARGUMENT
        doubt = doubt or ("" if is_sure else str(call.target).split(".")[1])
        node, source = source, source_of(source)
        found[node] = doubt
    return found


__all__ = ["are_one"]
