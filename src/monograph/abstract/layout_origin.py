"""Where the layout of a value comes from: the inputs of a graph that its strides follow.

Law: results of the operators named here are contiguous, however their arguments lie (held in
`tests/laws/test_aliasing.py`); the strides of any other result may follow those of all its tensor
arguments, as TensorIterator and the memory formats of convolutions have it.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import ARGUMENT, FRESH, VIEW, aliasing_of, results_of
from monograph.abstract.layout import is_contiguous
from monograph.abstract.tensor import AbstractTensor
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from monograph.abstract.layout import LayoutQuestion

CONTIGUOUS: Final = frozenset(
    {
        *("addbmm", "addmm", "baddbmm", "bmm", "mm", "mv", "linear"),
        *("cumprod", "cumsum", "index_add", "index_copy", "index_reduce", "masked_fill"),
        *("masked_scatter", "mvlgamma", "renorm", "scatter", "scatter_add", "scatter_reduce"),
        *("rrelu", "tril", "triu"),
        *("embedding", "gather", "index_select", "native_layer_norm", "layer_norm"),
        *("_log_softmax", "_softmax", "log_softmax", "softmax"),
        *("new_empty", "new_full", "new_ones", "new_zeros"),
    }
)
"""Operators of ATen whose results have memory of their own, without gaps, row after row."""

_VIEWS_OR_ROWS: Final = frozenset({"contiguous", "flatten", "ravel", "reshape", "reshape_as"})
_COPIES: Final = frozenset({"_to_copy", "to", "type_as"})
"""Operators that lay out their result as their argument lies, unless told otherwise."""


def makes_contiguous(target: Any) -> bool:
    """Whether the results of an operator are contiguous, however its arguments lie."""
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return False
    schema = schema_of(target)
    return not schema.is_mutable and schema.name.removeprefix("aten::") in CONTIGUOUS


def layout_sources(nodes: Iterable[Node]) -> set[Node]:
    """The inputs, of whichever graph, whose layout may decide how some values lie."""
    asked = [questions_behind(each, "strides") for each in nodes]
    return {source for found in asked for source, _ in found}


def questions_behind(node: Node, question: LayoutQuestion) -> set[tuple[Node, LayoutQuestion]]:
    """What is asked of inputs, of whichever graph, when a value is asked how it lies."""
    rest: list[tuple[Node, LayoutQuestion]] = [(node, question)]
    found = {*rest}
    while rest:
        current, asked = rest.pop()
        for of_argument in _asked_of_arguments(current, asked):
            for each in current.all_input_nodes:
                if (each, of_argument) not in found:
                    found.add((each, of_argument))
                    rest.append((each, of_argument))
    return {each for each in found if each[0].op == "placeholder"}


def _asked_of_arguments(node: Node, question: LayoutQuestion) -> tuple[LayoutQuestion, ...]:
    target: Any = node.target
    if node.op != "call_function" or makes_contiguous(target):
        return ()
    if question == "offset":
        return () if _is_fresh(target) else ("strides", "offset")
    return ("form",) if question == "form" and _keeps_form(node) else ("strides",)


def copied_by_layout(node: Node | None) -> Iterator[tuple[Node, AbstractTensor]]:
    """The calls behind a tensor that copy or not as their argument lies, and that argument."""
    while node is not None and isinstance(node.target, OpOverload):
        by_layout = aliasing_of(node.target).decides_by_layout
        source: Any = node.args[0] if by_layout or results_of(node) != FRESH else None
        call, node = node, source if isinstance(source, Node) else None
        value = None if node is None else node.meta.get("val")
        if by_layout and isinstance(value, AbstractTensor):
            yield call, value


def _is_fresh(target: Any) -> bool:
    is_known = isinstance(target, OpOverload) and target.namespace == "aten"
    return is_known and not aliasing_of(target).may_alias


def _keeps_form(node: Node) -> bool:
    """Whether the form of its arguments, strides at sizes of 1 aside, decides that of the result.

    Formats of memory (`cat`, convolutions) are read off all strides, and so is the order of
    dimensions in elementwise operators, unless all arguments are contiguous.
    """
    target: Any = node.target
    if target is operator.getitem:
        return True
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return False
    table, name = aliasing_of(target), schema_of(target).name.removeprefix("aten::")
    is_view = table.source is not None and table.possible <= VIEW | ARGUMENT and not table.written
    if is_view or name in _VIEWS_OR_ROWS:
        return True
    form = table.bound(node.args, node.kwargs).get("memory_format")
    is_like = torch.Tag.pointwise in target.tags or name in _COPIES
    return (
        is_like
        and form in {None, torch.preserve_format}
        and all(_lies_in_rows(each) for each in node.all_input_nodes)
    )


def _lies_in_rows(node: Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, AbstractTensor) and is_contiguous(value.tensor_type)


__all__ = [
    "CONTIGUOUS",
    "copied_by_layout",
    "layout_sources",
    "makes_contiguous",
    "questions_behind",
]
