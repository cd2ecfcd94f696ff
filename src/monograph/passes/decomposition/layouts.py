"""Output strides of lowered programs, for inputs with other strides than the example's.

Most operators lay out their result as their arguments lie, and so does what they are made of.
Where the two differ, a program answers for inputs alone that lie as the example did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.abstract.aliasing import view_chain
from monograph.abstract.layout import is_contiguous
from monograph.host.overloads import aten
from monograph.passes.graph_builder import is_tensor, tensor_type
from monograph.rules.views.strides import are_ints, is_viewable_anyhow

if TYPE_CHECKING:
    from torch.fx.node import Node


LAID_OUT_ANEW: Final = frozenset(
    {
        *("_pdist_forward", "baddbmm", "group_norm", "max_pool1d", "native_dropout_backward"),
        *("addcdiv", "addcmul", "huber_loss", "logaddexp2"),
        *("adaptive_avg_pool1d", "channel_shuffle", "pixel_shuffle", "nll_loss2d_forward"),
        *("heaviside", "index_fill", "one_hot", "pdist", "select_scatter"),
        *("lerp", "log_sigmoid_forward", "logaddexp", "logit_backward"),
        *("special_xlog1py", "xlogy"),
    }
)
"""Operators whose formulas lay out the result otherwise, or fail, for some layouts of arguments.

Tests in tests/laws find them: they call each with arguments that are transposed, channels-last, or
expanded one by one.
"""


_IN_ROWS: Final = frozenset({"_pdist_forward", "pdist"})
"""Of these, those that take no argument which lies otherwise."""


def is_laid_out_anew(name: str, results: Any) -> bool:
    """Whether what a formula makes of an operator may lie otherwise than the operator's results."""
    made = results if isinstance(results, list) else [results]
    ranks = [tensor_type(each).rank for each in made if is_tensor(each)]
    return name in LAID_OUT_ANEW and (name in _IN_ROWS or any(rank > 1 for rank in ranks))


_NEED_A_LAYOUT: Final = frozenset(
    map(
        id,
        (
            *(aten.view.default, aten.view.dtype),
            *(aten.view_as_complex.default, aten.as_strided.default),
        ),
    )
)


def needs_a_layout(node: Node) -> bool:
    """Whether it is a view that not every layout allows."""
    if node.target is not aten.view.default:
        return id(node.target) in _NEED_A_LAYOUT
    source: Any = node.args[0]
    return not is_viewable_anyhow(tensor_type(source).shape, tensor_type(node).shape)


COPIES_IF_NOT_CONTIGUOUS: Final = frozenset({aten.contiguous.default, aten.ravel.default})
"""Operators that give their argument, or a view of it, where that is contiguous."""
_VIEWS_OR_COPIES: Final = frozenset(
    {aten.flatten.using_ints, aten.reshape.default, aten.reshape_as.default}
)


def may_have_gaps(node: Node) -> bool:
    """Whether it may be a view with gaps, though its type says that it is contiguous.

    A reshape that the sizes of each call make a view or a copy is kept as an operator, and typed as
    a copy (`capture/torch_overrides/open_views.py`).
    """
    for each in view_chain(node):
        if each.target in COPIES_IF_NOT_CONTIGUOUS:
            return False
        if each.target in _VIEWS_OR_COPIES:
            source: Any = each.args[0]
            given = tensor_type(source)
            if not is_contiguous(given) and not are_ints(given.shape):
                return True
    return False


__all__ = [
    "COPIES_IF_NOT_CONTIGUOUS",
    "LAID_OUT_ANEW",
    "is_laid_out_anew",
    "may_have_gaps",
    "needs_a_layout",
]
