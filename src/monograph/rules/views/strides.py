"""Strides that show a tensor with other sizes, and whether there are any.

A view of a contiguous tensor always exists. Of any other it exists if each run of dimensions that
lie one behind the other in memory is split or merged on its own; `reshape` copies if not. Law: the
choice between view and copy holds for all sizes the guards accept, but for sizes of 1, where a view
may exist that lies as the copy would (the probe of sizes 0 and 1 looks there).

Source: `ATen/TensorUtils.cpp`, `computeStride` (observed, not copied).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, TypeGuard

from monograph.abstract.layout import contiguous_strides, is_size_one
from monograph.abstract.tensor_type import TensorType, like, view_of
from monograph.diagnostics import problem
from monograph.integers import (
    Expr,
    active,
    any_of,
    choose,
    eq,
    is_symbol,
    known,
    left_open,
    ne,
    require,
    substitute,
    terms,
)
from monograph.rules.size_checks import surely_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.integers import Int

_MOST_AT_ONCE = 4  # sizes tried as 1 together: 15 sets


class Sizes(tuple[object, ...]):
    """Sizes or strides for a message; worded only if there is one."""

    __slots__ = ()

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self))}]"


def tidy(shape: Sequence[Int], strides: tuple[Int, ...]) -> tuple[Int, ...] | None:
    """The strides, or None if they are those of a contiguous tensor."""
    return None if strides == contiguous_strides(shape) else strides


def viewed(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """`x` seen with other sizes of the same number of elements.

    Raises: view-impossible.
    """
    steps = x.strides
    if steps is None:
        return TensorType(shape, x.dtype, x.device, None, x.offset)
    strides = _remembered("view", _strides_of_view, x, steps, shape)
    if strides is None:
        reason = f"its strides are {Sizes(steps)}"
        raise problem("view-impossible", shape=Sizes(x.shape), target=Sizes(shape), reason=reason)
    return view_of(x, shape, tidy(shape, strides))


def reshaped(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """A view where one exists, else a contiguous copy."""
    steps = x.strides
    if steps is None:
        return TensorType(shape, x.dtype, x.device, None, x.offset)
    if shape == x.shape:
        return view_of(x, shape, steps)
    strides = _remembered("reshape", _strides_of_reshape, x, steps, shape)
    if strides is None:
        return like(x, shape)
    return view_of(x, shape, tidy(shape, strides))


def copied(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """A contiguous copy of what is not contiguous in general."""
    exclude_views(x, x.stride(), shape)
    return like(x, shape)


def _remembered(
    question: str,
    answer: Callable[[TensorType, tuple[Int, ...], tuple[Int, ...]], tuple[Int, ...] | None],
    x: TensorType,
    steps: tuple[Int, ...],
    shape: tuple[Int, ...],
) -> tuple[Int, ...] | None:
    """The answer for symbolic sizes, computed again only when more is known."""
    if are_ints(x.shape) and are_ints(steps) and are_ints(shape):
        return _view_of_numbers(x.shape, steps, shape)
    facts = active()
    memo = facts.pool.memo
    key = (question, x.shape, steps, x.offset, shape)
    found = memo.get((key, len(facts.stated)), memo)
    if found is memo:
        doubt = facts.views_in_doubt
        before = doubt and doubt.n_met
        found = answer(x, steps, shape)
        if before == (doubt and doubt.n_met):
            memo[key, len(facts.stated)] = found
    return found  # pyright: ignore[reportReturnType]  # the memo is shared by several types


def are_ints(sizes: tuple[Int, ...]) -> TypeGuard[tuple[int, ...]]:
    """Whether all are numbers."""
    for size in sizes:  # noqa: SIM110 - twice as fast as all(...)
        if not isinstance(size, int):
            return False
    return True


def _view_of_numbers(
    old: Sequence[int], steps: Sequence[int], new: Sequence[int]
) -> tuple[Int, ...] | None:
    """`view_strides` where everything is a number."""
    if not old:
        return (1,) * len(new)
    if 0 in old:
        return contiguous_strides(new)
    result = [1] * len(new)
    at = len(new) - 1
    base, have, seen = steps[-1], 1, 1
    for i in range(len(old) - 1, -1, -1):
        have *= old[i]
        if i and (old[i - 1] == 1 or steps[i - 1] == have * base):
            continue
        while at >= 0 and (seen < have or new[at] == 1):
            result[at] = seen * base
            seen *= new[at]
            at -= 1
        if seen != have:
            return None
        base, have, seen = steps[i - 1], 1, 1
    return tuple(result)


def view_strides(
    old: Sequence[Int],
    steps: Sequence[Int],
    new: Sequence[Int],
    same: Callable[[Int, Int], bool] = surely_equal,
) -> tuple[Int, ...] | None:
    """Strides that show a tensor of sizes `old` and strides `steps` as `new`; None: impossible.

    `same` is asked, where it is not certain, whether two dimensions lie one behind the other and
    whether dimensions of `new` have as many elements as a run of `old`.
    """
    if not old:
        return (1,) * len(new)
    if 0 in old:
        return contiguous_strides(new)
    result: list[Int] = [1] * len(new)
    at = len(new) - 1
    base = steps[-1]
    have: Int = 1  # elements in this run of old dimensions
    seen: Int = 1  # elements in the new dimensions laid over it
    for i in range(len(old) - 1, -1, -1):
        have = have * old[i]
        if i and (is_size_one(old[i - 1]) or same(steps[i - 1], have * base)):
            continue
        ends: list[tuple[Int, int]] = []
        while at >= 0 and (is_static_one(new[at]) or _fewer(seen, have)):
            result[at] = seen * base
            seen = seen * new[at]
            at -= 1
            ends.append((seen, at))
        if not surely_equal(seen, have):
            whole = next((count for count, _ in ends if same(count, have)), None)
            if whole is None:
                return None
            # Sizes of 1 in front of the run change nothing.
            at = next(end for count, end in reversed(ends) if count is whole or count == whole)
        base, have, seen = steps[i - 1], 1, 1
    return tuple(result) if at < 0 else None


def is_static_one(size: Int) -> bool:
    """Whether the size is the number 1."""
    return isinstance(size, int) and size == 1


def _fewer(seen: Int, have: Int) -> bool:
    if isinstance(seen, int) and isinstance(have, int):
        return seen < have
    return not surely_equal(seen, have)


# --------------------------------------------------------------------------------------- a view


def is_viewable_anyhow(old: Sequence[Int], new: Sequence[Int]) -> bool:
    """Whether any tensor of sizes `old` may be viewed as `new`: no dimensions are merged."""
    no_runs = range(1, len(old) + 1)  # a slower dimension never has the strides of a faster run
    return view_strides(old, no_runs, new) is not None


def _strides_of_view(
    x: TensorType, steps: tuple[Int, ...], shape: tuple[Int, ...]
) -> tuple[Int, ...] | None:
    strides = view_strides(x.shape, steps, shape)
    return view_strides(x.shape, steps, shape, _tied) if strides is None else strides


def _tied(left: Int, right: Int) -> bool:
    """Equal for certain, or by a guard where the program may be one for equal ones."""
    if surely_equal(left, right):
        return True
    same = eq(left, right)
    return (
        known(same) is not False
        and choose(same, name="sizes-disagree", left=left, right=right) is not None
    )


# --------------------------------------------------------------------------- a view or else a copy


def _strides_of_reshape(
    x: TensorType, steps: tuple[Int, ...], shape: tuple[Int, ...]
) -> tuple[Int, ...] | None:
    doubt = active().views_in_doubt
    before = doubt and doubt.n_met
    strides = view_strides(x.shape, steps, shape, _settled)
    if strides is None and (doubt is None or before == doubt.n_met or not doubt.are_open):
        exclude_views(x, steps, shape)
    return strides


def _settled(left: Int, right: Int) -> bool:
    """Whether two numbers that decide between a view and a copy are equal.

    Not where that takes a size of 1 (see `exclude_views`); anything else is guarded, one way or the
    other, unless views are left open.
    """
    if surely_equal(left, right):
        return True
    same = eq(left, right)
    if known(same) is False or _is_question_of_one(left, right):
        return False
    return not left_open(same) and choose(same, ne(left, right)) == 0


def _is_question_of_one(left: Int, right: Int) -> bool:
    """Whether one is a multiple of the other, and they are equal only with sizes of 1 or 0."""
    for a, b in ((left, right), (right, left)):
        if isinstance(b, int) and b == 0:
            return True
        # Where b is 0 there are no elements, and strides do not matter.
        quotient = active().pool.floordiv(a, b, _is_positive)
        if quotient * b is a or quotient * b == a:
            return known(eq(quotient, 1)) is False or _is_product_of_sizes(quotient)
    return False


def _is_positive(_: Int) -> bool:
    return True


def _is_product_of_sizes(quotient: Int) -> bool:
    parts = terms(quotient)
    return len(parts) == 1 and parts[0][0] == 1 and all(is_symbol(atom) for atom in parts[0][1])


def exclude_views(x: TensorType, steps: tuple[Int, ...], shape: tuple[Int, ...]) -> None:
    """Guard against sizes of 1 with which there is a view that does not lie as a copy would."""
    if active().prefers_general:
        return  # what is typed here is copied whatever the sizes are
    known_here = active().known
    unsettled = [
        n for n in x.shape if isinstance(n, Expr) and is_symbol(n) and known_here(ne(n, 1)) is None
    ]
    for excluded in _sizes_of_one(x, steps, shape, unsettled):
        facts = {"shape": Sizes(x.shape), "target": Sizes(shape), "reason": "a size may be 1"}
        require(any_of(*[ne(n, 1) for n in excluded]), "view-impossible", **facts)


def _sizes_of_one(
    x: TensorType, steps: tuple[Int, ...], shape: tuple[Int, ...], unsettled: Sequence[Expr]
) -> list[tuple[Expr, ...]]:
    """The smallest sets of sizes that must not all be 1."""
    found: list[tuple[Expr, ...]] = []
    symbols = list(dict.fromkeys(unsettled))[:_MOST_AT_ONCE]
    for count in range(1, len(symbols) + 1):
        for chosen in combinations(symbols, count):
            if not any(set(done) <= set(chosen) for done in found) and _lies_otherwise(
                x, steps, shape, dict.fromkeys(chosen, 1)
            ):
                found.append(chosen)
    return found


def _lies_otherwise(
    x: TensorType, steps: tuple[Int, ...], shape: tuple[Int, ...], env: dict[Expr, Int]
) -> bool:
    old, own, new = ([substitute(e, env) for e in sizes] for sizes in (x.shape, steps, shape))
    if all(is_static_one(n) for n in new):
        return not (isinstance(x.offset, int) and x.offset == 0)
    strides = view_strides(old, own, new)
    if strides is None:
        return False
    dense = contiguous_strides(new)
    return any(
        a is not b and a != b and not is_static_one(n)
        for a, b, n in zip(strides, dense, new, strict=True)
    )
