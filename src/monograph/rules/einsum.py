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

import torch

from monograph.abstract.elementwise import elementwise
from monograph.abstract.layout import contiguous_strides
from monograph.abstract.promotion import result_dtype
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.diagnostics import problem
from monograph.integers import eq, known, ne, product, require
from monograph.rules.linear import need_same_dtype
from monograph.rules.reductions import sum_dim
from monograph.rules.registry import rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int

aten = torch.ops.aten

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
class _Columns:
    """Which dimension each label is, of how many; the first `n_output` are the output's."""

    at: dict[str, int]
    n_ellipsis: int
    n_output: int
    n_all: int


def _columns(equation: _Equation, operands: Sequence[TensorType]) -> _Columns:
    if len(equation.inputs) != len(operands):
        count = f"{len(equation.inputs)} operands, and {len(operands)} are given"
        raise _refused(f"the equation has {count}")
    n_ellipsis = 0
    for labels, t in zip(equation.inputs, operands, strict=True):
        named = len(labels.replace(_ELLIPSIS, ""))
        if named > len(t.shape) or (_ELLIPSIS not in labels and named < len(t.shape)):
            raise _refused(f"the labels {labels!r} do not fit {len(t.shape)} dimensions")
        n_ellipsis = max(n_ellipsis, len(t.shape) - named)
    at: dict[str, int] = {}
    end = 0

    def place(label: str) -> None:
        nonlocal end
        at[label] = end
        end += n_ellipsis if label == _ELLIPSIS else 1

    for label in equation.output:
        place(label)
    n_output = end
    seen = set("".join(equation.inputs)) - set(at)
    for label in sorted(seen, key=lambda c: (c != _ELLIPSIS, c)):
        place(label)
    return _Columns(at, n_ellipsis, n_output, end)


def _lined_up(t: TensorType, labels: str, columns: _Columns) -> TensorType:
    """A view with one dimension per label; a repeated label takes the diagonal."""
    shape: list[Int] = [1] * columns.n_all
    strides: list[Int] = [1] * columns.n_all
    taken = [False] * columns.n_all
    own = t.stride()
    dim = 0
    for label in labels:
        first = columns.at[label]
        width = 1
        if label == _ELLIPSIS:
            width = len(t.shape) - len(labels) + 1
            first += columns.n_ellipsis - width
        for i in range(first, first + width):
            if taken[i]:
                _need_equal(shape[i], t.shape[dim])
                strides[i] = strides[i] + own[dim]
            else:
                shape[i], strides[i], taken[i] = t.shape[dim], own[dim], True
            dim += 1
    return view_of(t, tuple(shape), tuple(strides))


def _need_equal(left: Int, right: Int) -> None:
    if left is not right:
        require(eq(left, right), "sizes-disagree", left=left, right=right, operator="einsum")


def _is_one(size: Int) -> bool:
    """Whether the size is 1 for certain."""
    return size == 1 if isinstance(size, int) else known(eq(size, 1)) is True


@rule(aten.einsum.default)
def einsum(
    equation: str, tensors: Sequence[TensorType], *, path: Sequence[int] | None = None
) -> TensorType:
    """einsum("ij,jk->ik", [[I, J], [J, K]]) -> [I, K]."""
    parsed = _parse(equation)
    columns = _columns(parsed, tensors)
    pairs = zip(tensors, parsed.inputs, strict=True)
    operands = [_lined_up(t, labels, columns) for t, labels in pairs]
    summed = range(columns.n_output, columns.n_all)
    if len(operands) == 1:
        return sum_dim(operands[0], summed) if summed else operands[0]
    needed = [sum(not _is_one(t.shape[i]) for t in operands) for i in range(columns.n_all)]
    steps = iter(path or ())
    while len(operands) > 1:
        i, j = sorted((next(steps), next(steps))) if path else (0, 1)
        right, left = operands.pop(j), operands.pop(i)
        left, right, contracted = _contractible(left, right, summed, needed)
        result = _product(left, right, contracted)
        operands.insert(len(operands) if path else 0, result)
    result, n = operands[0], columns.n_output
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
    left, right = (
        sum_dim(t, dims, True) if dims else t for t, dims in zip((left, right), alone, strict=True)
    )
    return left, right, contracted


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
            _need_equal(a, b)
        elif _is_one(a):
            right_only.append(i)
        elif _is_one(b):
            left_only.append(i)
        else:
            _need_equal(a, b)
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
            require(ne(size, 1), "data-dependent-size", question=f"{size} != 1", size=size)


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
        whole = product(open_sizes)
        require(ne(whole, 1), "data-dependent-size", question=f"{whole} != 1", size=whole)


def _with_ones(t: TensorType, dims: Sequence[int]) -> TensorType:
    shape = tuple(1 if i in dims else size for i, size in enumerate(t.shape))
    return TensorType(shape, t.dtype, t.device, t.strides)
