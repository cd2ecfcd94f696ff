"""Dimension arguments: negative ones count from the end, as everywhere in PyTorch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics import problem

if TYPE_CHECKING:
    from collections.abc import Sequence


def wrap_dim(dim: int, rank: int) -> int:
    """`dim` as a non-negative index; a 0-dim tensor accepts 0 and -1.

    Raises: dimension-out-of-range.

    >>> wrap_dim(-1, 3)
    2
    """
    limit = max(rank, 1)
    if not -limit <= dim < limit:
        raise problem("dimension-out-of-range", dim=dim, rank=rank)
    return dim % limit


def wrap_dims(dims: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Dimensions to reduce over, sorted; None or empty means all of them."""
    if dims is None:
        return tuple(range(rank))
    wanted = (dims,) if isinstance(dims, int) else dims
    if not wanted:
        return tuple(range(rank))
    return tuple(sorted({wrap_dim(dim, rank) for dim in wanted}))[:rank]
