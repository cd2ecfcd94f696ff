"""View, reshape and their relatives: other sizes for the same elements in the same order.

A view of a contiguous tensor always exists. Of any other it exists if each run of dimensions that
lie one behind the other in memory is split or merged on its own.

Source: `ATen/TensorUtils.cpp`, `computeStride` (observed, not copied).
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import torch

from monograph.abstract.dims import wrap_dim
from monograph.abstract.layout import contiguous_strides, is_contiguous, is_size_one
from monograph.abstract.tensor_type import TensorType, like, view_of
from monograph.diagnostics import problem
from monograph.integers import (
    Expr,
    active,
    any_of,
    eq,
    ge,
    gt,
    is_symbol,
    known,
    ne,
    product,
    require,
    substitute,
)
from monograph.rules.registry import rule
from monograph.rules.sides import equal, surely_equal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from monograph.integers import Int, Truth

aten = torch.ops.aten

_MOST_AT_ONCE = 4  # sizes tried as 1 together: 15 sets


# ------------------------------------------------------------------------------- sizes of a view


def inferred_shape(old: tuple[Int, ...], wanted: Sequence[Int]) -> tuple[Int, ...]:
    """`wanted` with its -1 replaced by what is left over of `old`'s elements.

    Raises: view-impossible.
    """
    hole = -1
    rest = numel = 1
    for i, size in enumerate(wanted):
        if type(size) is not int:
            return _inferred_symbolic(old, wanted)
        if size >= 0:
            rest *= size
        elif size != -1 or hole >= 0:
            raise _impossible(old, wanted, "at most one size is -1, and no other is negative")
        else:
            hole = i
    for size in old:
        if type(size) is not int:
            return _inferred_symbolic(old, wanted)
        numel *= size
    if hole < 0:
        if numel != rest:
            raise _impossible(old, wanted, f"it has {numel} elements, not {rest}")
        return tuple(wanted)
    if rest == 0 or numel % rest:
        raise _impossible(old, wanted, f"{numel} elements do not fill it")
    shape = list(wanted)
    shape[hole] = numel // rest
    return tuple(shape)


def _impossible(old: Sequence[Int], wanted: Sequence[Int], reason: str = "") -> Exception:
    return problem("view-impossible", shape=list(old), target=list(wanted), reason=reason)


def _inferred_symbolic(old: tuple[Int, ...], wanted: Sequence[Int]) -> tuple[Int, ...]:
    shape = tuple(wanted)
    if shape == old:
        return shape
    holes = [i for i, size in enumerate(shape) if isinstance(size, int) and size < 0]
    if len(holes) > 1 or any(shape[i] != -1 for i in holes):
        raise _impossible(old, wanted, "at most one size is -1, and no other is negative")
    sizes = [size for i, size in enumerate(shape) if i not in holes]
    for size in sizes:
        if size not in old:
            require(ge(size, 0), "view-impossible", shape=list(old), target=list(wanted))
    given, asked = _without_common(old, sizes)
    if holes:
        i = holes[0]
        return (*shape[:i], _left_over(old, wanted, given, asked), *shape[i + 1 :])
    if not surely_equal(product(given), product(asked)):
        same = eq(product(old), product(sizes))
        require(same, "view-impossible", shape=list(old), target=list(wanted))
    return shape


def _without_common(left: Sequence[Int], right: Sequence[Int]) -> tuple[list[Int], list[Int]]:
    """The factors of two products that are not in both."""
    rest = list(left)
    other: list[Int] = []
    for size in right:
        if size in rest:
            rest.remove(size)
        else:
            other.append(size)
    return rest, other


def _left_over(
    old: Sequence[Int], wanted: Sequence[Int], given: Sequence[Int], asked: Sequence[Int]
) -> Int:
    """The size that stands for -1: `given` elements shared among `asked`."""
    rest = product(size for size in wanted if not (isinstance(size, int) and size == -1))
    facts = {"shape": list(old), "target": list(wanted)}
    require(gt(rest, 0), "view-impossible", reason="-1 may stand for any size", **facts)
    numel, share = product(given), product(asked)
    if isinstance(share, int) and share == 1:
        return numel
    quotient = numel // share
    if not surely_equal(quotient * share, numel):
        reason = "the elements may not fill it"
        require(eq(quotient * share, numel), "view-impossible", reason=reason, **facts)
    return active().simplify(quotient)


# ----------------------------------------------------------------------------- strides of a view


def view_strides(
    old: Sequence[Int],
    steps: Sequence[Int],
    new: Sequence[Int],
    same: Callable[[Int, Int], bool] = surely_equal,
    merges: Callable[[Int, Int], bool] = surely_equal,
) -> tuple[Int, ...] | None:
    """Strides that show a tensor of sizes `old` and strides `steps` as `new`; None: impossible.

    `merges(stride, needed)` says whether two dimensions lie one behind the other, `same` whether a
    run of `new` has as many elements as one of `old`.
    """
    if not old:
        return (1,) * len(new)
    if any(isinstance(size, int) and size == 0 for size in old):
        return contiguous_strides(new)
    result: list[Int] = [1] * len(new)
    at = len(new) - 1
    base = steps[-1]
    have: Int = 1  # elements in this run of old dimensions
    seen: Int = 1  # elements in the new dimensions laid over it
    for i in range(len(old) - 1, -1, -1):
        have = have * old[i]
        if i and (is_size_one(old[i - 1]) or merges(steps[i - 1], have * base)):
            continue
        prefixes: list[tuple[Int, int]] = []
        while at >= 0 and (is_static_one(new[at]) or _fewer(seen, have)):
            result[at] = seen * base
            seen = seen * new[at]
            at -= 1
            prefixes.append((seen, at))
        if not surely_equal(seen, have):
            ends = [at for seen, at in prefixes if same(seen, have)][:1]
            if not ends:
                return None
            at = ends[0]
        if i:
            base, have, seen = steps[i - 1], 1, 1
    return tuple(result) if at < 0 else None


def is_static_one(size: Int) -> bool:
    """Whether the size is the number 1."""
    return isinstance(size, int) and size == 1


def _fewer(seen: Int, have: Int) -> bool:
    if isinstance(seen, int) and isinstance(have, int):
        return seen < have
    return not surely_equal(seen, have)


def _tied(left: Int, right: Int) -> bool:
    """Equal for certain, or in the example, which then becomes a guard."""
    if surely_equal(left, right):
        return True
    hint = active().hint_of
    if isinstance(left, int) and isinstance(right, int):
        return False
    if hint(left) is None or hint(left) != hint(right) or known(eq(left, right)) is False:
        return False
    require(eq(left, right), "sizes-disagree", left=left, right=right)
    return True


def _settled(left: Int, right: Int) -> bool:
    """Whether two numbers that decide between a view and a copy are equal.

    Not where that takes a size of 1 (see `_copied`); any other coincidence of the example is
    guarded, one way or the other.
    """
    if surely_equal(left, right):
        return True
    if known(eq(left, right)) is False or _is_question_of_one(left, right):
        return False
    if active().hint_of(left) is None or active().hint_of(right) is None:
        return False
    return equal(left, right)


def _is_question_of_one(left: Int, right: Int) -> bool:
    """Whether one is the other times a size, so that they are equal only if it is 1."""
    for a, b in ((left, right), (right, left)):
        if isinstance(b, int) and b == 0:
            return True
        quotient = a // b
        if not isinstance(quotient, int) and is_symbol(quotient) and quotient * b is a:
            return True
    return False


def viewed(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """`x` seen with other sizes of the same number of elements.

    Raises: view-impossible.
    """
    steps = x.strides
    if steps is None:
        return TensorType(shape, x.dtype, x.device, None, x.offset)
    strides = view_strides(x.shape, steps, shape)
    if strides is None:
        strides = view_strides(x.shape, steps, shape, _tied, _tied)
    if strides is None:
        raise _impossible(x.shape, shape, f"its strides are {list(steps)}")
    return view_of(x, shape, tidy(shape, strides))


def tidy(shape: Sequence[Int], strides: tuple[Int, ...]) -> tuple[Int, ...] | None:
    """The strides, or None if they are those of a contiguous tensor."""
    return None if strides == contiguous_strides(shape) else strides


def reshaped(x: TensorType, shape: tuple[Int, ...]) -> TensorType:
    """A view where one exists, else a contiguous copy."""
    steps = x.strides
    if steps is None:
        return TensorType(shape, x.dtype, x.device, None, x.offset)
    if shape == x.shape:
        return view_of(x, shape, steps)
    strides = view_strides(x.shape, steps, shape, _settled, _settled)
    if strides is None:
        return _copied(x, steps, shape)
    return view_of(x, shape, tidy(shape, strides))


def _copied(x: TensorType, steps: tuple[Int, ...], shape: tuple[Int, ...]) -> TensorType:
    """A contiguous copy, where no view exists in general.

    Where a size is 1 a view may exist after all. That is one more question for the probe of sizes 0
    and 1 if it lies as the copy would; if not, those sizes are excluded here.
    """
    facts = active()
    unsettled = [
        n for n in x.shape if isinstance(n, Expr) and is_symbol(n) and facts.known(ne(n, 1)) is None
    ]
    if not unsettled:
        return like(x, shape)
    key = ("copied", x.shape, steps, x.offset, shape, len(facts.stated))
    if key not in facts.pool.memo:
        facts.pool.memo[key] = True
        for excluded in _sizes_of_one(x, steps, shape, unsettled):
            reason = "with sizes of 1 it is a view that lies otherwise"
            apart = any_of(*[ne(n, 1) for n in excluded])
            require(
                apart, "view-impossible", shape=list(x.shape), target=list(shape), reason=reason
            )
    return like(x, shape)


def _sizes_of_one(
    x: TensorType, steps: tuple[Int, ...], shape: tuple[Int, ...], unsettled: Sequence[Expr]
) -> list[tuple[Expr, ...]]:
    """Sets of sizes with which, if all are 1, a view exists that does not lie as a copy would."""
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


# --------------------------------------------------------------------------------------- the rules


@rule(aten.view.default, aten._unsafe_view.default)
def view(x: TensorType, size: Sequence[Int]) -> TensorType:
    """x: [*a], size -> [*size] with Π a = Π size; shares x's storage."""
    return viewed(x, inferred_shape(x.shape, size))


