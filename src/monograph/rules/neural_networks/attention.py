"""Attention over several heads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import torch

from monograph.abstract.broadcast import broadcast_shapes
from monograph.abstract.layout import dense_like_strides
from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.host.versions import version
from monograph.rules.elementwise.conversions import fresh_strides
from monograph.rules.operand_checks import need_same_dtype, refusal
from monograph.rules.registry import shared_rule
from monograph.rules.size_checks import equal, need_equal, need_positive, surely_equal

if TYPE_CHECKING:
    from monograph.integers import Int


_OP = "scaled_dot_product_attention"


@shared_rule(aten.scaled_dot_product_attention.default)
def scaled_dot_product_attention(
    query: TensorType,
    key: TensorType,
    value: TensorType,
    attn_mask: TensorType | None,
    dropout_p: float,
    enable_gqa: bool,
) -> TensorType:
    """sdpa([*, L, E], [*, S, E], [*, S, V], mask: [*, L, S]) -> [*, L, V].

    The flash kernel of CPUs gives the query's own layout, the one made of products is contiguous.
    """
    need_same_dtype(_OP, query, key, value)
    rank = len(query.shape)
    if rank < 2 or len(key.shape) != len(value.shape):
        raise problem("rank-disagrees", what=_OP, expected="at least 2 dimensions", got=rank)
    need_equal(query.shape[-1], key.shape[-1], _OP, rank - 1)
    need_equal(key.shape[-2], value.shape[-2], _OP, rank - 2)
    batch = _common_batch(query, key, value, enable_gqa)
    if batch != query.shape[:-2] and any(
        equal(size, 0) for t in (query, key, value) for size in t.shape
    ):
        # Observed: nothing is computed, so nothing is broadcast.
        return TensorType((*query.shape[:-1], value.shape[-1]), query.dtype, query.device)
    if attn_mask is not None:
        broadcast_shapes((*batch, query.shape[-2], key.shape[-2]), attn_mask.shape)
    shape = (*batch, query.shape[-2], value.shape[-1])
    if query.strides is not None and _runs_flash(
        query, key, value, attn_mask, dropout_p, enable_gqa
    ):
        return TensorType(shape, query.dtype, query.device, dense_like_strides(query))
    return TensorType(shape, query.dtype, query.device)


def _common_batch(
    query: TensorType, key: TensorType, value: TensorType, enable_gqa: bool
) -> tuple[Int, ...]:
    batch = query.shape[:-2]
    if key.shape[:-2] == batch and value.shape[:-2] == batch:
        return batch
    if enable_gqa and len(batch) >= 1:  # each head of the keys serves several of the query
        lead = broadcast_shapes(batch[:-1], key.shape[:-3], value.shape[:-3])
        for heads in (key.shape[-3], value.shape[-3]):
            need_equal(batch[-1] % heads, 0, _OP, len(batch) - 1)
        return (*lead, batch[-1])
    return broadcast_shapes(batch, key.shape[:-2], value.shape[:-2])


_SINCE_2_14: Final = version() != "2.13"
"""Whether the kernel takes tensors of rank 3, and keys of one head without `enable_gqa`."""
_RANKS_OF_MASKS: Final = {4: (2, 4), 3: (1, 2, 3, 4) if _SINCE_2_14 else ()}
"""By the rank of the query, which is taken if it has an entry that is not empty."""


def _runs_flash(
    query: TensorType,
    key: TensorType,
    value: TensorType,
    mask: TensorType | None,
    dropout_p: float,
    enable_gqa: bool,
) -> bool:
    """Whether the CPU's flash kernel takes these arguments.

    Source: `sdp_utils_cpp.cpp`, `use_flash_attention_cpp` (observed, not copied).
    """
    ranks = _RANKS_OF_MASKS.get(len(query.shape), ())
    if dropout_p > 0.0 or not ranks or not len(query.shape) == len(key.shape) == len(value.shape):
        return False
    if mask is not None and (mask.requires_grad or len(mask.shape) not in ranks):
        return False
    for t in (query, key, value):
        if t.strides is not None and not equal(t.strides[-1], 1):
            return False
    # Without a query there are no elements, and any layout is right.
    if query.shape == key.shape == value.shape:
        return not surely_equal(query.shape[-2], 0)
    pairs = [*zip(query.shape[:-3] * 2, key.shape[:-3] + value.shape[:-3], strict=True)]
    heads = key.shape[-3]
    pairs += [(heads, value.shape[-3]), (query.shape[-1], value.shape[-1])]
    if not all(equal(left, right) for left, right in pairs):
        return False
    if not (enable_gqa or equal(query.shape[-3], heads) or (_SINCE_2_14 and equal(heads, 1))):
        return False
    return not surely_equal(query.shape[-2], 0) and not equal(key.shape[-2], 0)


@shared_rule(aten._scaled_dot_product_flash_attention_for_cpu.default)
def flash_attention_for_cpu(
    query: TensorType, key: TensorType, value: TensorType
) -> tuple[TensorType, TensorType]:
    """flash([B, H, L, E], [B, h, S, E], [B, h, S, E]) -> [B, H, L, E], logsumexp [B, H, L]."""
    need_same_dtype("flash attention", query, key, value)
    need_equal(query.shape[3], key.shape[3], _OP, 3)
    need_equal(key.shape[2], value.shape[2], _OP, 2)
    # Observed: the kernel divides by them, and takes the process down.
    need_positive((*query.shape, key.shape[2]), "flash attention")
    batch, heads, length, _ = query.shape
    result = TensorType(query.shape, query.dtype, query.device, dense_like_strides(query))
    dtype = torch.float64 if query.dtype == torch.float64 else torch.float32
    # It is computed as [B, L, H].
    lse = TensorType((batch, heads, length), dtype, query.device, (length * heads, 1, heads))
    return result, lse


@shared_rule(aten._scaled_dot_product_attention_math.default)
def attention_by_products(
    query: TensorType, key: TensorType, value: TensorType, enable_gqa: bool
) -> tuple[TensorType, TensorType]:
    """sdpa([*, L, E], [*, S, E], [*, S, V]) -> [*, L, V], weights [*, L, S]; contiguous."""
    batch = _common_batch(query, key, value, enable_gqa)
    lengths = (*batch, query.shape[-2])
    return (
        TensorType((*lengths, value.shape[-1]), query.dtype, query.device),
        TensorType((*lengths, key.shape[-2]), query.dtype, query.device),
    )


@shared_rule(aten._native_multi_head_attention.default)
def native_multi_head_attention(
    query: TensorType, num_head: int, need_weights: bool, average_attn_weights: bool
) -> tuple[TensorType, TensorType | None]:
    """mha([B, T, D]) -> [B, T, D], weights [B, T, T] (averaged), [B, heads, T, T] or None."""
    result = TensorType(query.shape, query.dtype, query.device)
    if not need_weights:
        return result, None
    batch, length, _ = query.shape
    need_positive((batch, length), "multi-head attention")  # of nothing there are no weights
    heads = () if average_attn_weights else (num_head,)
    weights = TensorType((batch, *heads, length, length), query.dtype, query.device)
    return result, weights


@shared_rule(aten._transformer_encoder_layer_fwd.default)
def transformer_encoder_layer(src: TensorType) -> TensorType:
    """encoder_layer([B, T, D]) -> [B, T, D], contiguous."""
    return TensorType(src.shape, src.dtype, src.device)


@shared_rule(aten._masked_softmax.default)
def masked_softmax(x: TensorType, mask: TensorType, mask_type: int | None) -> TensorType:
    """_masked_softmax([*a], b8[*a]) -> [*a]; masks [L, L] (type 0) and [B, L] (1) are of scores.

    Raises: operator-refused-types, sizes-disagree.
    """
    if mask.dtype is not torch.bool:
        raise refusal("_masked_softmax", "its mask must be of bools")
    if mask_type not in (0, 1) and len(mask.shape) != len(x.shape):
        raise problem("rank-disagrees", what="_masked_softmax", expected=x.rank, got=mask.rank)
    rank = len(mask.shape)
    sizes = (x.shape[0], x.shape[-1]) if mask_type == 1 else x.shape[len(x.shape) - rank :]
    for at, (size, other) in enumerate(zip(sizes, mask.shape, strict=True)):
        need_equal(size, other, "_masked_softmax", at)
    return TensorType(x.shape, x.dtype, x.device, fresh_strides(x, None))
