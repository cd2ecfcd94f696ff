"""Dimension arguments: negative ones count from the end, as everywhere in PyTorch."""

from __future__ import annotations

from monograph.diagnostics import problem


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