@rule(aten.reshape.default)
def reshape(x: TensorType, shape: Sequence[Int]) -> TensorType:
    """x: [*a], shape -> [*shape] with Π a = Π shape; a copy only where no view exists."""
    return reshaped(x, inferred_shape(x.shape, shape))


@rule(aten.view_as.default)
def view_as(x: TensorType, other: TensorType) -> TensorType:
    """x: [*a], other: [*b] -> [*b]."""
    return viewed(x, inferred_shape(x.shape, other.shape))


@rule(aten.reshape_as.default)
def reshape_as(x: TensorType, other: TensorType) -> TensorType:
    """x: [*a], other: [*b] -> [*b]."""
    return reshaped(x, inferred_shape(x.shape, other.shape))


@rule(aten._reshape_alias.default)
def reshape_alias(x: TensorType, size: Sequence[Int], stride: Sequence[Int]) -> TensorType:
    """x: [*a], size, stride -> [*size] with those strides."""
    shape = tuple(size)
    return view_of(x, shape, tidy(shape, tuple(stride)))


@rule(aten.flatten.using_ints)
def flatten(x: TensorType, start_dim: int = 0, end_dim: int = -1) -> TensorType:
    """x: [*a, *b, *c] -> [*a, Π b, *c]; x itself where b is one dimension."""
    rank = len(x.shape)
    if rank == 0:
        return reshaped(x, (1,))
    start, end = wrap_dim(start_dim, rank), wrap_dim(end_dim, rank)
    if start > end:
        reason = "start_dim cannot come after end_dim"
        raise problem("operator-refused-types", op="flatten", reason=reason)
    if start == end:
        return x
    return reshaped(x, (*x.shape[:start], product(x.shape[start : end + 1]), *x.shape[end + 1 :]))


