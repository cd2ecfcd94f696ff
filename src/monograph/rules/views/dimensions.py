"""Views that move, add, drop or repeat whole dimensions: only sizes and strides change.

Laws: a dimension is dropped by `squeeze` and repeated by `expand` only if its size is 1; where a
symbol leaves that open, the answer is a guard (see `size_checks`). Repeating sets a stride to 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.layout import is_contiguous, is_size_one
from monograph.abstract.tensor_type import TensorType, view_of
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import choose, eq, ge, known, le, maximum, minimum, require
from monograph.rules.operand_checks import check_rank, need_dimensions, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import at_least, equal, need_positive, surely_equal
from monograph.rules.views.strides import tidy, viewed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


# ------------------------------------------------------------------------------ order of dimensions


def permuted(x: TensorType, dims: Sequence[int]) -> TensorType:
    """`x` with its dimensions in another order."""
    shape, strides = x.shape, x.stride()
    return TensorType(
        tuple([shape[d] for d in dims]),
        x.dtype,
        x.device,
        tuple([strides[d] for d in dims]),
        x.offset,
    )


@rule(aten.transpose.int, aten.swapdims.default)
def transpose(x: TensorType, dim0: int, dim1: int) -> TensorType:
    """x: [*a, n, *b, m, *c] -> [*a, m, *b, n, *c]."""
    shape = x.shape
    rank = len(shape)
    first, second = wrap_dim(dim0, rank), wrap_dim(dim1, rank)
    if first == second:
        return TensorType(shape, x.dtype, x.device, x.strides, x.offset)
    sizes, strides = list(shape), list(x.stride())
    sizes[first], sizes[second] = sizes[second], sizes[first]
    strides[first], strides[second] = strides[second], strides[first]
    return TensorType(tuple(sizes), x.dtype, x.device, tuple(strides), x.offset)


@rule(aten.swapaxes.default)
def swapaxes(x: TensorType, axis0: int, axis1: int) -> TensorType:
    """x: [*a, n, *b, m, *c] -> [*a, m, *b, n, *c]."""
    return transpose(x, axis0, axis1)


@rule(aten.t.default)
def t(x: TensorType) -> TensorType:
    """x: [n, m] -> [m, n]; [n] -> [n]; [] -> []."""
    check_rank(len(x.shape) <= 2, "t", "at most 2 dimensions", x.rank)
    return transpose(x, 0, 1) if len(x.shape) == 2 else view_of(x, x.shape, x.strides)


@rule(aten.numpy_T.default)
def numpy_t(x: TensorType) -> TensorType:
    """x: [*a] -> [*reversed a]."""
    return permuted(x, range(x.rank)[::-1])


@rule(aten.mT.default, aten.mH.default, aten.adjoint.default)
def matrix_transpose(x: TensorType) -> TensorType:
    """x: [*b, n, m] -> [*b, m, n]."""
    need_dimensions(x, 2, "a matrix transpose")
    return transpose(x, -2, -1)


@rule(aten.matrix_H.default)
def matrix_h(x: TensorType) -> TensorType:
    """x: [n, m] -> [m, n]; [] -> []."""
    check_rank(x.rank in {0, 2}, "H", "0 or 2 dimensions", x.rank)
    return transpose(x, -2, -1) if x.rank else x


@rule(aten.permute.default)
def permute(x: TensorType, dims: Sequence[int]) -> TensorType:
    """x: [*a] -> [a[dims[0]], a[dims[1]], ...]."""
    rank = len(x.shape)
    check_rank(len(dims) == rank, "permute", len(dims), rank)
    order = [wrap_dim(dim, rank) for dim in dims]
    if len(set(order)) != rank:
        raise refusal("permute", "repeated dims")
    return permuted(x, order)


@rule(aten.movedim.int, aten.moveaxis.int)
def movedim_int(x: TensorType, source: int, destination: int) -> TensorType:
    """x: [*a, n, *b] -> [*a, *b] with n moved to `destination`."""
    return movedim(x, (source,), (destination,))


@rule(aten.movedim.intlist, aten.moveaxis.intlist)
def movedim(x: TensorType, source: Sequence[int], destination: Sequence[int]) -> TensorType:
    """x: [*a] -> the dimensions `source` at the places `destination`, the others in order."""
    rank = x.rank
    origin = [wrap_dim(dim, rank) for dim in source]
    target = [wrap_dim(dim, rank) for dim in destination]
    if len(origin) != len(target) or not len(set(origin)) == len(set(target)) == len(origin):
        raise refusal("movedim", "source and destination must be distinct dimensions, one for each")
    if not rank:
        return view_of(x, (), None)
    others = iter([dim for dim in range(rank) if dim not in origin])
    placed = dict(zip(target, origin, strict=True))
    return permuted(x, [placed[i] if i in placed else next(others) for i in range(rank)])


# --------------------------------------------------------------------------- dimensions of size 1


@rule(aten.unsqueeze.default)
def unsqueeze(x: TensorType, dim: int) -> TensorType:
    """x: [*a, *b] -> [*a, 1, *b]."""
    shape, strides = x.shape, x.strides
    at = wrap_dim(dim, len(shape) + 1)
    sizes = (*shape[:at], 1, *shape[at:])
    if strides is None:
        return TensorType(sizes, x.dtype, x.device, None, x.offset)
    step = shape[at] * strides[at] if at < len(shape) else 1
    return TensorType(sizes, x.dtype, x.device, (*strides[:at], step, *strides[at:]), x.offset)


def _without(x: TensorType, dims: set[int]) -> TensorType:
    if not dims:
        return view_of(x, x.shape, x.strides)
    kept = [i for i in range(len(x.shape)) if i not in dims]
    strides = x.strides
    return TensorType(
        tuple([x.shape[i] for i in kept]),
        x.dtype,
        x.device,
        None if strides is None else tuple([strides[i] for i in kept]),
        x.offset,
    )


@rule(aten.squeeze.default)
def squeeze(x: TensorType) -> TensorType:
    """x: [*a] -> a without its sizes of 1."""
    return _without(x, {i for i, size in enumerate(x.shape) if equal(size, 1)})


@rule(aten.squeeze.dim, aten.squeeze.dims)
def squeeze_dims(x: TensorType, dim: int | Sequence[int]) -> TensorType:
    """x: [*a] -> a without those of the given dimensions whose size is 1."""
    dims = [dim] if isinstance(dim, int) else dim
    wanted = {wrap_dim(d, len(x.shape)) for d in dims}
    return _without(x, {i for i in wanted if x.shape and equal(x.shape[i], 1)})


@rule(aten.atleast_1d.default)
def atleast_1d(x: TensorType) -> TensorType:
    """x: [] -> [1]; any other is returned as it is."""
    return x if x.shape else viewed(x, (1,))


@rule(aten.atleast_2d.default)
def atleast_2d(x: TensorType) -> TensorType:
    """x: [] -> [1, 1]; [n] -> [1, n]; any other is returned as it is."""
    if len(x.shape) > 1:
        return x
    return unsqueeze(x, 0) if x.shape else viewed(x, (1, 1))


@rule(aten.atleast_3d.default)
def atleast_3d(x: TensorType) -> TensorType:
    """x: [] -> [1, 1, 1]; [n] -> [1, n, 1]; [n, m] -> [n, m, 1]; any other as it is."""
    if len(x.shape) > 2:
        return x
    if len(x.shape) == 2:
        return unsqueeze(x, -1)
    return unsqueeze(unsqueeze(x, 0), -1) if x.shape else viewed(x, (1, 1, 1))


@rule(aten.atleast_1d.Sequence)
def atleast_1d_sequence(tensors: Sequence[TensorType]) -> list[TensorType]:
    """Every tensor as `atleast_1d` gives it."""
    return [atleast_1d(x) for x in tensors]


@rule(aten.atleast_2d.Sequence)
def atleast_2d_sequence(tensors: Sequence[TensorType]) -> list[TensorType]:
    """Every tensor as `atleast_2d` gives it."""
    return [atleast_2d(x) for x in tensors]


@rule(aten.atleast_3d.Sequence)
def atleast_3d_sequence(tensors: Sequence[TensorType]) -> list[TensorType]:
    """Every tensor as `atleast_3d` gives it."""
    return [atleast_3d(x) for x in tensors]


# ------------------------------------------------------------------------------------- expanding


@shared_rule(aten.expand.default, aten.broadcast_to.default)
def expanded(x: TensorType, size: Sequence[Int]) -> TensorType:
    """x: [*a] -> [*size]; each size equals x's, or x's is 1; -1 keeps x's.

    Raises: sizes-disagree, rank-disagrees.
    """
    old = x.shape
    lead = len(size) - len(old)
    check_rank(lead >= 0, "expand", len(size), len(old))
    shape = list(size)
    strides = [0] * lead + list(x.stride())
    for i in range(len(shape) - 1, -1, -1):
        own: Int = old[i - lead] if i >= lead else 1
        wanted = shape[i]
        if isinstance(wanted, int) and wanted < 0:
            if wanted != -1 or i < lead:
                raise refusal("expand", f"size {wanted} is not allowed in dimension {i}")
            shape[i] = own
        elif _is_repeated(own, wanted, i):
            strides[i] = 0
        elif i < lead and old:
            strides[i] = shape[i + 1] * strides[i + 1]
    sizes = tuple(shape)
    return TensorType(sizes, x.dtype, x.device, tidy(sizes, tuple(strides)), x.offset)


def _is_repeated(own: Int, wanted: Int, dim: int) -> bool:
    """Whether `own` is 1 and stands for another size; else the two are equal."""
    if own is wanted:
        return False
    if isinstance(own, int) and isinstance(wanted, int):
        if own not in {1, wanted}:
            raise problem("sizes-disagree", left=own, right=wanted, dim=dim)
        return own != wanted
    if is_size_one(own):
        require(ge(wanted, 0), "sizes-disagree", left=own, right=wanted, dim=dim)
        return True
    same, facts = eq(own, wanted), {"left": own, "right": wanted, "dim": dim}
    case = choose(same, eq(own, 1), name="sizes-disagree", **facts)
    if case is None:
        require(same, "sizes-disagree", **facts)
    return case == 1


@rule(aten.expand_as.default)
def expand_as(x: TensorType, other: TensorType) -> TensorType:
    """x: [*a], other: [*b] -> [*b]."""
    return expanded(x, other.shape)


@rule(aten.broadcast_tensors.default)
def broadcast_tensors(tensors: Sequence[TensorType]) -> list[TensorType]:
    """t_i: [*a_i] -> every one in their common shape."""
    if not tensors:
        return []
    shape = broadcast_shapes(*[x.shape for x in tensors])
    return [x if x.shape == shape else expanded(x, shape) for x in tensors]


@shared_rule(aten.meshgrid.default, aten.meshgrid.indexing)
def meshgrid(tensors: Sequence[TensorType], indexing: str = "ij") -> list[TensorType]:
    """t_i: [n_i] or [] -> one [n_0, n_1, ...] each; "xy" exchanges the first two dimensions."""
    if indexing != "ij" and len(tensors) > 1:
        if indexing != "xy":
            raise refusal("meshgrid", f'indexing must be "xy" or "ij", not "{indexing}"')
        second, first, *rest = meshgrid([tensors[1], tensors[0], *tensors[2:]])
        return [first, second, *rest]
    first = tensors[0]
    if any(x.rank > 1 or x.dtype != first.dtype for x in tensors):
        raise refusal("meshgrid", "it takes tensors of at most one dimension and of one dtype")
    shape = tuple(x.numel() for x in tensors)
    ones = (1,) * len(shape)
    return [
        expanded(viewed(x, (*ones[:i], shape[i], *ones[i + 1 :])), shape)
        for i, x in enumerate(tensors)
    ]


# ---------------------------------------------------------------------------- other strided views


@shared_rule(aten.diagonal.default, aten.linalg_diagonal.default)
def diagonal(x: TensorType, offset: Int = 0, dim1: int = 0, dim2: int = 1) -> TensorType:
    """x: [*a, n, *b, m, *c] -> [*a, *b, *c, k], k the length of the diagonal `offset`."""
    first, second = wrap_dim(dim1, x.rank), wrap_dim(dim2, x.rank)
    if first == second:
        raise refusal("diagonal", f"diagonal dimensions cannot be identical, {dim1} and {dim2}")
    strides, rows, columns = x.stride(), x.shape[first], x.shape[second]
    if at_least(offset, 0):
        columns, skipped = columns - offset, offset * strides[second]
    else:
        rows, skipped = rows + offset, -offset * strides[first]
    length = at_least_zero(shorter(rows, columns))
    start = x.offset if isinstance(length, int) and length == 0 else x.offset + skipped
    kept = [i for i in range(x.rank) if i not in {first, second}]
    shape = (*[x.shape[i] for i in kept], length)
    steps = (*[strides[i] for i in kept], strides[first] + strides[second])
    return view_of(x, shape, tidy(shape, steps), start)


def shorter(left: Int, right: Int) -> Int:
    """The smaller of two sizes, as one of them wherever that is known."""
    if known(le(left, right)) is True:
        return left
    if known(le(right, left)) is True:
        return right
    return minimum(left, right)


def at_least_zero(size: Int) -> Int:
    """The size, or 0 where it is negative."""
    if isinstance(size, int):
        return max(0, size)
    return size if known(ge(size, 0)) is True else maximum(size, 0)


@rule(aten.as_strided.default)
def as_strided(
    x: TensorType,
    size: Sequence[Int],
    stride: Sequence[Int],
    storage_offset: Int | None = None,
) -> TensorType:
    """x's storage as [*size] with the given strides and offset."""
    shape, strides = tuple(size), tuple(stride)
    if len(shape) != len(strides):
        raise refusal("as_strided", f"{len(shape)} sizes and {len(strides)} strides")
    return view_of(x, shape, tidy(shape, strides), storage_offset)


