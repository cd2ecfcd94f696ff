"""Where the layout of a value comes from: the inputs of a graph that its strides follow.

Law: results of the operators named here are contiguous, however their arguments lie (held in
`tests/laws/test_aliasing.py`); the strides of any other result may follow those of all its tensor
arguments, as TensorIterator and the memory formats of convolutions have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

from monograph.host.dispatch import schema_of
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.fx.node import Node

LayoutQuestion = Literal["form", "strides", "offset"]
"""What is asked: strides where a size is not 1, all strides as numbers, or where it begins."""

CONTIGUOUS: Final = frozenset(
    {
        *("addmm", "baddbmm", "bmm", "mm", "mv", "linear"),
        *("embedding", "gather", "index_select", "native_layer_norm", "layer_norm"),
        *("_log_softmax", "_softmax", "log_softmax", "softmax"),
        *("new_empty", "new_full", "new_ones", "new_zeros"),
    }
)
"""Operators of ATen whose results have memory of their own, without gaps, row after row."""


def makes_contiguous(target: Any) -> bool:
    """Whether the results of an operator are contiguous, however its arguments lie."""
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return False
    schema = schema_of(target)
    return not schema.is_mutable and schema.name.removeprefix("aten::") in CONTIGUOUS


def layout_sources(nodes: Iterable[Node]) -> set[Node]:
    """The inputs, of whichever graph, whose layout may decide how some values lie."""
    found = set(nodes)
    rest = [*found]
    while rest:
        current = rest.pop()
        if current.op == "call_function" and not makes_contiguous(current.target):
            new = [each for each in current.all_input_nodes if each not in found]
            found.update(new)
            rest += new
    return {each for each in found if each.op == "placeholder"}


__all__ = ["CONTIGUOUS", "LayoutQuestion", "layout_sources", "makes_contiguous"]
