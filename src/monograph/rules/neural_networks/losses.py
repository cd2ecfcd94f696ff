"""Losses: one value per element, reduced to one number by `reduction` (0 none, 1 mean, 2 sum)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.elementwise import elementwise
from monograph.abstract.layout import dense_like_strides
from monograph.abstract.promotion import float_dtype, result_dtype
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import fresh, maximum
from monograph.rules.operand_checks import check_dtype, refusal
from monograph.rules.reductions.norms import pairwise_distance
from monograph.rules.reductions.reductions import reduced
from monograph.rules.registry import shared_rule
from monograph.rules.size_checks import need_equal, need_same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def _reduced(each: TensorType, reduction: int) -> TensorType:
    return each if reduction == 0 else TensorType((), each.dtype, each.device)


def _pointwise(operands: Sequence[TensorType], reduction: int) -> TensorType:
    """A loss that is an elementwise expression of its operands, in the order it takes them up."""
    return _reduced(elementwise(operands, result_dtype(operands)), reduction)


# ------------------------------------------------------------------------------ regression


@shared_rule(aten.mse_loss.default, aten.smooth_l1_loss.default)
def mse_loss(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """mse_loss([*a], [*a]) -> [*a], or [] reduced; the two broadcast."""
    return _pointwise([x, target], reduction)


@shared_rule(aten.l1_loss.default)
def l1_loss(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """l1_loss([*a], [*a]) -> [*a] real, or [] reduced; the two broadcast."""
    each = elementwise([x, target], result_dtype([x, target]).to_real())
    return _reduced(each, reduction)


@shared_rule(aten.huber_loss.default)
def huber_loss(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """huber_loss([*a], [*a]) -> [*a], or [] reduced; the two broadcast."""
    each = elementwise([x, target], result_dtype([x, target]))
    if each.shape == x.shape:  # it was made as `empty_like(x)`
        each = TensorType(x.shape, each.dtype, x.device, dense_like_strides(x))
    return _reduced(each, reduction)


@shared_rule(aten.poisson_nll_loss.default)
def poisson_nll_loss(
    input: TensorType, target: TensorType, log_input: bool, reduction: int
) -> TensorType:
    """poisson_nll_loss([*a], [*a]) -> [*a], or [] reduced; the two broadcast."""
    dtype = float_dtype(result_dtype([input, target]))
    mapped = elementwise([input], dtype)  # its exponential or logarithm
    if log_input:
        operands = [mapped, elementwise([target, input], dtype)]
    else:
        operands = [input, elementwise([target, mapped], dtype)]
    return _reduced(elementwise(operands, dtype), reduction)


# ------------------------------------------------------------------------------ probabilities


@shared_rule(aten.binary_cross_entropy.default)
def binary_cross_entropy(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """binary_cross_entropy([*a], [*a]) -> [*a], or [] reduced."""
    need_same_shape(x.shape, target.shape, "binary_cross_entropy")
    return _reduced(TensorType(x.shape, x.dtype, x.device, dense_like_strides(x)), reduction)


@shared_rule(aten.binary_cross_entropy_with_logits.default)
def binary_cross_entropy_with_logits(
    x: TensorType, target: TensorType, reduction: int
) -> TensorType:
    """binary_cross_entropy_with_logits([*a], [*a]) -> [*a], or [] reduced.

    It is computed in place of `1 - target`, so the target says dtype and layout.
    """
    check_dtype(
        target.dtype.is_floating_point,
        "target of binary_cross_entropy_with_logits",
        "floats",
        target.dtype,
    )
    need_same_shape(x.shape, target.shape, "binary_cross_entropy_with_logits")
    return _reduced(elementwise([target], target.dtype), reduction)


@shared_rule(aten.kl_div.default)
def kl_div(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """kl_div([*a], [*a]) -> [*a], or [] reduced; the two broadcast."""
    dtype = result_dtype([x, target])
    entropy = elementwise([target], dtype)
    return _reduced(elementwise([entropy, elementwise([target, x], dtype)], dtype), reduction)


@shared_rule(aten.soft_margin_loss.default)
def soft_margin_loss(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """soft_margin_loss([*a], [*a]) -> [*a], or [] reduced."""
    if broadcast_shapes(x.shape, target.shape) != x.shape:
        raise refusal("soft_margin_loss", "the target is larger than the input")
    return _reduced(elementwise([x], x.dtype), reduction)


# ------------------------------------------------------------------------------ rankings


@shared_rule(aten.hinge_embedding_loss.default)
def hinge_embedding_loss(
    x: TensorType, target: TensorType, margin: float, reduction: int
) -> TensorType:
    """hinge_embedding_loss([*a], [*a]) -> [*a], or [] reduced; the two broadcast."""
    dtype = result_dtype([x, margin])
    chosen = elementwise([target], torch.bool)
    beyond = elementwise([chosen, elementwise([x], dtype)], dtype)
    return _reduced(elementwise([beyond, elementwise([chosen, x], dtype)], dtype), reduction)


@shared_rule(aten.margin_ranking_loss.default)
def margin_ranking_loss(
    input1: TensorType, input2: TensorType, target: TensorType, margin: float, reduction: int
) -> TensorType:
    """margin_ranking_loss([*a], [*a], [*a]) -> [*a], or [] reduced; the three broadcast."""
    dtype = result_dtype([target, input1, input2, margin])
    return _reduced(elementwise([target, input1, input2], dtype), reduction)


@shared_rule(aten.triplet_margin_loss.default)
def triplet_margin_loss(
    anchor: TensorType, positive: TensorType, negative: TensorType, reduction: int
) -> TensorType:
    """triplet_margin_loss([*a, n], [*a, n], [*a, n]) -> [*a], or [] reduced."""
    if not anchor.rank == positive.rank == negative.rank:
        got = negative.rank if positive.rank == anchor.rank else positive.rank
        raise problem("rank-disagrees", what="triplet_margin_loss", expected=anchor.rank, got=got)
    distances = [pairwise_distance(anchor, other) for other in (positive, negative)]
    return _pointwise(distances, reduction)


@shared_rule(aten.cosine_embedding_loss.default)
def cosine_embedding_loss(
    input1: TensorType, input2: TensorType, target: TensorType, reduction: int
) -> TensorType:
    """cosine_embedding_loss([B, n], [B, n], [B]) -> [B], or [] reduced; or without B."""
    if len(target.shape) > 1 or len(input1.shape) != len(target.shape) + 1:
        raise problem(
            "rank-disagrees",
            what="target of cosine_embedding_loss",
            expected="0 or 1",
            got=target.rank,
        )
    dtype = float_dtype(result_dtype([input1, input2]))
    batch = broadcast_shapes(input1.shape, input2.shape)[:-1]
    shape = broadcast_shapes(batch, target.shape)
    return _reduced(TensorType(shape, dtype, input1.device), reduction)


def _batch(x: TensorType) -> tuple[Int, ...]:
    """[N, C] -> [N]; one sample [C] or [] -> []."""
    return x.shape[:1] if len(x.shape) == 2 else ()


@shared_rule(aten.multi_margin_loss.default)
def multi_margin_loss(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """multi_margin_loss([N, C], i64[N]) -> [N], or [] reduced."""
    shape = target.shape if len(x.shape) < 2 else _batch(x)
    return _reduced(TensorType(shape, x.dtype, x.device), reduction)


@shared_rule(aten.multilabel_margin_loss_forward.default)
def multilabel_margin_loss_forward(
    x: TensorType, target: TensorType, reduction: int
) -> tuple[TensorType, TensorType]:
    """multilabel_margin_loss([N, C], i64[N, C]) -> [N], or [] reduced; is_target [N, C]."""
    need_same_shape(x.shape, target.shape, "multilabel_margin_loss")
    each = TensorType(_batch(x), x.dtype, x.device)
    return _reduced(each, reduction), TensorType(target.shape, x.dtype, x.device)


@shared_rule(aten.multilabel_margin_loss.default)
def multilabel_margin_loss(x: TensorType, target: TensorType, reduction: int) -> TensorType:
    """multilabel_margin_loss([N, C], i64[N, C]) -> [N], or [] reduced."""
    return multilabel_margin_loss_forward(x, target, reduction)[0]


# ------------------------------------------------------------------------------ classes


def _check_classes(x: TensorType, target: TensorType, op: str) -> None:
    """x: [N, C, *d] and target [N, *d], or x: [C] and target []."""
    if len(target.shape) != len(x.shape) - 1 and len(x.shape) != 1:
        raise problem(
            "rank-disagrees", what=f"target of {op}", expected=x.rank - 1, got=target.rank
        )
    for dim, size in enumerate(target.shape):
        if len(x.shape) > 1:
            at = dim if dim == 0 else dim + 1
            need_equal(x.shape[at], size, op, at)


def _check_weight(weight: TensorType | None, classes: Int, op: str) -> None:
    if weight is not None:
        need_equal(weight.shape[0], classes, op, 0)


@shared_rule(aten.nll_loss_forward.default, aten.nll_loss2d_forward.default)
def nll_loss_forward(
    x: TensorType, target: TensorType, weight: TensorType | None, reduction: int
) -> tuple[TensorType, TensorType]:
    """nll_loss([N, C, *d], i64[N, *d]) -> [N, *d], or [] reduced; total weight []."""
    _check_classes(x, target, "nll_loss")
    _check_weight(weight, x.shape[0 if len(x.shape) == 1 else 1], "nll_loss")
    shape = () if len(x.shape) == 1 else target.shape
    total = TensorType((), x.dtype, x.device)
    return _reduced(TensorType(shape, x.dtype, x.device), reduction), total


@shared_rule(aten.nll_loss.default, aten.nll_loss_nd.default, aten.nll_loss2d.default)
def nll_loss(
    x: TensorType, target: TensorType, weight: TensorType | None, reduction: int
) -> TensorType:
    """nll_loss([N, C, *d], i64[N, *d]) -> [N, *d], or [] reduced."""
    return nll_loss_forward(x, target, weight, reduction)[0]


@shared_rule(aten.cross_entropy_loss.default)
def cross_entropy_loss(
    x: TensorType, target: TensorType, weight: TensorType | None, reduction: int
) -> TensorType:
    """cross_entropy([N, C, *d], i64[N, *d] or floats [N, C, *d]) -> [N, *d], or [] reduced."""
    if len(x.shape) != len(target.shape):
        return nll_loss(x, target, weight, reduction)
    need_same_shape(x.shape, target.shape, "cross_entropy")
    classes = 0 if len(x.shape) == 1 else 1
    _check_weight(weight, x.shape[classes], "cross_entropy")
    shape = reduced(x.shape, classes, False)
    return _reduced(TensorType(shape, result_dtype([x, target]), x.device), reduction)


# ------------------------------------------------------------------------------ alignments


@shared_rule(aten.ctc_loss.IntList, aten.ctc_loss.Tensor)
def ctc_loss(log_probs: TensorType, reduction: int) -> TensorType:
    """ctc_loss([T, N, C] or [T, C]) -> [N] or [], or [] reduced."""
    batch = log_probs.shape[1:2] if len(log_probs.shape) == 3 else ()
    return _reduced(TensorType(batch, log_probs.dtype, log_probs.device), reduction)


@shared_rule(aten._ctc_loss.default, aten._ctc_loss.Tensor)
def ctc_loss_forward(
    log_probs: TensorType, target_lengths: Sequence[int] | TensorType
) -> tuple[TensorType, TensorType]:
    """_ctc_loss([T, N, C]) -> [N], [N, T, 2*max(target_lengths) + 1]; the lengths may be data."""
    longest: Int = 0
    if isinstance(target_lengths, TensorType):
        longest = fresh("longest target", 0, None)
    else:
        for length in target_lengths:
            longest = maximum(longest, length)
    batch = log_probs.shape[1] if len(log_probs.shape) == 3 else 1
    table = (batch, log_probs.shape[0], 2 * longest + 1)
    loss = ctc_loss(log_probs, 0)
    return loss, TensorType(table, log_probs.dtype, log_probs.device)
