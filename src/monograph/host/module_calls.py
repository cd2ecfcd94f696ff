"""What `nn.Module.__call__` does around `forward`, and what `Module.to` makes of its arguments."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import FunctionType
from typing import Any, Final

import torch
from torch._C._nn import _parse_to  # pyright: ignore[reportAttributeAccessIssue]  (no stub)
from torch.nn.modules import module as _module

_CALL: Any = torch.nn.Module._call_impl
TRACING_STATES: Final[tuple[Any, ...]] = (torch._C._get_tracing_state, torch._C._is_tracing)
"""What `Module._call_impl` asks whether `torch.jit.trace` looks on; since 2.15 the second."""
CHECKING: Final[Any] = torch._assert
"""The function that models call in the place of `assert`."""


def is_persistent(owner: torch.nn.Module, name: str) -> bool:
    """Whether a parameter or buffer is part of the state dict; `register_buffer` keeps it here."""
    return name not in owner._non_persistent_buffers_set


def named_parts(
    module: torch.nn.Module, path: str = "", found: list[tuple[str, torch.nn.Module]] | None = None
) -> list[tuple[str, torch.nn.Module]]:
    """What `named_modules(remove_duplicate=False)` yields, in a tenth of its time."""
    found = [] if found is None else found
    found.append((path, module))
    inside = f"{path}." if path else ""
    for name, part in module._modules.items():
        if part is not None:
            named_parts(part, inside + name, found)
    return found


def only_calls_forward(module: torch.nn.Module) -> bool:
    """Whether calling the module is calling its `forward`.

    As `Module._call_impl` decides: no hooks of its own, none of all modules
    (`_global_forward_hooks` and relatives), and `Module.compile()` was not called on it.
    """
    attributes = module.__dict__
    if (
        attributes["_forward_hooks"]
        or attributes["_forward_pre_hooks"]
        or attributes["_backward_hooks"]
        or attributes["_backward_pre_hooks"]
        or module._compiled_call_impl is not None
    ):
        return False
    if type(module)._call_impl is not _CALL:
        return False
    return not (
        _module._global_forward_hooks
        or _module._global_forward_pre_hooks
        or _module._global_backward_hooks
        or _module._global_backward_pre_hooks
    )


def is_called_alone(module: torch.nn.Module) -> bool:
    """Whether nobody looks at the call of a module, which may then be made without its `forward`.

    No hooks, no tracer (`torch.jit.trace`, Dynamo), no mode that sees functions, and no `forward`
    that was put on the instance.
    """
    return not (
        torch.compiler.is_dynamo_compiling()
        or "forward" in module.__dict__
        or torch._C._len_torch_function_stack()
        or torch._C._get_tracing_state()
        or not only_calls_forward(module)
    )


GLOBAL_HOOKS: Final[tuple[Any, ...]] = (
    _module._global_forward_hooks,
    _module._global_forward_pre_hooks,
    _module._global_backward_hooks,
    _module._global_backward_pre_hooks,
)
"""The hooks of all modules."""
_LAYERS: Final = frozenset(
    f"torch.nn.modules.{name}"
    for name in (
        *("activation", "batchnorm", "container", "conv", "dropout", "flatten", "linear"),
        *("normalization", "padding", "pooling", "sparse", "upsampling"),
    )
)
"""Files of layers that call `torch.nn.functional` and their own children, and nothing else."""


def is_plain_layer(module: torch.nn.Module) -> bool:
    """Whether the class is PyTorch's own layer and the object has no function of its own.

    Its `forward` then reads parameters and calls functions and children, and no user code but
    that; provided that `functional_is_original`.
    """
    kind = type(module)
    if kind.__module__ not in _LAYERS:
        return False
    if getattr(sys.modules[kind.__module__], kind.__name__, None) is not kind:
        return False
    return not any(map(callable, module.__dict__.values()))


def functional_is_original() -> bool:
    """Whether nobody but this package has put a function into `torch.nn.functional`."""
    functional: Any = vars(torch.nn.functional)
    if functional == _FOUND:
        return True
    folder = torch.__file__.removesuffix("__init__.py")
    for each in functional.values():
        found = getattr(each, "__wrapped__", each) if _is_override(each) else each
        if type(found) is FunctionType and not found.__code__.co_filename.startswith(folder):
            return False
    _FOUND.clear()
    _FOUND.update(functional)
    return True


def _is_override(function: Any) -> bool:
    is_function = type(function) is FunctionType
    return is_function and function.__code__.co_filename.startswith(_OURS)


_OURS: Final = f"{Path(__file__).parents[1]}{os.sep}"
_FOUND: Final[dict[str, Any]] = {}
"""What was there when all was PyTorch's own, or overridden by this package."""


def conversion_of(
    *args: Any, **kwargs: Any
) -> tuple[torch.device | None, torch.dtype | None, torch.memory_format | None]:
    """The device, dtype and memory format asked for, each None where it is not.

    Raises: TypeError, for arguments that `Module.to` does not take.
    """
    parsed: tuple[Any, Any, Any, Any] = _parse_to(*args, **kwargs)
    device, dtype, _, memory_format = parsed
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        message = f"programs are converted to floating point or complex dtypes, not to {dtype}"
        raise TypeError(message)
    return device, dtype, memory_format