@rule(aten.resize_.default)
def resize_in_place(
    x: TensorType, size: Sequence[Int], *, memory_format: torch.memory_format | None = None
) -> TensorType:
    """x.resize_(size): [*a] -> [*size], contiguous; as it lies where the sizes are the same."""
    shape = tuple(size)
    if memory_format not in (None, torch.contiguous_format):
        raise refusal("resize_", f"memory_format is {memory_format}")
    if len(shape) == x.rank and all(map(surely_equal, shape, x.shape)):
        return x
    is_other = len(shape) != x.rank or any(
        known(eq(*pair)) is False for pair in zip(shape, x.shape, strict=True)
    )
    if not is_other and not is_contiguous(x):
        raise refusal("resize_", "it stays as it lies if the sizes are the same")
    return view_of(x, shape, None)


@rule(aten.resize_as_.default)
def resize_as_in_place(
    x: TensorType, the_template: TensorType, *, memory_format: torch.memory_format | None = None
) -> TensorType:
    """x.resize_as_(y): [*a], [*b] -> [*b]."""
    return resize_in_place(x, the_template.shape, memory_format=memory_format)


@rule(aten.set_.source_Tensor)
def set_in_place(x: TensorType, source: TensorType) -> TensorType:
    """x.set_(y): [*a], [*b] -> y."""
    if x.dtype != source.dtype:
        raise refusal("set_", "both must have one dtype")
    return source


