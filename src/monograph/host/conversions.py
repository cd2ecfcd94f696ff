"""What `Module.to` makes of its arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from torch._C._nn import _parse_to  # pyright: ignore[reportAttributeAccessIssue]  (no stub)

if TYPE_CHECKING:
    import torch


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


__all__ = ["conversion_of"]
