"""What user code asks PyTorch about the situation it runs in."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def exporting() -> Iterator[None]:
    """Make `torch.compiler.is_exporting()` and `is_compiling()` true.

    Libraries choose capturable code paths by them; the flags are module globals of
    `torch.compiler` without a public setter.
    """
    compiler = torch.compiler
    before = compiler._is_exporting_flag, compiler._is_compiling_flag
    compiler._is_exporting_flag = compiler._is_compiling_flag = True
    try:
        yield
    finally:
        compiler._is_exporting_flag, compiler._is_compiling_flag = before


def region_operators() -> tuple[object, object]:
    """The higher-order operators that run a subgraph under another grad mode, or under autocast."""
    from torch._higher_order_ops.wrap import (  # noqa: PLC0415 - only programs with regions need it
        wrap_with_autocast,
        wrap_with_set_grad_enabled,
    )

    return wrap_with_set_grad_enabled, wrap_with_autocast
