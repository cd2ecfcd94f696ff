"""Concatenation and its relatives.

Law: all sizes but one agree, and that one is the sum. A 1-dim tensor of size 0 joins tensors of any
rank, for historical reasons. The result is channels_last if every operand is.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from monograph.abstract.arithmetic import MOST_OPERATIONS
from monograph.abstract.dims import wrap_dim
from monograph.abstract.layout import strides_for, suggest_memory_format
from monograph.abstract.promotion import result_dtype
from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import Expr, Real, active, eq, fresh, maximum, product, require, total
from monograph.rules.operand_checks import check_dtype, check_rank, need_rank, refusal
from monograph.rules.registry import rule
from monograph.rules.size_checks import need_equal
from monograph.rules.views.dimensions import (
    atleast_1d,
    atleast_2d,
    atleast_3d,
    unsqueeze,
)
from monograph.rules.views.slicing import count_of
from monograph.rules.views.strides import reshaped, viewed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def joined(tensors: Sequence[TensorType], dim: int) -> TensorType:
    """The concatenation along `dim`.

    Raises: sizes-disagree, rank-disagrees, operator-refused-types.
    """
    if not tensors:
        raise refusal("cat", "expected a non-empty list of tensors")
    some = [x for x in tensors if not _is_nothing(x)]
    first = some[0] if some else tensors[0]
    rank = len(first.shape)
    check_rank(rank, "cat", "at least 1 dimension", 0)
    dim = wrap_dim(dim, rank)
    dtype = first.dtype
    if any(x.dtype is not dtype for x in tensors):
        dtype = result_dtype(tensors)
    shape = list(first.shape)
    for x in some[1:]:
        _check_agree(first, x, dim)
    shape[dim] = _kept_short(total(x.shape[dim] for x in some))
    sizes = tuple(shape)
    return TensorType(sizes, dtype, first.device, _joint_strides(tensors, sizes))


def _kept_short(size: Int) -> Int:
    """A size, or the example's, by guards, where each question about it would take too long.

    What depends on data is a symbol of its own then, as the number of nonzero elements is.
    """
    if not isinstance(size, Expr) or size.n_operations <= MOST_OPERATIONS:
        return size
    facts = active()
    if facts.depends_on_data(size):
        return fresh("the size of what was put together")
    for symbol in size.symbols:
        count_of(symbol)
    return facts.simplify(size)


def _is_nothing(x: TensorType) -> bool:
    return len(x.shape) == 1 and isinstance(x.shape[0], int) and x.shape[0] == 0


def _check_agree(first: TensorType, x: TensorType, dim: int) -> None:
    left, right = first.shape, x.shape
    check_rank(len(left) == len(right), "cat", len(left), len(right))
    for i, (a, b) in enumerate(zip(left, right, strict=True)):
        if i == dim or a is b or (type(a) is int and type(b) is int and a == b):
            continue
        require(eq(a, b), "sizes-disagree", left=a, right=b, dim=i)


def _joint_strides(tensors: Sequence[TensorType], shape: tuple[Int, ...]) -> tuple[Int, ...] | None:
    shared: torch.memory_format | None = None
    for x in tensors:
        if x.strides is None:
            return None
        wanted = suggest_memory_format(x)
        if wanted is torch.contiguous_format or shared not in {None, wanted}:
            return None
        shared = wanted
    return None if shared is None else strides_for(shape, shared)


@rule(aten.cat.default, aten.concat.default, aten.concatenate.default)
def cat(tensors: Sequence[TensorType], dim: int = 0) -> TensorType:
    """cat([t_i: [*a, n_i, *b]], dim) -> [*a, Σ n_i, *b]; every a and b must agree."""
    return joined(tensors, dim)


@rule(aten.stack.default)
def stack(tensors: Sequence[TensorType], dim: int = 0) -> TensorType:
    """stack([t_i: [*a, *b]] n times, dim) -> [*a, n, *b]."""
    if not tensors:
        raise refusal("stack", "expected a non-empty list of tensors")
    first = tensors[0]
    for x in tensors[1:]:
        _check_agree(first, x, -1)
    rank = len(first.shape)
    dim = wrap_dim(dim, rank + 1)
    shape = (*first.shape[:dim], len(tensors), *first.shape[dim:])
    if dim == rank:
        return joined([unsqueeze(x, dim) for x in tensors], dim)
    # It joins along the dimension and splits that in two, which tells in channels_last.
    return viewed(joined(tensors, dim), shape)


@rule(aten.hstack.default)
def hstack(tensors: Sequence[TensorType]) -> TensorType:
    """[t_i: [a, n_i, *b]] -> [a, Σ n_i, *b]; 1-dim tensors are joined end to end."""
    whole = [atleast_1d(x) for x in tensors]
    return joined(whole, 0 if whole and whole[0].rank == 1 else 1)


@rule(aten.vstack.default, aten.row_stack.default)
def vstack(tensors: Sequence[TensorType]) -> TensorType:
    """[t_i: [n_i, *b]] -> [Σ n_i, *b]; a 1-dim tensor is a row."""
    return joined([atleast_2d(x) for x in tensors], 0)


@rule(aten.dstack.default)
def dstack(tensors: Sequence[TensorType]) -> TensorType:
    """[t_i: [a, b, n_i, *c]] -> [a, b, Σ n_i, *c]."""
    return joined([atleast_3d(x) for x in tensors], 2)


@rule(aten.column_stack.default)
def column_stack(tensors: Sequence[TensorType]) -> TensorType:
    """[t_i: [a, n_i, *b]] -> [a, Σ n_i, *b]; a 1-dim tensor is a column."""
    return joined([reshaped(x, (x.numel(), 1)) if x.rank < 2 else x for x in tensors], 1)


@rule(aten.block_diag.default)
def block_diag(tensors: Sequence[TensorType]) -> TensorType:
    """[t_i: [n_i, m_i]] -> [Σ n_i, Σ m_i]; a 1-dim tensor is a row."""
    check_rank(any(x.rank <= 2 for x in tensors), "block_diag", "at most 2 dimensions", 3)
    shapes = [(1, 1)[: 2 - x.rank] + x.shape for x in tensors]
    shape = (total(rows for rows, _ in shapes), total(columns for _, columns in shapes))
    return like(tensors[0], shape, result_dtype(tensors))


@rule(aten.cartesian_prod.default)
def cartesian_prod(tensors: Sequence[TensorType]) -> TensorType:
    """[t_i: [n_i]] k times -> [Π n_i, k]; one tensor is returned as it is."""
    check_rank(any(x.rank == 1 for x in tensors), "cartesian_prod", 1, 0)
    if len(tensors) == 1:
        return tensors[0]
    return like(tensors[0], (product(x.shape[0] for x in tensors), len(tensors)))


@rule(aten.combinations.default)
def combinations(x: TensorType, r: int = 2, with_replacement: bool = False) -> TensorType:
    """x: [n] -> [k, r], k the number of ways to choose r of n."""
    need_rank(x, 1, "combinations")
    if r < 0:
        raise refusal("combinations", f"expected a non-negative number, got {r}")
    if r == 0:
        return like(x, (0,))
    n = x.shape[0] + (r - 1 if with_replacement else 0)
    # n*(n-1)*...*(n-r+1) is 0 for 0 <= n < r, as it should be.
    ways = product(n - i for i in range(r)) // math.factorial(r)
    return like(x, (ways, r))


@rule(aten.pad_sequence.default)
def pad_sequence(
    sequences: Sequence[TensorType],
    batch_first: bool = False,
    padding_value: float | Real = 0.0,
    padding_side: str = "right",
) -> TensorType:
    """t_i: [n_i, *a] -> [N, len(t), *a], N the greatest n_i; or [len(t), N, *a]."""
    first = sequences[0]
    if any(not x.shape for x in sequences):
        raise problem("rank-disagrees", what="pad_sequence", expected="at least 1", got=0)
    longest = first.shape[0]
    for x in sequences[1:]:
        _check_agree(first, x, 0)
        longest = maximum(longest, x.shape[0])
    lead = (len(sequences), longest) if batch_first else (longest, len(sequences))
    return TensorType((*lead, *first.shape[1:]), first.dtype, first.device)


@rule(aten._chunk_cat.default)
def chunk_cat(tensors: Sequence[TensorType], dim: int, num_chunks: int) -> TensorType:
    """_chunk_cat([t_i: [*a, n_i, *b_i]], dim, k) -> [*a, k, sum of ceil(n_i / k) * prod(b_i)]."""
    if not tensors:
        raise refusal("_chunk_cat", "expected a non-empty list of tensors")
    first = tensors[0]
    at = wrap_dim(dim, len(first.shape))
    width: Int = 0
    for x in tensors:
        check_dtype(x.dtype is first.dtype, "_chunk_cat", first.dtype, x.dtype)
        for place, (left, right) in enumerate(zip(first.shape[:at], x.shape[:at], strict=True)):
            need_equal(left, right, "_chunk_cat", place)
        width += -(-x.shape[at] // num_chunks) * product(x.shape[at + 1 :])
    return TensorType((*first.shape[:at], num_chunks, width), first.dtype, first.device)
