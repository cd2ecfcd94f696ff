"""Broadcasting: sizes are equal, or one of them is 1.

Sizes that are not known to be equal, and of which none is known to be 1, are `require`d equal: a
guard, never a silent choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.layout import is_size_one
from monograph.integers import choose, eq, known, require

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def broadcast_size(left: Int, right: Int, dim: int = 0) -> Int:
    """The size two dimensions have together.

    Raises: sizes-disagree.
    """
    if left is right or (isinstance(right, int) and right == 1):
        return left
    if isinstance(left, int):
        if left == right:
            return left
        if left == 1:
            return right
    if is_size_one(right):
        return left
    if is_size_one(left):
        return right
    relation = eq(left, right)
    if known(relation) is not True:
        _settle(left, right, dim)
        if is_size_one(left):
            return right
    return right if isinstance(right, int) else left


def _settle(left: Int, right: Int, dim: int) -> None:
    """Record which case it is: equal, or one of the two is 1."""
    same, facts = eq(left, right), {"left": left, "right": right, "dim": dim}
    if choose(same, eq(right, 1), eq(left, 1), name="sizes-disagree", **facts) is None:
        require(same, "sizes-disagree", **facts)


def broadcast_shapes(*shapes: Sequence[Int]) -> tuple[Int, ...]:
    """The common shape of several operands.

    Raises: sizes-disagree.

    >>> broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    first = tuple(shapes[0])
    for other in shapes[1:]:
        if first == tuple(other):
            continue
        first = _broadcast_two(first, tuple(other))
    return first


def _broadcast_two(left: tuple[Int, ...], right: tuple[Int, ...]) -> tuple[Int, ...]:
    if len(left) < len(right):
        left = (1,) * (len(right) - len(left)) + left
    elif len(right) < len(left):
        right = (1,) * (len(left) - len(right)) + right
    return tuple(
        broadcast_size(a, b, dim) for dim, (a, b) in enumerate(zip(left, right, strict=True))
    )
