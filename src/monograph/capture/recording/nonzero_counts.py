"""Unbacked sizes of masks: the number of nonzero places is one symbol, however it is asked.

`x[mask]`, `y[mask]`, `mask.nonzero()` and `mask.sum().item()` make numbers of their own; where the
mask is the same value, these are stated to be equal. Law: two reads of one node see the same value
unless the storage was written to in between, which counts its version up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.tensor import AbstractTensor
from monograph.host.overloads import aten as _aten
from monograph.integers import eq

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx.node import Node

    from monograph.integers import Expr, Facts

_MASKS: Final = (torch.bool, torch.uint8)
_Key = tuple["Node", int]


def _of_first(args: tuple[Any, ...]) -> Any:
    return args[0]


def _of_mask(args: tuple[Any, ...]) -> Any:
    """What `masked_select` counts is the mask's, unless it is broadcast."""
    x, mask = args[:2]
    same = isinstance(x, AbstractTensor) and isinstance(mask, AbstractTensor)
    return mask if same and x.tensor_type.shape == mask.tensor_type.shape else None


def _of_index(args: tuple[Any, ...]) -> Any:
    given = [index for index in args[1] if index is not None]
    only = given[0] if len(given) == 1 else None
    return only if isinstance(only, AbstractTensor) and only.tensor_type.dtype in _MASKS else None


COUNTING: Final[dict[int, Callable[[tuple[Any, ...]], Any]]] = {
    id(_aten.nonzero.default): _of_first,
    id(_aten.argwhere.default): _of_first,
    id(_aten.nonzero_numpy.default): _of_first,
    id(_aten.where.default): _of_first,
    id(_aten.masked_select.default): _of_mask,
    id(_aten.index.Tensor): _of_index,
}
"""Operators that find the places of a mask, and which of their arguments it is."""

_SUMS: Final = frozenset({_aten.sum.default, _aten.count_nonzero.default})
_CASTS: Final = frozenset({_aten.to.dtype, _aten._to_copy.default})  # noqa: SLF001 - an operator's name


class Counts:
    """The numbers of places known so far in one capture."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._known: dict[_Key, Expr] = {}
        self._summed: dict[Node, _Key] = {}

    def found(self, mask: Any, made: Sequence[Expr]) -> None:
        """An operator that finds the places of a mask made these symbols: one is their number."""
        if len(made) == 1 and isinstance(mask, AbstractTensor):
            self._state(_key(mask), made[0])

    def summed(self, node: Node, tensor: AbstractTensor) -> None:
        """A node sums or casts a tensor; what it counts is that of the tensor now."""
        if tensor.node is None:
            return
        earlier = self._summed.get(tensor.node)
        if tensor.tensor_type.dtype == torch.bool:
            self._summed[node] = _key(tensor)
        elif earlier is not None and not tensor.storage_root.n_writes:
            self._summed[node] = earlier

    def read(self, node: Node, number: Expr) -> None:
        """The only element of what a node made is this number."""
        key = self._summed.get(node)
        if key is not None and node.target in _SUMS:
            self._state(key, number)

    def _state(self, key: _Key, number: Expr) -> None:
        known = self._known.setdefault(key, number)
        if known is not number:
            # No check is needed: both count the same places.
            self._facts.assume(eq(known, number), self._facts.locate())


SUMMING: Final = frozenset(id(overload) for overload in _SUMS | _CASTS)


def _key(tensor: AbstractTensor) -> _Key:
    assert tensor.node is not None, "what is looked at is in the graph"
    return tensor.node, tensor.storage_root.n_writes
