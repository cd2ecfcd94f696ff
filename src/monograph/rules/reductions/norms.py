"""Norms and distances: reductions over differences. Observed on CPU: all contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.promotion import float_dtype, kind, result_dtype
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.rules.operand_checks import check_dtype, check_rank, need_rank, refusal
from monograph.rules.reductions.reductions import reduced
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import equal, need_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from monograph.abstract.promotion import Number


# ------------------------------------------------------------------------------ norms


@shared_rule(aten.linalg_vector_norm.default, op="linalg.vector_norm")
@shared_rule(aten.linalg_matrix_norm.default, op="linalg.matrix_norm")
@shared_rule(aten.linalg_matrix_norm.str_ord, op="linalg.matrix_norm")
@shared_rule(aten.norm.Scalar, aten.norm.ScalarOpt_dtype, op="norm")
@shared_rule(aten.norm.ScalarOpt_dim, aten.norm.ScalarOpt_dim_dtype, op="norm")
def norm(
    x: TensorType,
    dim: Sequence[int] | None = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
    *,
    op: str,
) -> TensorType:
    """vector_norm([*a, n, *b], n's dim) -> [*a, *b], real."""
    check_dtype(kind(x.dtype) >= 2, op, "floats or complex numbers", x.dtype)
    result = (dtype or x.dtype).to_real()
    return TensorType(reduced(x.shape, dim, keepdim), result, x.device)


@shared_rule(aten.linalg_norm.default, aten.linalg_norm.ord_str)
def linalg_norm(
    x: TensorType,
    ord: Number | str | None,
    dim: Sequence[int] | None,
    keepdim: bool,
    dtype: torch.dtype | None,
) -> TensorType:
    """linalg.norm([*a, n, *b], n's dim) -> [*a, *b], real; of vectors, or of matrices."""
    if ord is not None and dim is None and len(x.shape) not in (1, 2):
        raise problem("rank-disagrees", what="linalg.norm", expected="1 or 2", got=x.rank)
    return norm(x, dim, keepdim, dtype, op="linalg.norm")


# ------------------------------------------------------------------------------ of two tensors


@shared_rule(aten.dist.default)
def dist(x: TensorType, other: TensorType) -> TensorType:
    """dist([*a], [*b]) -> [], real; a and b broadcast."""
    broadcast_shapes(x.shape, other.shape)
    return TensorType((), result_dtype([x, other]).to_real(), x.device)


@shared_rule(aten.cosine_similarity.default)
def cosine_similarity(x1: TensorType, x2: TensorType, dim: int) -> TensorType:
    """cosine_similarity([*a], [*a], dim) -> [*a] without dim; the two broadcast."""
    dtype = result_dtype([x1, x2])
    check_dtype(dtype.is_floating_point, "cosine_similarity", "floats", dtype)
    shape = broadcast_shapes(x1.shape, x2.shape)
    return TensorType(reduced(shape, dim, False), dtype, x1.device)


@shared_rule(aten.pairwise_distance.default)
def pairwise_distance(x1: TensorType, x2: TensorType, keepdim: bool = False) -> TensorType:
    """pairwise_distance([*a, n], [*a, n]) -> [*a], real; the two broadcast."""
    shape = broadcast_shapes(x1.shape, x2.shape)
    dtype = float_dtype(result_dtype([x1, x2])).to_real()
    return TensorType(reduced(shape, -1, keepdim), dtype, x1.device)


@shared_rule(aten.cdist.default, aten._cdist_forward.default)
def cdist(x1: TensorType, x2: TensorType) -> TensorType:
    """cdist([*a, P, n], [*b, R, n]) -> [*(a with b), P, R]."""
    if len(x1.shape) < 2 or len(x2.shape) < 2:
        got = min(len(x1.shape), len(x2.shape))
        raise problem("rank-disagrees", what="cdist", expected="at least 2 dimensions", got=got)
    need_equal(x1.shape[-1], x2.shape[-1], "cdist")
    batch = broadcast_shapes(x1.shape[:-2], x2.shape[:-2])
    return TensorType((*batch, x1.shape[-2], x2.shape[-2]), result_dtype([x1, x2]), x1.device)


@shared_rule(aten.pdist.default, aten._pdist_forward.default)
def pdist(x: TensorType) -> TensorType:
    """pdist([N, M]) -> [N*(N - 1)/2], one for each pair of rows."""
    need_rank(x, 2, "pdist")
    n = x.shape[0]
    return TensorType((n * (n - 1) // 2,), x.dtype, x.device)


# ------------------------------------------------------------------------------ cross products


@rule(aten.linalg_cross.default)
def linalg_cross(x: TensorType, other: TensorType, *, dim: int = -1) -> TensorType:
    """cross([*a, 3], [*a, 3]) -> [*a, 3]; the two broadcast."""
    check_rank(len(x.shape) == len(other.shape), "linalg.cross", x.rank, other.rank)
    at = wrap_dim(dim, len(x.shape))
    for t in (x, other):
        need_equal(t.shape[at], 3, "linalg.cross", at)
    shape = broadcast_shapes(x.shape, other.shape)
    return TensorType(shape, result_dtype([x, other]), x.device)


@rule(aten.cross.default)
def cross(x: TensorType, other: TensorType, dim: int | None = None) -> TensorType:
    """cross([*a, 3, *b], [*a, 3, *b]) -> [*a, 3, *b], over the first dimension of size 3."""
    if dim is not None:
        return linalg_cross(x, other, dim=dim)
    for at, size in enumerate(x.shape):
        if equal(size, 3):
            return linalg_cross(x, other, dim=at)
    raise refusal("cross", "no dimension has size 3")
