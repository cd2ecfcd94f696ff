"""`torch.tensor([n, t])` of sizes and tensors, which C++ would ask for their values.

The functions that stand in for torch's while user code runs know no recorder: a module that is
first imported then may keep them (`from torch import tensor`), and must keep nothing else alive.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from monograph.capture.recording.recorder import Recorder
from monograph.capture.recording.unbacked_values import holds_symbols, tensor_from
from monograph.host.dispatch import active_modes

if TYPE_CHECKING:
    from collections.abc import Generator

_REAL_TENSOR, _REAL_AS_TENSOR = torch.tensor, torch.as_tensor


def current_recorder() -> Recorder | None:
    """The recorder of the capture that runs in this thread."""
    return next((mode for mode in active_modes() if isinstance(mode, Recorder)), None)


def _tensor(data: Any, *, dtype: Any = None, device: Any = None, **options: Any) -> Any:
    recorder = current_recorder() if holds_symbols(data) else None
    if recorder is not None:
        return tensor_from(recorder, data, dtype, device)
    return _REAL_TENSOR(data, dtype=dtype, device=device, **options)


def _as_tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    if isinstance(data, list | tuple | torch.SymInt | torch.SymFloat) and holds_symbols(data):
        recorder = current_recorder()
        if recorder is not None:
            return tensor_from(recorder, data, dtype, device)
    return _REAL_AS_TENSOR(data, dtype=dtype, device=device)


@contextmanager
def literals() -> Generator[None]:
    """Let `torch.tensor` and `torch.as_tensor` record what holds sizes and abstract tensors."""
    before = torch.tensor, torch.as_tensor
    torch.tensor, torch.as_tensor = _tensor, _as_tensor
    try:
        yield
    finally:
        torch.tensor, torch.as_tensor = before
