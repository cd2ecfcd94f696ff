"""Snapshot and restore of modules: parameters, buffers, flags and attributes."""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import torch

from monograph.host.dispatch import has_no_data

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable


class KeptState:
    """What modules held when this was made. Tensors are compared by value: not every write counts.

    Attributes that hold lists or dictionaries get what these held; objects in them are shared.
    """

    def __init__(
        self,
        functions: Iterable[Callable[..., Any]],
        *,
        with_parameters: bool = True,
        also: Iterable[torch.Tensor] = (),
    ) -> None:
        """Copy buffers, the tensors of `also`, and parameters unless nothing writes to those."""
        modules = [each for each in functions if isinstance(each, torch.nn.Module)]
        parts = [part for each in modules for part in each.modules()]
        tables = [vars(part) for part in parts]
        values = [value for table in tables for value in table.values()]
        tables += [value for value in values if isinstance(value, dict)]
        self._tables = [(table, dict(table)) for table in tables]
        self._lists = [(value, list(value)) for value in values if type(value) is list]
        tensors = [*also, *(each for part in parts for each in part.buffers(recurse=False))]
        tensors += [each for each in values if type(each) is torch.Tensor]
        if with_parameters:
            tensors += [each for part in parts for each in part.parameters(recurse=False)]
        distinct = {id(each): each for each in tensors if not has_no_data(each)}
        self._tensors = [(each, each.detach().clone()) for each in distinct.values()]

    @contextmanager
    def restored(self) -> Generator[None]:
        """Put everything back in the end."""
        try:
            yield
        finally:
            for table, before in self._tables:
                if [*table] != [*before] or any(table[name] is not before[name] for name in table):
                    table.clear()
                    table.update(before)
            for value, held in self._lists:
                value[:] = held
            with torch.no_grad():
                for tensor, before in self._tensors:
                    _put_back(tensor, before)


def _put_back(tensor: torch.Tensor, before: torch.Tensor) -> None:
    if tensor.grad_fn is not None:
        with suppress(RuntimeError):  # views cannot be detached in place
            tensor.detach_()
    if tensor.layout is torch.strided and not torch.equal(tensor, before):
        tensor.data = (
            tensor.data.view_as(before) if tensor.shape == before.shape else before.clone()
        )
        tensor.copy_(before)


__all__ = ["KeptState"]
