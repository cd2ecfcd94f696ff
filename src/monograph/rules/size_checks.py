"""On which side of a question about sizes an operator stands, where sizes are symbols.

Some operators do one thing for a size of 1 and another for the rest. Law: such a question is
answered by what is known; where nothing is, by the example's sizes, and the answer is `require`d: a
guard, never a silent choice. Sizes that depend on data have no example; for them the general
answer is required, which the program asserts when it runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.integers import active, eq, ge, known, lt, ne, require

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monograph.integers import Int


def equal(left: Int, right: Int) -> bool:
    """Whether two sizes are equal; unless known, as the example has it, under a guard.

    Raises: data-dependent-size.
    """
    if left is right:
        return True
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    relation = eq(left, right)
    verdict = known(relation)
    if verdict is None:
        here, there = active().hint_of(left), active().hint_of(right)
        verdict = here is not None and here == there
        settled = relation if verdict else ne(left, right)
        sign = "==" if verdict else "!="
        size = right if isinstance(left, int) else left
        require(settled, "data-dependent-size", question=f"{left} {sign} {right}", size=size)
    return verdict


def surely_equal(left: Int, right: Int) -> bool:
    """Whether two sizes are equal whatever the symbols are."""
    if left is right:
        return True
    if isinstance(left, int) and isinstance(right, int):
        return left == right
    return known(eq(left, right)) is True


def at_least(size: Int, least: Int) -> bool:
    """Whether a size is no less than another; unless known, as the example has it, under a guard.

    Raises: data-dependent-size.
    """
    if isinstance(size, int) and isinstance(least, int):
        return size >= least
    relation = ge(size, least)
    verdict = known(relation)
    if verdict is None:
        here, there = active().hint_of(size), active().hint_of(least)
        verdict = here is None or there is None or here >= there
        settled = relation if verdict else lt(size, least)
        question = f"{size} {'>=' if verdict else '<'} {least}"
        require(settled, "data-dependent-size", question=question, size=size)
    return verdict


def need_equal(left: Int, right: Int, operator: str, dim: int | None = None) -> None:
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


def need_positive(sizes: Iterable[Int], operator: str) -> None:
    """Sizes of a result that must have elements.

    Raises: size-must-be-positive.
    """
    for size in sizes:
        if not isinstance(size, int) or size < 1:
            require(ge(size, 1), "size-must-be-positive", size=size, what=operator)
