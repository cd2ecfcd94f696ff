"""Stances and regions of PyTorch, and its default device."""

from __future__ import annotations

import importlib
import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Final

import torch
from torch._higher_order_ops.wrap import wrap_with_autocast, wrap_with_set_grad_enabled

if TYPE_CHECKING:
    from contextlib import AbstractContextManager


def uncompiled() -> AbstractContextManager[object]:
    """Run what `torch.compile` made as the Python it was made of.

    Only where something may have been compiled: `set_stance` imports `torch._dynamo`.
    """
    if "torch._dynamo" not in sys.modules:
        return nullcontext()
    return torch.compiler.set_stance("force_eager")


CHECKER: Final[tuple[Any, str]] = (torch, "_check_with")
"""What `torch._check` and its relatives call with an error's type, a condition and a text."""
FUNCTIONAL: Final[Any] = getattr(torch._C, "_nn")  # noqa: B009 - the stubs do not list it
"""What functions of `torch.nn.functional` in Python call."""
ASSERT: Final[Any] = torch._assert
CHECK: Final[Any] = torch._check
SAYING: Final[tuple[Any, ...]] = (ASSERT, torch.autograd.profiler.record_function.__init__)
"""Functions that are given a text for people: of an assertion, and of a part of a profile."""


def autocast_settings(cast: torch.autocast) -> tuple[str, torch.dtype, bool, bool]:
    """Device, dtype, whether it casts, and whether it keeps what it cast.

    The constructor keeps the last two under private names only.
    """
    return cast.device, cast.fast_dtype, cast._enabled, cast._cache_enabled


def region_operators() -> tuple[object, object]:
    """The higher-order operators that run a subgraph under another grad mode, or under autocast."""
    return wrap_with_set_grad_enabled, wrap_with_autocast


def remember_device_constructors() -> None:
    """Let PyTorch list, once, the functions that a default device is for, as they are now.

    It keeps the list (`torch.utils._device._device_constructors`), whoever stands for one then.
    """
    importlib.import_module("torch.utils._device")._device_constructors()


def default_device() -> torch.device:
    """What `torch.get_default_device()` answers, in a tenth of its time where nobody set one.

    A default device is a mode on the stack of functions (`_len_torch_function_stack`).
    """
    return torch.get_default_device() if torch._C._len_torch_function_stack() else _CPU


_CPU = torch.device("cpu")
