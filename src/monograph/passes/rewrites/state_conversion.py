"""Conversion of state to another device or dtype, with what it shares.

Law: names of one tensor stay names of one tensor, tensors that share memory share it again, a
Parameter stays one and keeps its flag; what is there already stays the same object.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def convert(
    tensors: dict[str, torch.Tensor],
    names: Iterable[str],
    conversion: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """Replace the tensors of these names; `conversion` is elementwise, and may return its input."""
    done: dict[int, torch.Tensor] = {}
    memory = _Memory(conversion)
    chosen = list(names)
    for name in chosen:
        memory.note(tensors[name])
    for name in chosen:
        tensor = tensors[name]
        if id(tensor) not in done:
            value = memory.converted(tensor)
            done[id(tensor)] = tensor if value is tensor else _like(tensor, value)
        tensors[name] = done[id(tensor)]


class _Memory:
    """What is converted, by the storages that several tensors lie in."""

    def __init__(self, conversion: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.conversion = conversion
        self.sharing: dict[Any, dict[int, torch.Tensor]] = {}
        self.whole: dict[Any, torch.Tensor] = {}

    def note(self, tensor: torch.Tensor) -> None:
        """Remember who lies where."""
        self.sharing.setdefault(_place(tensor), {})[id(tensor)] = tensor

    def converted(self, tensor: torch.Tensor) -> torch.Tensor:
        """The tensor converted, with all others in its storage."""
        plain = tensor.detach()
        place = _place(tensor)
        if len(self.sharing[place]) == 1:
            value = self.conversion(plain)
            return tensor if value is plain else value
        if place not in self.whole:
            everything = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
            everything.set_(tensor.untyped_storage())
            value = self.conversion(everything)
            self.whole[place] = everything if value is everything else value
        whole = self.whole[place]
        if whole.dtype is tensor.dtype and whole.device == tensor.device:
            return tensor
        return whole.as_strided(tensor.shape, tensor.stride(), tensor.storage_offset())


def _place(tensor: torch.Tensor) -> Any:
    """The storage that a tensor lies in, seen in one dtype; a tensor of its own without one."""
    if tensor.layout is not torch.strided or tensor.device.type == "meta" or tensor.is_conj():
        return id(tensor)
    address = tensor.untyped_storage().data_ptr()
    return (str(tensor.device), tensor.dtype, address) if address else id(tensor)


def _like(tensor: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    """A Parameter for a Parameter."""
    if isinstance(tensor, torch.nn.Parameter):
        return torch.nn.Parameter(value, requires_grad=tensor.requires_grad)
    return value.requires_grad_(tensor.requires_grad)


__all__ = ["convert"]
