"""Comparisons of sizes, where sizes are symbols.

Some operators do one thing for a size of 1 and another for the rest. Law: such a question is
answered by what is known; where nothing is, by `choose`: a guard, never a silent choice. Where data
decides, the general answer is required, which the program asserts when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.diagnostics import problem
from monograph.integers import choose, eq, ge, known, lt, ne, require

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from monograph.integers import Int, Truth


def equal(left: Int, right: Int) -> bool:
    """Whether two sizes are equal; unless known, one way or the other under a guard.

    Raises: data-dependent-size.
    """
    if left is right:
        return True
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    size = right if isinstance(left, int) else left
    return not _is_case(ne(left, right), eq(left, right), f"{left} != {right}", size)


def surely_equal(left: Int, right: Int) -> bool:
    """Whether two sizes are equal whatever the symbols are."""
    if left is right:
        return True
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return known(eq(left, right)) is True


def at_least(size: Int, least: Int) -> bool:
    """Whether a size is no less than another; unless known, one way or the other under a guard.

    Raises: data-dependent-size.
    """
    if isinstance(size, int) and isinstance(least, int):
        return size >= least
    return _is_case(ge(size, least), lt(size, least), f"{size} >= {least}", size)


def _is_case(general: Truth, special: Truth, question: str, size: Int) -> bool:
    """Whether the general one of two cases holds; where data decides it is required."""
    verdict = known(general)
    if verdict is not None:
        return verdict
    case = choose(general, special)
    if case is None:
        require(general, "data-dependent-size", question=question, size=size)
    return case != 1


def need_equal(left: Int, right: Int, operator: str = "", dim: int | None = None) -> None:
    """Two sizes that the operator compares.

    Raises: sizes-disagree.
    """
    if left != right:  # of expressions that is identity, so equal ones are done here too
        require(
            eq(left, right),
            "sizes-disagree",
            left=left,
            right=right,
            dim=dim,
            operator=operator,
        )


def need_same_shape(
    shape: Sequence[Int], given: Sequence[Int], operator: str, what: str = ""
) -> None:
    """A shape that the operator compares with another.

    Raises: rank-disagrees, sizes-disagree.
    """
    if len(shape) != len(given):
        what = what or operator
        raise problem("rank-disagrees", what=what, expected=len(shape), got=len(given))
    for dim, (left, right) in enumerate(zip(shape, given, strict=True)):
        need_equal(left, right, operator, dim)


def need_positive(sizes: Iterable[Int], operator: str) -> None:
    """Sizes of a result that must have elements.

    Raises: size-must-be-positive.
    """
    for size in sizes:
        if not isinstance(size, int) or size < 1:
            require(ge(size, 1), "size-must-be-positive", size=size, what=operator)
