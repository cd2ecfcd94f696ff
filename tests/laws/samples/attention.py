"""Attention with queries in every layout, and with every kind of mask."""

import torch

from tests.laws.samples.pointwise import case, floats

Q, K = floats(2, 4, 5, 8), floats(2, 4, 7, 8)
TURNED = floats(2, 5, 4, 8).transpose(1, 2)
SLICED = floats(2, 5, 3, 4, 8)[:, :, 0].transpose(1, 2)
QUERIES = (Q, TURNED, SLICED, Q.mT.contiguous().mT, Q[:1].expand(2, 4, 5, 8))
MASKS = (
    None,
    floats(5, 7) > 0,
    floats(2, 1, 5, 7),
    floats(1, 7),
    floats(4, 5, 7),
    floats(5, 7).requires_grad_(),
)
W, B = floats(24, 8), floats(24)
HEADS = (8, 2, W, B, floats(8, 8), floats(8))
FFN = (floats(16, 8), floats(16), floats(8, 16), floats(8))
NORMS = (floats(8), floats(8), floats(8), floats(8))

SAMPLES = [
    *[case("scaled_dot_product_attention", q, K, K, mask) for q in QUERIES for mask in MASKS],
    *[case("scaled_dot_product_attention", q, K, K, None, 0.5) for q in QUERIES],
    *[case("scaled_dot_product_attention", q, K, floats(2, 4, 7, 3)) for q in QUERIES],
    *[
        case("scaled_dot_product_attention", q, K[:, :2], K[:, :2], enable_gqa=True)
        for q in QUERIES
    ],
    *[case("scaled_dot_product_attention", q, K[:, :1], K[:, :1]) for q in QUERIES],
    *[
        case("scaled_dot_product_attention", q, k, K)
        for q in QUERIES
        for k in (K.mT.contiguous().mT,)
    ],
    *[case("scaled_dot_product_attention", q[0], K[0], K[0]) for q in QUERIES],
    *[case("scaled_dot_product_attention", q, q, q, is_causal=True) for q in QUERIES],
    *[case("scaled_dot_product_attention", TURNED, K[:, :, :0], K[:, :, :0])],
    *[case("_scaled_dot_product_flash_attention_for_cpu", q, K, K) for q in QUERIES],
    *[case("_scaled_dot_product_attention_math", q, K, K) for q in QUERIES],
    *[
        case("_native_multi_head_attention", x, x, x, *HEADS, None, weights, average)
        for x in (floats(3, 5, 8), floats(5, 3, 8).transpose(0, 1))
        for weights in (True, False)
        for average in (True, False)
    ],
    *[
        case("_transformer_encoder_layer_fwd", x, *HEADS, False, False, 1e-5, *NORMS, *FFN)
        for x in (floats(3, 5, 8), floats(5, 3, 8).transpose(0, 1))
    ],
    *[
        case("scaled_dot_product_attention", q.bfloat16(), K.bfloat16(), K.bfloat16())
        for q in QUERIES
    ],
    *[
        case("scaled_dot_product_attention", q.to(torch.float64), K.double(), K.double())
        for q in QUERIES
    ],
]
