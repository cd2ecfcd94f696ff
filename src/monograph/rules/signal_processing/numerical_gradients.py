"""Numerical gradients, as many as there are dimensions to differentiate along; and integrals.

Observed on CPU: a gradient joins slices, which follow the memory format; integrals are contiguous.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.dims import wrap_dim
from monograph.abstract.promotion import float_dtype, result_dtype
from monograph.abstract.tensor_type import TensorType
from monograph.host.overloads import aten
from monograph.integers import ge, maximum, require
from monograph.rules.memory_formats import following
from monograph.rules.operand_checks import need_rank, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import need_equal

if TYPE_CHECKING:
    from collections.abc import Sequence

    import torch

    from monograph.abstract.promotion import Number
    from monograph.integers import Int


def _along(x: TensorType, dim: int | Sequence[int] | None) -> list[int]:
    rank = len(x.shape)
    if dim is None:
        return list(range(rank))
    return [wrap_dim(d, rank) for d in ([dim] if isinstance(dim, int) else dim)]


def _gradients(
    x: TensorType, dims: Sequence[int], edge_order: int, dtype: torch.dtype
) -> list[TensorType]:
    for dim in dims:
        reason = f"dimension {dim} has too few elements for edge_order={edge_order}"
        enough = ge(x.shape[dim], edge_order + 1)
        require(enough, "operator-refused-types", op="gradient", reason=reason)
    return [following(TensorType(x.shape, dtype, x.device, x.strides), x.shape) for _ in dims]


@shared_rule(aten.gradient.scalarint, aten.gradient.array, aten.gradient.scalararray)
def gradient(x: TensorType, dim: int | Sequence[int] | None, edge_order: int) -> list[TensorType]:
    """gradient([*a], dims) -> for each of them [*a]; without, for each dimension."""
    return _gradients(x, _along(x, dim), edge_order, float_dtype(x.dtype))


def _need_as_many(spacing: Sequence[object], dims: Sequence[int]) -> None:
    if len(spacing) != len(dims):
        raise refusal("gradient", f"{len(spacing)} spacings are given for {len(dims)} dimensions")


@shared_rule(aten.gradient.scalarrayint, aten.gradient.scalarrayarray)
def gradient_spaced(
    x: TensorType, spacing: Sequence[Number], dim: int | Sequence[int] | None, edge_order: int
) -> list[TensorType]:
    """gradient([*a], dims, a spacing for each) -> for each of them [*a]."""
    dims = _along(x, dim)
    _need_as_many(spacing, dims)
    return _gradients(x, dims, edge_order, float_dtype(x.dtype))


@shared_rule(aten.gradient.tensorarrayint, aten.gradient.tensorarray)
def gradient_at(
    x: TensorType, spacing: Sequence[TensorType], dim: int | Sequence[int] | None, edge_order: int
) -> list[TensorType]:
    """gradient([*a], dims, coordinates [n] for each) -> for each of them [*a]."""
    dims = _along(x, dim)
    _need_as_many(spacing, dims)
    results: list[TensorType] = []
    for at, where in zip(dims, spacing, strict=True):
        need_rank(where, 1, "gradient")
        need_equal(where.shape[0], x.shape[at], "gradient", at)
        dtype = float_dtype(result_dtype([x, where]))
        results.extend(_gradients(x, (at,), edge_order, dtype))
    return results


# ------------------------------------------------------------------------------ integrals


def _steps(shape: tuple[Int, ...], dim: int) -> tuple[Int, ...]:
    """Between n places there are n - 1 steps."""
    at = wrap_dim(dim, len(shape))
    return (*shape[:at], maximum(shape[at] - 1, 0), *shape[at + 1 :])


@rule(aten.cumulative_trapezoid.dx)
def cumulative_trapezoid(y: TensorType, *, dx: Number = 1, dim: int = -1) -> TensorType:
    """cumulative_trapezoid([*a, n, *b]) -> [*a, n - 1, *b]."""
    dtype = result_dtype([y, 1j if isinstance(dx, complex) else 0.5])
    return TensorType(_steps(y.shape, dim), dtype, y.device)


@rule(aten.cumulative_trapezoid.x)
def cumulative_trapezoid_at(y: TensorType, x: TensorType, *, dim: int = -1) -> TensorType:
    """cumulative_trapezoid([*a, n, *b], places: [n] or [*a, n, *b]) -> [*a, n - 1, *b]."""
    at = wrap_dim(dim, len(y.shape))
    if len(x.shape) == 1:
        need_equal(x.shape[0], y.shape[at], "cumulative_trapezoid", at)
        places = (*(1 for _ in y.shape[:at]), x.shape[0], *(1 for _ in y.shape[at + 1 :]))
    else:
        places = (*(1 for _ in y.shape[len(x.shape) :]), *x.shape)
    shape = broadcast_shapes(_steps(y.shape, dim), _steps(places, dim))
    return TensorType(shape, float_dtype(result_dtype([y, x])), y.device)
