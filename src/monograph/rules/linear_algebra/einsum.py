"""einsum: parse the equation, line the operands up, and follow the products PyTorch makes of them.

Law: every operand is viewed with one dimension per label, those of the output first, then those
that are summed; where it lacks a label the dimension has size 1. Pairs are multiplied from the
left: a label both have and nobody needs any longer is contracted by `bmm`, whose result is
`[both, left only, 1 for each contracted, right only]`, permuted back; left and right change
places where all that only the right one has comes first in the output.

Source: `sumproduct_pair` and `einsum` in `ATen/native/Linear.cpp` (observed, not copied).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from monograph.abstract.elementwise import elementwise
from monograph.abstract.layout import contiguous_strides
from monograph.abstract.promotion import result_dtype
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import eq, known, ne, product, require
from monograph.rules.operand_checks import need_same_dtype
from monograph.rules.reductions.reductions import sum_dims
from monograph.rules.registry import rule
from monograph.rules.size_checks import need_equal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from monograph.integers import Int


_ELLIPSIS = "."


@dataclass(frozen=True, slots=True)
class _Equation:
    """Labels of each operand and of the output; an ellipsis is the label "."."""

    inputs: tuple[str, ...]
    output: str


def _refused(reason: str) -> Exception:
    return problem("operator-refused-types", op="einsum", reason=reason)


@lru_cache(maxsize=256)
def _parse(equation: str) -> _Equation:
    """Labels in order; without "->" the output has the ellipsis, then each label seen once.

    >>> _parse("ij, jk").output
    'ik'
    """
    left, arrow, right = equation.replace(" ", "").replace("...", _ELLIPSIS).partition("->")
    inputs = tuple(left.split(","))
    if not arrow:
        once = sorted(c for c in set(left) if c.isalpha() and left.count(c) == 1)
        right = (_ELLIPSIS if _ELLIPSIS in left else "") + "".join(once)
    for labels in (*inputs, right):
        if labels.count(_ELLIPSIS) > 1 or not all(c.isalpha() or c == _ELLIPSIS for c in labels):
            raise _refused(f"the equation {equation!r} is malformed")
    if len(set(right)) < len(right) or not set(right) <= set(left) | {_ELLIPSIS}:
        raise _refused(f"the output {right!r} repeats a label or has one that no operand has")
    return _Equation(inputs, right)


@dataclass(frozen=True, slots=True)
class _Plan:
    """For each operand, which dimension of the line-up each of its dimensions is.

    Of `n_all` dimensions in the line-up the first `n_output` are the output's.
    """

    operands: tuple[tuple[int, ...], ...]
    n_output: int
    n_all: int


@lru_cache(maxsize=1024)
def _plan(text: str, ranks: tuple[int, ...]) -> _Plan:
    equation = _parse(text)
    if len(equation.inputs) != len(ranks):
        count = f"{len(equation.inputs)} operands, and {len(ranks)} are given"
        raise _refused(f"the equation has {count}")
    n_ellipsis = 0
    for labels, rank in zip(equation.inputs, ranks, strict=True):
        named = len(labels.replace(_ELLIPSIS, ""))
        if named > rank or (_ELLIPSIS not in labels and named < rank):
            raise _refused(f"the labels {labels!r} do not fit {rank} dimensions")
        n_ellipsis = max(n_ellipsis, rank - named)
    summed = set("".join(equation.inputs)) - set(equation.output)
    at: dict[str, int] = {}
    end = n_output = 0
    for label in (*equation.output, *sorted(summed, key=lambda c: (c != _ELLIPSIS, c))):
        at[label] = end
        end += n_ellipsis if label == _ELLIPSIS else 1
        if label in equation.output:
            n_output = end
    pairs = zip(equation.inputs, ranks, strict=True)
    operands = tuple(_dims(labels, rank, at, n_ellipsis) for labels, rank in pairs)
    return _Plan(operands, n_output, end)


def _dims(labels: str, rank: int, at: dict[str, int], n_ellipsis: int) -> tuple[int, ...]:
    dims: list[int] = []
    for label in labels:
        width = rank - len(labels) + 1 if label == _ELLIPSIS else 1
        first = at[label] + (n_ellipsis - width if label == _ELLIPSIS else 0)
        dims.extend(range(first, first + width))
    return tuple(dims)


def contracted(equation: str, ranks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Operands, and dimensions of them, that the result has not.

    >>> [*contracted("ij,jk", (2, 2))]
    [(0, 1), (1, 0)]
    """
    plan = _plan(equation, tuple(ranks))
    for i, dims in enumerate(plan.operands):
        yield from ((i, dim) for dim, place in enumerate(dims) if place >= plan.n_output)


def _lined_up(t: TensorType, dims: tuple[int, ...], n_all: int) -> TensorType:
    """A view with one dimension per label; a repeated label takes the diagonal."""
    shape: list[Int] = [1] * n_all
    strides: list[Int] = [1] * n_all
    taken: set[int] = set()
    for i, size, step in zip(dims, t.shape, t.stride(), strict=True):
        if i in taken:
            need_equal(shape[i], size, "einsum")
            strides[i] = strides[i] + step
            continue
        taken.add(i)
        shape[i], strides[i] = size, step
    return view_of(t, tuple(shape), tuple(strides))


def _is_one(size: Int) -> bool:
    """Whether the size is 1 for certain."""
    return size == 1 if isinstance(size, int) else known(eq(size, 1)) is True


