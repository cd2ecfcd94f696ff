"""Summaries of data: covariances, histograms, hashes. Observed on CPU: all contiguous."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.promotion import float_dtype, kind
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.rules.operand_checks import check_dtype, check_rank, need_dimensions, need_rank
from monograph.rules.reductions.reductions import reduced
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import equal, need_equal
from monograph.rules.views.slicing import count_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


# ------------------------------------------------------------------------------ covariance


def _covariance(x: TensorType, op: str, weights: TensorType | None = None) -> TensorType:
    """One number for each pair of rows; one row, or a vector, gives a number alone.

    Weights that are floats are multiplied with the numbers, and so widen them.
    """
    check_rank(len(x.shape) <= 2, op, "at most 2 dimensions", x.rank)
    if x.dtype is torch.bool:
        raise problem("dtype-disagrees", what=op, expected="numbers", got=x.dtype)
    rows = x.shape[0] if len(x.shape) == 2 else 1
    shape = () if equal(rows, 1) else (rows, rows)
    dtype = x.dtype if weights is None else torch.promote_types(x.dtype, weights.dtype)
    return TensorType(shape, float_dtype(dtype), x.device)


@shared_rule(aten.cov.default)
def cov(x: TensorType, fweights: TensorType | None, aweights: TensorType | None) -> TensorType:
    """cov([N, M]) -> [N, N], floats; of one row -> []."""
    count = x.shape[-1] if x.shape else 1
    for weights in (fweights, aweights):
        if weights is not None:
            check_rank(len(weights.shape) <= 1, "cov", 1, weights.rank)
            need_equal(weights.shape[0] if weights.shape else 1, count, "cov")
    return _covariance(x, "cov", aweights)


@rule(aten.corrcoef.default)
def corrcoef(x: TensorType) -> TensorType:
    """corrcoef([N, M]) -> [N, N], floats; of one row -> []."""
    return _covariance(x, "corrcoef")


# ------------------------------------------------------------------------------ histograms


def _need_floats(x: TensorType, op: str) -> None:
    check_dtype(x.dtype.is_floating_point, op, "floats", x.dtype)


def _counted(
    x: TensorType, counts: Sequence[Int], weight: TensorType | None, op: str
) -> TensorType:
    """How many, or how heavy: one number for each bin."""
    _need_floats(x, op)
    if weight is not None and weight.dtype is not x.dtype:
        raise problem("dtype-disagrees", what=op, expected=x.dtype, got=weight.dtype)
    return TensorType(tuple(counts), x.dtype, x.device)


def _edges(x: TensorType, counts: Sequence[Int]) -> list[TensorType]:
    return [TensorType((count + 1,), x.dtype, x.device) for count in counts]


def _between(bins: Sequence[TensorType], op: str) -> list[Int]:
    """Bins lie between edges, so there is one less."""
    for edges in bins:
        need_rank(edges, 1, op)
    return [edges.shape[0] - 1 for edges in bins]


@shared_rule(aten.histogram.bin_ct, aten.histogram.bins_tensor)
def histogram(
    x: TensorType, bins: int | TensorType, weight: TensorType | None
) -> tuple[TensorType, TensorType]:
    """histogram([*], bins or edges: [bins + 1]) -> [bins], edges [bins + 1]."""
    counts = _between((bins,), "histogram") if isinstance(bins, TensorType) else (bins,)
    return _counted(x, counts, weight, "histogram"), _edges(x, counts)[0]


def _need_coordinates(x: TensorType, n_axes: int, op: str) -> None:
    need_dimensions(x, 2, op)
    need_equal(x.shape[-1], n_axes, op, len(x.shape) - 1)


@shared_rule(aten.histogramdd.default)
def histogramdd(
    x: TensorType, bins: Sequence[int], weight: TensorType | None
) -> tuple[TensorType, list[TensorType]]:
    """histogramdd([*, N], bins of each of N axes) -> [*bins], N edges [bins + 1]."""
    _need_coordinates(x, len(bins), "histogramdd")
    return _counted(x, bins, weight, "histogramdd"), _edges(x, bins)


@shared_rule(aten.histogramdd.int_bins)
def histogramdd_alike(
    x: TensorType, bins: int, weight: TensorType | None
) -> tuple[TensorType, list[TensorType]]:
    """histogramdd([*, N], bins) -> [bins, ... N times], N edges [bins + 1]."""
    n_axes = count_of(x.shape[-1]) if x.shape else 0
    return histogramdd(x, [bins] * n_axes, weight)


@shared_rule(aten.histogramdd.TensorList_bins)
def histogramdd_of_edges(
    x: TensorType, bins: Sequence[TensorType], weight: TensorType | None
) -> tuple[TensorType, list[TensorType]]:
    """histogramdd([*, N], N edges [n]) -> [*(n - 1)], N edges [n]."""
    counts = _between(bins, "histogramdd")
    _need_coordinates(x, len(bins), "histogramdd")
    return _counted(x, counts, weight, "histogramdd"), list(bins)


# ------------------------------------------------------------------------------ hashes


@shared_rule(aten.hash_tensor.default)
def hash_tensor(x: TensorType, dim: Sequence[int], keepdim: bool) -> TensorType:
    """hash_tensor([*a, n, *b], n's dim) -> u64[*a, *b]."""
    check_dtype(kind(x.dtype) <= 2, "hash_tensor", "real numbers", x.dtype)
    return TensorType(reduced(x.shape, dim, keepdim), torch.uint64, x.device)