@rule(aten.unflatten.int)
def unflatten(x: TensorType, dim: int, sizes: Sequence[Int]) -> TensorType:
    """x: [*a, n, *c], sizes: b with Π b = n -> [*a, *b, *c]."""
    if not sizes:
        raise problem("operator-refused-types", op="unflatten", reason="sizes must be non-empty")
    dim = wrap_dim(dim, len(x.shape))
    inner = inferred_shape(x.shape[dim : dim + 1], sizes)
    return viewed(x, (*x.shape[:dim], *inner, *x.shape[dim + 1 :]))


@rule(aten.ravel.default)
def ravel(x: TensorType) -> TensorType:
    """x: [*a] -> [Π a]; a copy unless x is contiguous."""
    shape = (product(x.shape),)
    if is_contiguous(x):
        return view_of(x, shape, None)
    return _copied(x, x.stride(), shape)


@rule(aten.view.dtype)
def view_dtype(x: TensorType, dtype: torch.dtype) -> TensorType:
    """x: [*a, n] -> [*a, n*k], k the quotient of the two dtypes' sizes in bytes.

    Raises: operator-refused-types, view-impossible.
    """
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return TensorType(x.shape, dtype, x.device, x.strides, x.offset)
    if not x.shape:
        reason = "a 0-dim tensor cannot be viewed as a dtype of another size"
        raise problem("operator-refused-types", op="view", reason=reason)
    strides = x.stride()
    _need(eq(strides[-1], 1), x, dtype)
    if new < old:
        k = old // new
        shape = (*x.shape[:-1], x.shape[-1] * k)
        steps = (*[step * k for step in strides[:-1]], 1)
        return TensorType(shape, dtype, x.device, tidy(shape, steps), x.offset * k)
    k = new // old
    for number in (x.shape[-1], x.offset, *strides[:-1]):
        _need(eq(number % k, 0), x, dtype)
    shape = (*x.shape[:-1], x.shape[-1] // k)
    steps = (*[step // k for step in strides[:-1]], 1)
    return TensorType(shape, dtype, x.device, tidy(shape, steps), x.offset // k)


def _need(relation: Truth, x: TensorType, dtype: torch.dtype) -> None:
    require(relation, "view-impossible", shape=list(x.shape), target=dtype)
