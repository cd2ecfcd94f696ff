"""Reading and writing along one dimension, at positions that differ per element.

Law: the index has the rank of the tensor, and outside the dimension no size of it is larger; for
writing the source is at least as large as the index. A 0-dim tensor counts as a vector of one.
"""

from __future__ import annotations

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.tensor_type import TensorType, like
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import le, require
from monograph.rules.operand_checks import check_dtype, check_rank
from monograph.rules.registry import rule, shared_rule


def _check_index(index: TensorType, op: str) -> None:
    if index.dtype not in {torch.int64, torch.int32} and not is_empty(index):
        raise problem("dtype-disagrees", what=op, expected="int64 or int32", got=index.dtype)


def is_empty(index: TensorType) -> bool:
    """Whether it has no elements for certain; then PyTorch asks nothing of it."""
    return any(isinstance(size, int) and size == 0 for size in index.shape)


def _check_within(index: TensorType, x: TensorType, except_dim: int, op: str) -> None:
    """No size of the index but one is larger than x's; an empty index fits anything."""
    if is_empty(index):
        return
    inner, outer = index.shape or (1,), x.shape or (1,)
    check_rank(len(inner) == len(outer), op, len(outer), len(inner))
    for i, (a, b) in enumerate(zip(inner, outer, strict=True)):
        if i != except_dim and a is not b:
            require(le(a, b), "sizes-disagree", left=b, right=a, dim=i)


@shared_rule(aten.gather.default)
def gather(x: TensorType, dim: int, index: TensorType) -> TensorType:
    """x: [*a, n, *b], index: i64[*c, k, *d] with c <= a, d <= b -> [*c, k, *d]."""
    _check_index(index, "gather")
    _check_within(index, x, wrap_dim(dim, len(x.shape)), "gather")
    return like(x, index.shape)


@rule(aten.take_along_dim.default)
def take_along_dim(x: TensorType, indices: TensorType, dim: int | None = None) -> TensorType:
    """x: [*a, n, *b], indices: i64[*c, k, *d] -> [*broadcast(a, c), k, *broadcast(b, d)]."""
    _check_index(indices, "take_along_dim")
    if dim is None:
        return like(x, (indices.numel(),))
    rank = len(x.shape)
    check_rank(len(indices.shape) == rank, "take_along_dim", rank, indices.rank)
    at = wrap_dim(dim, rank)
    if not rank:
        return like(x)
    count = indices.shape[at]
    return like(x, broadcast_shapes((*x.shape[:at], count, *x.shape[at + 1 :]), indices.shape))


@shared_rule(aten.scatter.value, aten.scatter.src, aten.scatter_add.default, op="scatter")
@shared_rule(aten.scatter.reduce, aten.scatter.value_reduce, op="scatter")
@shared_rule(aten.scatter_reduce.two, op="scatter_reduce")
def scatter(
    x: TensorType, dim: int, index: TensorType, src: TensorType | None = None, op: str = ""
) -> TensorType:
    """x: [*a], index: i64[*b], src: [*c] with b <= c -> [*a]."""
    _check_index(index, op)
    _check_within(index, x, wrap_dim(dim, len(x.shape)), op)
    if src is not None:
        check_dtype(src.dtype == x.dtype, op, x.dtype, src.dtype)
        _check_within(index, src, -1, op)
    return like(x)
