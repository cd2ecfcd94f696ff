"""What `nn.Module.__call__` does around `forward`: nothing, unless there are hooks."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.modules import module as _module

_CALL: Any = torch.nn.Module._call_impl
_OWN = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")


def only_calls_forward(module: torch.nn.Module) -> bool:
    """Whether calling the module is calling its `forward`.

    As `Module._call_impl` decides: no hooks of its own, none of all modules
    (`_global_forward_hooks` and relatives), and `Module.compile()` was not called on it.
    """
    attributes = module.__dict__
    if any(attributes[name] for name in _OWN) or module._compiled_call_impl is not None:
        return False
    if type(module)._call_impl is not _CALL:
        return False
    return not (
        _module._global_forward_hooks
        or _module._global_forward_pre_hooks
        or _module._global_backward_hooks
        or _module._global_backward_pre_hooks
    )
