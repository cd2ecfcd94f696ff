"""Execution modes: what PyTorch runs its operators under, beside their arguments."""

from __future__ import annotations

from typing import Any, Final

import torch

__all__ = ["MODE_SETTERS", "MODE_STATE", "is_plain_execution"]

MODE_SETTERS: Final = (torch._C._set_grad_enabled,)
"""Functions that set a mode for what follows, and that a graph may call."""


def _autocast() -> tuple[Any, ...]:
    return (
        torch.is_autocast_enabled("cpu"),
        torch.is_autocast_enabled("cuda"),
        torch.get_autocast_dtype("cpu"),
        torch.get_autocast_dtype("cuda"),
    )


_any_autocast = torch._C._is_any_autocast_enabled


def _state() -> tuple[Any, ...]:
    """All modes that the result of an operator depends on."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        _autocast() if _any_autocast() else None,
    )


MODE_STATE: Final = _state
_n_functions = torch._C._len_torch_function_stack
_n_dispatches = torch._C._len_torch_dispatch_stack
_c: Any = torch._C
_transforms = _c._functorch.peek_interpreter_stack


def is_plain_execution() -> bool:
    """Whether no mode of `__torch_function__` or `__torch_dispatch__`, and no transform, is on."""
    return not _n_functions() and not _n_dispatches() and _transforms() is None
