"""Test-input generation for sparse matrices: entries at places that a matrix of the sizes has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.host.objects import ObjectState, SparseCsr, SparseParts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from monograph.host.trees import TreeSpec

    Leaf = Callable[[torch.Generator], Any]


def draw_entries(leaves: list[Leaf], spec: TreeSpec) -> None:
    """Let the parts of each matrix be drawn together, in the place of one by one."""
    for kind, at in _matrices(spec, 0):
        parts = leaves[at : at + len(kind.names)]
        for i in range(len(parts)):
            leaves[at + i] = _part(kind, parts, i)


def _matrices(spec: TreeSpec, at: int) -> Iterator[tuple[type[SparseParts], int]]:
    """The matrices in a structure, and where their first leaves are."""
    state = spec.context
    if isinstance(state, ObjectState) and issubclass(state.kind, SparseParts):
        yield state.kind, at
    for child in spec.children():
        yield from _matrices(child, at)
        at += child.num_leaves


def _part(kind: type[SparseParts], parts: list[Leaf], i: int) -> Leaf:
    def drawn(generator: torch.Generator) -> Any:
        """The same seed gives each part of one matrix."""
        own = torch.Generator().manual_seed(generator.initial_seed())
        return _drawn(kind, [part(own) for part in parts], own)[i]

    return drawn


def _drawn(kind: type[SparseParts], parts: list[Any], generator: torch.Generator) -> list[Any]:
    """Parts of these sizes, with as many entries as there are values, or as there is room."""
    *where, values, n_rows, n_columns = parts
    room = max(n_rows, 0) * max(n_columns, 0)
    places = torch.randperm(room, generator=generator)[: values.size(0)].sort().values
    rows, columns = places // max(n_columns, 1), places % max(n_columns, 1)
    values = values[: len(places)]
    if kind is not SparseCsr:
        return [torch.stack([rows, columns]).to(where[0]), values, n_rows, n_columns]
    starts = torch.zeros(where[0].size(0), dtype=torch.int64)
    starts[1:] = torch.bincount(rows, minlength=max(n_rows, 0)).cumsum(0)
    return [starts.to(where[0]), columns.to(where[1]), values, n_rows, n_columns]


__all__ = ["draw_entries"]