@rule(aten.einsum.default)
def einsum(
    equation: str, tensors: Sequence[TensorType], *, path: Sequence[int] | None = None
) -> TensorType:
    """einsum("ij,jk->ik", [[I, J], [J, K]]) -> [I, K]."""
    plan = _plan(equation, tuple([len(t.shape) for t in tensors]))
    pairs = zip(tensors, plan.operands, strict=True)
    operands = [_lined_up(t, dims, plan.n_all) for t, dims in pairs]
    summed = range(plan.n_output, plan.n_all)
    if len(operands) == 1:
        return sum_dims(operands[0], summed) if summed else operands[0]
    needed = [sum([not _is_one(t.shape[i]) for t in operands]) for i in range(plan.n_all)]
    steps = iter(path or ())
    while len(operands) > 1:
        i, j = sorted((next(steps), next(steps))) if path else (0, 1)
        right, left = operands.pop(j), operands.pop(i)
        left, right, contracted = _contractible(left, right, summed, needed)
        result = _product(left, right, contracted)
        operands.insert(len(operands) if path else 0, result)
    result, n = operands[0], plan.n_output
    return TensorType(result.shape[:n], result.dtype, result.device, _first(result, n))


def _first(t: TensorType, n: int) -> tuple[Int, ...] | None:
    return None if t.strides is None else t.strides[:n]


def _contractible(
    left: TensorType, right: TensorType, summed: Sequence[int], needed: list[int]
) -> tuple[TensorType, TensorType, list[int]]:
    """Sum what only one operand has and nobody else needs; list what both have for the last time.

    `needed[i]` counts the operands in which dimension `i` is still open.
    """
    contracted: list[int] = []
    alone: tuple[list[int], list[int]] = ([], [])
    for i in summed:
        in_left, in_right = not _is_one(left.shape[i]), not _is_one(right.shape[i])
        if in_left and in_right:
            needed[i] -= 1
            if needed[i] == 1:
                contracted.append(i)
                needed[i] = 0
        elif needed[i] == 1 and (in_left or in_right):
            alone[in_right].append(i)
            needed[i] = 0
            _exclude_one((right if in_right else left).shape[i])
    left, right = (
        sum_dims(t, dims, True) if dims else t for t, dims in zip((left, right), alone, strict=True)
    )
    return left, right, contracted


def _exclude_one(size: Int) -> None:
    """A size of 1 is not summed, which leaves dtype and layout as they were."""
    if not isinstance(size, int):
        require(ne(size, 1), "data-dependent-size", question=f"{size} != 1", size=size)


def _product(left: TensorType, right: TensorType, contracted: list[int]) -> TensorType:
    """The product, with size 1 in the contracted dimensions."""
    if not contracted:
        return elementwise([left, right], result_dtype([left, right]))
    need_same_dtype("einsum", left, right)
    both: list[int] = []
    left_only: list[int] = []
    right_only: list[int] = []
    for i, (a, b) in enumerate(zip(left.shape, right.shape, strict=True)):
        if i in contracted:
            need_equal(a, b, "einsum")
        elif _is_one(a):
            right_only.append(i)
        elif _is_one(b):
            left_only.append(i)
        else:
            need_equal(a, b, "einsum")
            both.append(i)
    _settle_swap(left, both, left_only, right_only)
    if _is_swapped(left_only, right_only):
        left_only, right_only = right_only, left_only
    order = [*both, *left_only, *contracted, *right_only]
    shape = tuple(
        1 if i in contracted else (right.shape[i] if _is_one(size) else size)
        for i, size in enumerate(left.shape)
    )
    steps = contiguous_strides([shape[i] for i in order])
    strides: list[Int] = [0] * len(order)
    for step, i in zip(steps, order, strict=True):
        strides[i] = step
    result = TensorType(shape, left.dtype, left.device, tuple(strides))
    _exclude_trivial(left, right, contracted, result)
    return result


def _is_swapped(left_only: Sequence[int], right_only: Sequence[int]) -> bool:
    """Whether the product is taken the other way round, to come out in the output's order."""
    return bool(left_only and right_only) and right_only[-1] < left_only[0]


def _settle_swap(
    left: TensorType,
    both: Sequence[int],
    left_only: Sequence[int],
    right_only: Sequence[int],
) -> None:
    """Exclude sizes of 1 that would change which way round the product is taken."""
    swapped = _is_swapped(left_only, right_only)
    for i in (*both, *left_only):
        size = left.shape[i]
        if isinstance(size, int) or known(eq(size, 1)) is False:
            continue
        fewer = [dim for dim in left_only if dim != i]
        trivial = _is_swapped(fewer, sorted([*right_only, i]))
        if fewer and right_only and trivial != swapped:
            _exclude_one(size)


def _exclude_trivial(
    left: TensorType, right: TensorType, contracted: list[int], result: TensorType
) -> None:
    """Where all contracted sizes are 1 PyTorch multiplies elementwise, which may lie otherwise."""
    open_sizes = [left.shape[i] for i in contracted if not isinstance(left.shape[i], int)]
    if len(open_sizes) < len(contracted):
        return
    if any(known(eq(size, 1)) is False for size in open_sizes):
        return
    trivial = elementwise(
        [_with_ones(t, contracted) for t in (left, right)], result_dtype([left, right])
    )
    same = all(
        a is b or a == b or _is_one(size)
        for a, b, size in zip(trivial.stride(), result.stride(), result.shape, strict=True)
    )
    if not same:
        _exclude_one(product(open_sizes))


def _with_ones(t: TensorType, dims: Sequence[int]) -> TensorType:
    shape = tuple(1 if i in dims else size for i, size in enumerate(t.shape))
    return TensorType(shape, t.dtype, t.device, t.strides)
