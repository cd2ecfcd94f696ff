"""Where every `torch._check` of user code ends: one function, looked up when it is called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def checker() -> Callable[..., None]:
    """What `torch._check` and its relatives call with an error's type, a condition and a text."""
    return torch._check_with


def set_checker(function: Any) -> None:
    """Let them call this instead; there is no hook for it."""
    torch._check_with = function


__all__ = ["checker", "set_checker"]
