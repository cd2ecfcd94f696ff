"""View, reshape and their relatives: other sizes for the same elements in the same order.

Law: the product of the sizes stays; a -1 is what is left of it. Whether the result shares storage
is the business of `strides`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.dims import wrap_dim
from monograph.abstract.layout import is_contiguous
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import eq, ge, gt, product, require, simplify
from monograph.rules.operand_checks import refusal
from monograph.rules.registry import rule
from monograph.rules.size_checks import surely_equal
from monograph.rules.views.strides import Sizes, copied, reshaped, tidy, viewed

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from monograph.integers import Int, Truth


# ------------------------------------------------------------------------------- sizes of a view


def inferred_shape(
    old: tuple[Int, ...], wanted: Sequence[Int], before: tuple[Int, ...] = ()
) -> tuple[Int, ...]:
    """`wanted` with its -1 replaced by what is left over of `old`'s elements.

    `before` are sizes in front of both, for messages.

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
            raise _impossible(old, wanted, _NEGATIVE, before)
        else:
            hole = i
    for size in old:
        if type(size) is not int:
            return _inferred_symbolic(old, wanted)
        numel *= size
    if hole < 0:
        if numel != rest:
            raise _impossible(old, wanted, f"{numel} elements are not {rest}", before)
        return tuple(wanted)
    if rest == 0 or numel % rest:
        raise _impossible(old, wanted, f"{numel} elements do not fill {rest}", before)
    shape = list(wanted)
    shape[hole] = numel // rest
    return tuple(shape)


_NEGATIVE = "at most one size is -1, and no other is negative"


def _impossible(
    old: Sequence[Int], wanted: Sequence[Int], reason: str, before: tuple[Int, ...] = ()
) -> Exception:
    shape, target = Sizes((*before, *old)), Sizes((*before, *wanted))
    return problem("view-impossible", shape=shape, target=target, reason=reason)


def _inferred_symbolic(old: tuple[Int, ...], wanted: Sequence[Int]) -> tuple[Int, ...]:
    shape = tuple(wanted)
    if shape == old:
        return shape
    same = 0
    for given, asked in zip(old, shape, strict=False):
        if given is not asked and (type(given) is not int or given != asked):
            break
        if given == 0:
            break  # then the other sizes may be any
        same += 1
    if not same:
        return _inferred_rest(old, shape)
    if -1 in shape:
        _require_some(shape[:same], old, shape)
    return shape[:same] + inferred_shape(old[same:], shape[same:], shape[:same])


def _require_some(sizes: Sequence[Int], old: Sequence[Int], wanted: Sequence[Int]) -> None:
    """Beside a size of 0, -1 may stand for anything."""
    for size in sizes:
        if not isinstance(size, int) or size < 1:
            reason = "-1 may stand for any size"
            target = Sizes(wanted)
            require(gt(size, 0), "view-impossible", shape=Sizes(old), target=target, reason=reason)


def _inferred_rest(old: tuple[Int, ...], shape: tuple[Int, ...]) -> tuple[Int, ...]:
    wanted = shape
    holes = [i for i, size in enumerate(shape) if isinstance(size, int) and size < 0]
    if len(holes) > 1 or any(shape[i] != -1 for i in holes):
        raise _impossible(old, wanted, _NEGATIVE)
    sizes = [size for i, size in enumerate(shape) if i not in holes]
    for size in sizes:
        if size not in old:
            require(ge(size, 0), "view-impossible", shape=Sizes(old), target=Sizes(wanted))
    given, asked = _without_common(old, sizes)
    if holes:
        i = holes[0]
        return (*shape[:i], _left_over(old, wanted, given, asked), *shape[i + 1 :])
    if not surely_equal(product(given), product(asked)):
        same = eq(product(old), product(sizes))
        require(same, "view-impossible", shape=Sizes(old), target=Sizes(wanted))
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
    _require_some([n for n in wanted if not isinstance(n, int) or n >= 0], old, wanted)
    numel, share = product(given), product(asked)
    if isinstance(share, int) and share == 1:
        return numel
    # `share` is at least 1 by now, which may let more be cancelled.
    quotient = simplify(numel // share)
    if not surely_equal(quotient * share, numel):
        facts = {"shape": Sizes(old), "target": Sizes(wanted), "reason": "they may not fill it"}
        require(eq(quotient * share, numel), "view-impossible", **facts)
        quotient = simplify(quotient)
    return quotient


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
        raise refusal("flatten", "start_dim cannot come after end_dim")
    if start == end:
        return x
    return reshaped(x, (*x.shape[:start], product(x.shape[start : end + 1]), *x.shape[end + 1 :]))


@rule(aten.unflatten.int)
def unflatten(x: TensorType, dim: int, sizes: Sequence[Int]) -> TensorType:
    """x: [*a, n, *c], sizes: b with Π b = n -> [*a, *b, *c]."""
    if not sizes:
        raise refusal("unflatten", "sizes must be non-empty")
    dim = wrap_dim(dim, len(x.shape))
    inner = inferred_shape(x.shape[dim : dim + 1], sizes)
    return viewed(x, (*x.shape[:dim], *inner, *x.shape[dim + 1 :]))


@rule(aten.ravel.default)
def ravel(x: TensorType) -> TensorType:
    """x: [*a] -> [Π a]; a copy unless x is contiguous."""
    shape = (product(x.shape),)
    if is_contiguous(x):
        return view_of(x, shape, None)
    return copied(x, shape)


@rule(aten.view.dtype)
def view_dtype(x: TensorType, dtype: torch.dtype) -> TensorType:
    """x: [*a, n] -> [*a, n*k], k the quotient of the two dtypes' sizes in bytes.

    Raises: operator-refused-types, view-impossible.
    """
    old, new = x.dtype.itemsize, dtype.itemsize
    if old == new:
        return TensorType(x.shape, dtype, x.device, x.strides, x.offset)
    if not x.shape:
        raise refusal("view", "a 0-dim tensor cannot be viewed as a dtype of another size")
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
    require(relation, "view-impossible", shape=Sizes(x.shape), target=dtype)
