"""Output strides of lowered programs, for inputs with other strides than the example's.

Most operators lay out their result as their arguments lie, and so does what they are made of.
Where the two differ, a program answers for inputs alone that lie as the example did.
"""

from __future__ import annotations

from typing import Final

LAID_OUT_ANEW: Final = frozenset(
    {
        *("_pdist_forward", "baddbmm", "group_norm", "max_pool1d", "native_dropout_backward"),
        *("one_hot", "pdist", "select_scatter"),
        *("lerp", "logit_backward", "special_xlog1py", "xlogy"),
    }
)
"""Operators whose formulas lay out the result otherwise, or fail, for some layouts of arguments.

A test in tests/laws finds them: it calls each with transposed and channels-last arguments.
"""

__all__ = ["LAID_OUT_ANEW"]
