"""Where the layout of a value comes from: the inputs of a graph that its strides follow.

Laws, held in `tests/laws/test_aliasing.py`: results of the operators named here are contiguous,
however their arguments lie, and so is whatever has memory of its own and one dimension. A view
follows what it shows, and what is written in place itself. The strides of any other result may
follow those of all its tensor arguments, as TensorIterator and memory formats have it; numbers
made of sizes follow none.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx.node import Node

from monograph.abstract.aliasing import ARGUMENT, FRESH, VIEW, aliasing_of, results_of, source_of
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
        *("all", "amax", "amin", "any", "argmax", "argmin", "mean", "nansum", "prod", "sum"),
        *("count_nonzero", "linalg_vector_norm", "logsumexp", "std", "std_mean", "var", "var_mean"),
        *("_safe_softmax", "cdist", "embedding_bag", "matmul", "one_hot", "repeat", "topk"),
        *("diag_embed", "repeat_interleave", "tile", "tensordot"),
    }
)
"""Operators of ATen whose results have memory of their own, without gaps, row after row."""

IN_FORMATS: Final = frozenset({"cat", "concat", "concatenate", "stack"})
"""Operators whose results are contiguous, but for formats of memory in 4 and 5 dimensions."""
GAPPED: Final = frozenset(
    {
        *("empty_permuted", "empty_strided", "new_empty_strided"),
        *("as_strided_scatter", "diagonal_scatter", "select_scatter", "slice_scatter"),
    }
)
"""Operators that are told the strides of what they make, or take those of their argument."""
_MOVED: Final = frozenset({"resize_", "resize_as_", "set_"})
"""Operators that change where a tensor lies."""
_VIEWS_OR_ROWS: Final = frozenset({"contiguous", "flatten", "ravel", "reshape", "reshape_as"})
_COPIES: Final = frozenset({"_to_copy", "clone", "to", "type_as"})
"""Operators that lay out their result as their argument lies, unless told otherwise."""
_NUMBERS: Final = (int, float, torch.SymInt, torch.SymFloat, torch.SymBool)


def makes_contiguous(target: Any) -> bool:
    """Whether the results of an operator are contiguous, however its arguments lie."""
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return False
    return not schema_of(target).is_mutable and _name(target) in CONTIGUOUS


def layout_sources(nodes: Iterable[Node]) -> set[Node]:
    """The inputs, of whichever graph, whose layout may decide how some values lie."""
    asked = [questions_behind(each, "strides") for each in nodes]
    return {source for found in asked for source, _ in found}


def questions_behind(node: Node, question: LayoutQuestion) -> set[tuple[Node, LayoutQuestion]]:
    """What is asked of inputs, of whichever graph, when a value is asked how it lies."""
    rest: list[tuple[Node, LayoutQuestion]] = [(node, question)]
    found = {*rest}
    while rest:
        new = {each for each in _behind(*rest.pop()) if each not in found}
        found |= new
        rest.extend(new)
    return {each for each in found if each[0].op == "placeholder"}


def _behind(node: Node, question: LayoutQuestion) -> Iterator[tuple[Node, LayoutQuestion]]:
    """What is asked of the arguments of an operator when its result is asked how it lies."""
    asked: tuple[LayoutQuestion, ...] = ("strides",)
    if question == "offset":
        if node.op != "call_function" or _is_fresh(node.target):
            return
        asked = ("strides", "offset")
    elif node.op != "call_function" or _lies_by_law(node, question):
        return
    elif question == "form" and _keeps_form(node):
        asked = ("form",)
    for each in _followed(node):
        for of_argument in asked:
            if of_argument == "offset" or not _has_no_strides(each):
                yield each, of_argument


def _followed(node: Node) -> list[Node]:
    """The arguments whose layout that of a result may follow."""
    target: Any = node.target
    if not isinstance(target, OpOverload) or target.namespace != "aten":
        return node.all_input_nodes
    table = aliasing_of(target)
    is_view = table.source is not None and not table.written and not table.is_list
    if is_view or _is_in_place(target):
        source = table.argument(table.source or table.argument_names[0], node.args, node.kwargs)
        return [source] if isinstance(source, Node) else node.all_input_nodes
    return node.all_input_nodes


def _is_in_place(target: OpOverload) -> bool:
    """Whether the result is the first argument, which lies where it lay."""
    is_moved = _name(target) in _MOVED or torch.Tag.inplace_view in target.tags
    return aliasing_of(target).is_inplace and not is_moved


def _has_no_strides(node: Node) -> bool:
    value = node.meta.get("val")
    if isinstance(value, AbstractTensor):
        return not value.tensor_type.shape
    return isinstance(value, _NUMBERS)


def _lies_by_law(node: Node, question: LayoutQuestion) -> bool:
    """Whether a result is contiguous, however the arguments lie."""
    value = node.meta.get("val")
    call: Any = node.args[0] if node.target is operator.getitem else node
    if makes_contiguous(call.target):
        return True
    if not isinstance(call.target, OpOverload) or not isinstance(value, AbstractTensor):
        return False
    table, name, rank = aliasing_of(call.target), _name(call.target), len(value.tensor_type.shape)
    form = table.bound(call.args, call.kwargs).get("memory_format")
    if not _is_fresh(call.target):
        is_plain = name == "contiguous" and form in {None, torch.contiguous_format}
        return question == "form" and (is_plain or name == "ravel")
    if form is torch.contiguous_format or (name in IN_FORMATS and rank not in {4, 5}):
        return True
    return question == "form" and rank < 2 and name not in GAPPED


def copied_by_layout(node: Node | None) -> Iterator[tuple[Node, AbstractTensor]]:
    """The calls behind a tensor that copy or not as their argument lies, and that argument."""
    while node is not None:
        target, source = node.target, source_of(node)
        if isinstance(target, OpOverload) and aliasing_of(target).decides_by_layout:
            value = None if source is None else source.meta.get("val")
            if isinstance(value, AbstractTensor):
                yield node, value
        elif results_of(node) == FRESH:
            return
        node = source


def _name(target: OpOverload) -> str:
    return schema_of(target).name.removeprefix("aten::")


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
    table, name = aliasing_of(target), _name(target)
    is_view = table.source is not None and table.possible <= VIEW | ARGUMENT and not table.written
    if is_view or name in _VIEWS_OR_ROWS or _is_in_place(target):
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
    "GAPPED",
    "IN_FORMATS",
    "copied_by_layout",
    "layout_sources",
    "makes_contiguous",
    "questions_behind",
]
