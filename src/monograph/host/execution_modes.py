"""Execution modes: what PyTorch runs its operators under, beside their arguments."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, Final

import torch

# As they are, not as user code is watched asking them.
from torch import get_autocast_dtype, is_autocast_cache_enabled, is_autocast_enabled

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from contextlib import AbstractContextManager

__all__ = [
    "AUTOCAST_STATE",
    "CALL_WHAT_IS_CAST",
    "MODE_SETTERS",
    "MODE_STATE",
    "casting_within",
    "enter_autocast",
    "is_any_autocast",
    "is_cast",
    "is_plain_execution",
    "is_plain_recording",
    "leave_autocast",
    "outside_of_dispatch",
    "restore_autocast",
]

MODE_SETTERS: Final = (torch._C._set_grad_enabled,)
"""Functions that set a mode for what follows, and that a graph may call."""


def _autocast() -> tuple[Any, ...]:
    return (
        torch.is_autocast_enabled("cpu"),
        torch.is_autocast_enabled("cuda"),
        torch.get_autocast_dtype("cpu"),
        torch.get_autocast_dtype("cuda"),
    )


is_any_autocast = torch._C._is_any_autocast_enabled


def _state() -> tuple[Any, ...]:
    """All modes that the result of an operator depends on."""
    return (
        torch.is_grad_enabled(),
        torch.is_inference_mode_enabled(),
        torch.get_default_dtype(),
        torch.are_deterministic_algorithms_enabled(),
        _autocast() if is_any_autocast() else None,
    )


MODE_STATE: Final = _state


def _autocast_state() -> tuple[Any, ...]:
    """All that entering an `autocast` changes, with how many are entered."""
    depth = torch.autocast_increment_nesting() - 1
    torch.autocast_decrement_nesting()
    devices = ("cpu", "cuda")
    modes = [(is_autocast_enabled(each), get_autocast_dtype(each)) for each in devices]
    return depth, is_autocast_cache_enabled(), *zip(devices, modes, strict=True)


AUTOCAST_STATE: Final = _autocast_state


def _set_autocast(device: str, enabled: bool, dtype: torch.dtype, cache: bool) -> None:  # noqa: FBT001 - as nodes have it
    torch.set_autocast_enabled(device, enabled)
    torch.set_autocast_dtype(device, dtype)
    torch.set_autocast_cache_enabled(cache)


def enter_autocast(device: str, enabled: bool, dtype: torch.dtype, cache: bool) -> None:  # noqa: FBT001
    """Set what `autocast.__enter__` sets."""
    _set_autocast(device, enabled, dtype, cache)
    torch.autocast_increment_nesting()


def leave_autocast(device: str, enabled: bool, dtype: torch.dtype, cache: bool) -> None:  # noqa: FBT001
    """Set what `autocast.__exit__` sets."""
    if torch.autocast_decrement_nesting() == 0:
        torch.clear_autocast_cache()
    _set_autocast(device, enabled, dtype, cache)


def restore_autocast(state: tuple[Any, ...]) -> None:
    """Set what `AUTOCAST_STATE` has found."""
    depth, cache, *devices = state
    for device, (enabled, dtype) in devices:
        _set_autocast(device, enabled, dtype, cache)
    now = torch.autocast_increment_nesting()
    while now <= depth:
        now = torch.autocast_increment_nesting()
    while now > depth:
        now = torch.autocast_decrement_nesting()
    if now == 0:
        torch.clear_autocast_cache()


_c: Any = torch._C


def is_cast(device: str) -> bool:
    """Whether autocast is on for a device; on some (`meta`) there is none, and asking raises."""
    return torch.amp.is_autocast_available(device) and is_autocast_enabled(device)


outside_of_dispatch: Callable[[], AbstractContextManager[object]] = _c._RestorePythonTLSSnapshot
"""Within `__torch_dispatch__`: what is called gets there as if user code had called it."""

CALL_WHAT_IS_CAST: Final = frozenset(
    {
        *("_native_multi_head_attention", "_transformer_encoder_layer_fwd", "_trilinear"),
        *("affine_grid_generator", "linalg_pinv"),
    }
)
"""The names of operators with a kernel that calls others, which autocast casts."""
_CASTS: Final = {"cpu": torch._C.DispatchKey.AutocastCPU, "cuda": torch._C.DispatchKey.AutocastCUDA}


@contextmanager
def casting_within() -> Generator[None]:
    """Within `__torch_dispatch__`: what an operator calls is cast, as autocast passed it by."""
    with outside_of_dispatch():
        keys = [key for device, key in _CASTS.items() if is_autocast_enabled(device)]
    with ExitStack() as guards:
        for key in keys:
            guards.enter_context(_c._SetExcludeDispatchKeyGuard(key, False))
        yield


_n_functions = torch._C._len_torch_function_stack
_n_dispatches = torch._C._len_torch_dispatch_stack
_transforms = _c._functorch.peek_interpreter_stack


def is_plain_execution() -> bool:
    """Whether no mode of `__torch_function__` or `__torch_dispatch__`, and no transform, is on."""
    return not _n_functions() and not _n_dispatches() and _transforms() is None


def is_plain_recording() -> bool:
    """Whether operators reach the only mode, a recorder, with the arguments they are given."""
    alone = not _n_functions() and _n_dispatches() == 1
    return alone and _transforms() is None and not is_any_autocast()
