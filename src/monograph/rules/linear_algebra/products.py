"""Products of matrices and vectors. Observed on CPU: every result here is contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.elementwise import elementwise
from monograph.abstract.promotion import result_dtype
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.rules.operand_checks import check_rank, need_rank, need_same_dtype, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import equal, need_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def _need_expandable(t: TensorType, shape: tuple[Int, ...], op: str) -> None:
    """`t` broadcasts to `shape` and does not enlarge it."""
    if t.shape == shape:
        return
    if len(t.shape) > len(shape):
        raise problem(
            "rank-disagrees", what=op, expected=f"at most {len(shape)} dimensions", got=t.rank
        )
    lead = len(shape) - len(t.shape)
    for dim, (size, wanted) in enumerate(zip(t.shape, shape[lead:], strict=True), lead):
        if not (isinstance(size, int) and size == 1):
            need_equal(size, wanted, op, dim)


# ------------------------------------------------------------------------------ linear


@rule(aten.linear.default)
def linear(input: TensorType, weight: TensorType, bias: TensorType | None = None) -> TensorType:
    """linear([*a, K], weight: [N, K] or [K]) -> [*a, N] or [*a]."""
    need_same_dtype("linear", input, weight, bias)
    if not input.shape or len(weight.shape) not in (1, 2):
        raise problem("rank-disagrees", what="weight of linear", expected=2, got=weight.rank)
    need_equal(input.shape[-1], weight.shape[-1], "linear", len(input.shape) - 1)
    shape = input.shape[:-1] + weight.shape[:-1]
    if bias is not None:
        _need_expandable(bias, shape, "linear")
    return TensorType(shape, input.dtype, input.device)


@shared_rule(aten.bilinear.default)
def bilinear(input1: TensorType, input2: TensorType, weight: TensorType) -> TensorType:
    """bilinear([*a, I], [*a, J], weight: [N, I, J]) -> [*a, N]."""
    need_rank(weight, 3, "weight of bilinear")
    need_equal(input1.shape[-1], weight.shape[1], "bilinear", input1.rank - 1)
    need_equal(input2.shape[-1], weight.shape[2], "bilinear", input2.rank - 1)
    check_rank(input1.rank == input2.rank, "bilinear", input1.rank, input2.rank)
    for dim, (left, right) in enumerate(zip(input1.shape[:-1], input2.shape[:-1], strict=True)):
        need_equal(left, right, "bilinear", dim)
    return TensorType((*input1.shape[:-1], weight.shape[0]), input1.dtype, input1.device)


# ------------------------------------------------------------------------------ matrix by matrix


@rule(aten.mm.default)
def mm(x: TensorType, mat2: TensorType) -> TensorType:
    """mm([M, K], [K, N]) -> [M, N]."""
    need_rank(x, 2, "mm")
    need_rank(mat2, 2, "mm")
    need_same_dtype("mm", x, mat2)
    need_equal(x.shape[1], mat2.shape[0], "mm")
    return TensorType((x.shape[0], mat2.shape[1]), x.dtype, x.device)


@rule(aten.bmm.default)
def bmm(x: TensorType, mat2: TensorType) -> TensorType:
    """bmm([B, M, K], [B, K, N]) -> [B, M, N]."""
    need_rank(x, 3, "bmm")
    need_rank(mat2, 3, "bmm")
    need_same_dtype("bmm", x, mat2)
    batch, rows, inner = x.shape
    need_equal(batch, mat2.shape[0], "bmm", 0)
    need_equal(inner, mat2.shape[1], "bmm")
    return TensorType((batch, rows, mat2.shape[2]), x.dtype, x.device)


@shared_rule(aten.addmm.default)
def addmm(x: TensorType, mat1: TensorType, mat2: TensorType) -> TensorType:
    """addmm([N], [M, K], [K, N]) -> [M, N]; the first broadcasts."""
    result = mm(mat1, mat2)
    need_same_dtype("addmm", result, x)
    _need_expandable(x, result.shape, "addmm")
    return result


@shared_rule(aten.baddbmm.default)
def baddbmm(x: TensorType, batch1: TensorType, batch2: TensorType) -> TensorType:
    """baddbmm([B, M, N], [B, M, K], [B, K, N]) -> [B, M, N]; the first broadcasts."""
    result = bmm(batch1, batch2)
    need_same_dtype("baddbmm", result, x)
    _need_expandable(x, result.shape, "baddbmm")
    return result


@shared_rule(aten.addbmm.default)
def addbmm(x: TensorType, batch1: TensorType, batch2: TensorType) -> TensorType:
    """addbmm([M, N], [B, M, K], [B, K, N]) -> [M, N]; the first broadcasts."""
    products = bmm(batch1, batch2)
    need_same_dtype("addbmm", products, x)
    shape = products.shape[1:]
    _need_expandable(x, shape, "addbmm")
    return TensorType(shape, products.dtype, products.device)


@rule(aten.chain_matmul.default)
def chain_matmul(matrices: Sequence[TensorType]) -> TensorType:
    """chain_matmul([[M, K], [K, ...], ..., [..., N]]) -> [M, N]."""
    result = matrices[0]
    for matrix in matrices[1:]:
        result = mm(result, matrix)
    return TensorType(result.shape, result.dtype, result.device, result.strides)


@rule(aten.linalg_multi_dot.default)
def linalg_multi_dot(tensors: Sequence[TensorType]) -> TensorType:
    """multi_dot([[M, K] or [K], [K, ...], ..., [..., N] or [...]]) -> [M, N], [M], [N] or []."""
    if len(tensors) < 2:
        raise refusal("multi_dot", "it expects at least two tensors")
    result = tensors[0]
    for matrix in tensors[1:]:
        result = matmul(result, matrix)
    return result


# ------------------------------------------------------------------------------ with vectors


@rule(aten.mv.default)
def mv(x: TensorType, vec: TensorType) -> TensorType:
    """mv([M, K], [K]) -> [M]."""
    need_rank(x, 2, "mv")
    need_rank(vec, 1, "mv")
    need_same_dtype("mv", x, vec)
    need_equal(x.shape[1], vec.shape[0], "mv")
    return TensorType(x.shape[:1], x.dtype, x.device)


@shared_rule(aten.addmv.default)
def addmv(x: TensorType, mat: TensorType, vec: TensorType) -> TensorType:
    """addmv([M], [M, K], [K]) -> [M]; the first broadcasts."""
    result = mv(mat, vec)
    if x.shape == result.shape:
        return result
    _need_expandable(x, result.shape, "addmv")
    # Observed: of an empty matrix the first operand comes back as large as it was.
    if any(equal(size, 0) for size in mat.shape):
        return TensorType(x.shape, x.dtype, x.device)
    return result


@rule(aten.dot.default)
def dot(x: TensorType, tensor: TensorType) -> TensorType:
    """dot([K], [K]) -> []."""
    need_rank(x, 1, "dot")
    need_rank(tensor, 1, "dot")
    need_same_dtype("dot", x, tensor)
    need_equal(x.shape[0], tensor.shape[0], "dot", 0)
    return TensorType((), x.dtype, x.device)


@rule(aten.vdot.default)
def vdot(x: TensorType, other: TensorType) -> TensorType:
    """vdot([K], [K]) -> []."""
    return dot(x, other)


@rule(aten.outer.default, aten.ger.default)
def outer(x: TensorType, vec2: TensorType) -> TensorType:
    """outer([M], [N]) -> [M, N]; dtypes are promoted."""
    need_rank(x, 1, "outer")
    need_rank(vec2, 1, "outer")
    return TensorType((x.shape[0], vec2.shape[0]), result_dtype([x, vec2]), x.device)


@rule(aten.inner.default)
def inner(x: TensorType, other: TensorType) -> TensorType:
    """inner([*a, K], [*b, K]) -> [*a, *b]."""
    if not x.shape or not other.shape:
        return elementwise([x, other], result_dtype([x, other]))
    need_same_dtype("inner", x, other)
    need_equal(x.shape[-1], other.shape[-1], "inner")
    return TensorType(x.shape[:-1] + other.shape[:-1], x.dtype, x.device)


# ------------------------------------------------------------------------------ any ranks


@rule(aten.matmul.default)
def matmul(x: TensorType, other: TensorType) -> TensorType:
    """matmul([*a, M, K], [*b, K, N]) -> [*(a with b), M, N]; vectors lose their dimension."""
    need_same_dtype("matmul", x, other)
    left, right = x.shape, other.shape
    if not left or not right:
        raise refusal("matmul", "both arguments need at least one dimension")
    need_equal(left[-1], right[-2:][0], "matmul")  # of a vector that is its only size
    columns = right[-1:] if len(right) > 1 else ()
    if len(right) <= 2:
        return TensorType(left[:-1] + columns, x.dtype, x.device)
    batch = right[:-2] if len(left) <= 2 else broadcast_shapes(left[:-2], right[:-2])
    return TensorType((*batch, *left[-2:-1], *columns), x.dtype, x.device)


@rule(aten.tensordot.default)
def tensordot(
    x: TensorType, other: TensorType, dims_self: Sequence[int], dims_other: Sequence[int]
) -> TensorType:
    """tensordot([*a, *k], [*k, *b], k's dims, k's dims) -> [*a, *b]."""
    if len(dims_self) != len(dims_other):
        raise refusal("tensordot", "both dimension lists should have the same length")
    need_same_dtype("tensordot", x, other)
    left = [wrap_dim(dim, x.rank) for dim in dims_self]
    right = [wrap_dim(dim, other.rank) for dim in dims_other]
    for a, b in zip(left, right, strict=True):
        sizes = x.shape[a], other.shape[b]
        # A size 1 against any other is summed beforehand.
        if not any(isinstance(size, int) and size == 1 for size in sizes):
            need_equal(*sizes, "tensordot", a)
    shape = [size for dim, size in enumerate(x.shape) if dim not in left]
    shape += [size for dim, size in enumerate(other.shape) if dim not in right]
    return TensorType(tuple(shape), x.dtype, x.device)


@rule(aten.kron.default)
def kron(x: TensorType, other: TensorType) -> TensorType:
    """kron([*a], [*b]) -> [*(a*b)]: an elementwise product over [a, b, a, b, ...], joined."""
    rank = max(x.rank, other.rank)
    left = _interleaved(x, rank, 0)
    right = _interleaved(other, rank, 1)
    whole = elementwise([left, right], result_dtype([x, other]))
    shape = tuple([whole.shape[2 * i] * whole.shape[2 * i + 1] for i in range(rank)])
    strides = None
    if whole.strides is not None:
        strides = tuple([_joined_stride(whole, 2 * i) for i in range(rank)])
    return TensorType(shape, whole.dtype, whole.device, strides)


def _interleaved(t: TensorType, rank: int, at: int) -> TensorType:
    """`t` viewed with a dimension of size 1 after (or before) each of its own."""
    lead = rank - len(t.shape)
    sizes = (1,) * lead + t.shape
    own = t.stride()
    shape: list[Int] = [1] * (2 * rank)
    strides: list[Int] = [0] * (2 * rank)
    for i, size in enumerate(sizes):
        shape[2 * i + at] = size
        strides[2 * i + at] = own[i - lead] if i >= lead else 0
    return TensorType(
        tuple(shape), t.dtype, t.device, None if t.strides is None else tuple(strides)
    )


def _joined_stride(t: TensorType, dim: int) -> Int:
    size = t.shape[dim + 1]
    steps = t.stride()
    return steps[dim] if isinstance(size, int) and size == 1 else steps[dim + 1]


# ------------------------------------------------------------------------------ on one matrix


@rule(aten.trace.default)
def trace(x: TensorType) -> TensorType:
    """trace([M, N]) -> []; integers give int64."""
    need_rank(x, 2, "trace")
    floats = x.dtype.is_floating_point or x.dtype.is_complex
    return TensorType((), x.dtype if floats else torch.int64, x.device)