@rule(aten.set_.default)
def emptied_in_place(x: TensorType) -> TensorType:
    """x.set_(): [*a] -> [0]."""
    return TensorType((0,), x.dtype, x.device)


@rule(aten.unfold.default)
def unfold(x: TensorType, dimension: int, size: Int, step: Int) -> TensorType:
    """x: [*a, n, *b] -> [*a, (n - size)//step + 1, *b, size]."""
    need_positive((step,), "unfold")
    if not x.shape:
        require(le(size, 1), "sizes-disagree", left=size, right=1)
        return view_of(x, (size,), None)
    at = wrap_dim(dimension, x.rank)
    n = x.shape[at]
    if not surely_equal(n, size):
        require(le(size, n), "sizes-disagree", left=n, right=size, dim=at)
    strides = x.stride()
    shape = (*x.shape[:at], (n - size) // step + 1, *x.shape[at + 1 :], size)
    steps = (*strides[:at], strides[at] * step, *strides[at + 1 :], strides[at])
    return view_of(x, shape, tidy(shape, steps))


# --------------------------------------------------------------------------------- sizes as numbers


@rule(aten.sym_size.int)
def sym_size(x: TensorType, dim: int) -> Int:
    """x: [*a] -> a[dim]."""
    return x.shape[wrap_dim(dim, x.rank)]


@rule(aten.sym_stride.int)
def sym_stride(x: TensorType, dim: int) -> Int:
    """The step in memory from one element to the next of dimension `dim`."""
    return x.stride()[wrap_dim(dim, x.rank)]


@rule(aten.sym_numel.default)
def sym_numel(x: TensorType) -> Int:
    """x: [*a] -> Π a."""
    return x.numel()


@rule(aten.sym_storage_offset.default)
def sym_storage_offset(x: TensorType) -> Int:
    """Where x's first element lies in its storage."""
    return x.offset
