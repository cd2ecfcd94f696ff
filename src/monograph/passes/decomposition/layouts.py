"""Output strides of lowered programs, for inputs with other strides than the example's.

Most operators lay out their result as their arguments lie, and so does what they are made of.
Where the two differ, a program answers for inputs alone that lie as the example did.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch.fx.node import Node

aten = torch.ops.aten

LAID_OUT_ANEW: Final = frozenset(
    {
        *("_pdist_forward", "baddbmm", "group_norm", "max_pool1d", "native_dropout_backward"),
        *("one_hot", "pdist", "select_scatter"),
    }
)
"""Operators whose formulas lay out the result otherwise, or fail, for some layouts of arguments.

A test in tests/laws finds them: it calls each with transposed and channels-last arguments.
"""

_ROWS: Final = frozenset(
    {
        *(aten.mm.default, aten.bmm.default, aten.addmm.default, aten.embedding.default),
        *(aten.native_layer_norm.default, aten._softmax.default),  # noqa: SLF001 - an operator's name
    }
)
"""Operators whose results lie in rows, however their arguments lie."""


def layout_from(nodes: Iterable[Node]) -> set[Node]:
    """The inputs whose layout may decide how some values lie."""
    found = set(nodes)
    rest = [*found]
    while rest:
        current = rest.pop()
        target: Any = current.target
        if current.op == "call_function" and target not in _ROWS:
            new = [each for each in current.all_input_nodes if each not in found]
            found.update(new)
            rest += new
    return {each for each in found if each.op == "placeholder"}


__all__ = ["LAID_OUT_ANEW", "layout_from"]
