"""Rounding to quantised values, in every layout."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case, floats

NAME = "fake_quantize_per_tensor_affine"
SCALES, ZEROS = floats(3), torch.zeros(3, dtype=torch.int32)
ON = torch.ones(1, dtype=torch.int64)

SAMPLES = [
    *[case(NAME, x, 0.1, 0, 0, 255) for x in (*LAYOUTS, floats(4, 6)[:, ::2])],
    *[case(f"{NAME}_cachemask", x, 0.1, 0, 0, 255) for x in LAYOUTS],
    *[case(f"{NAME}.tensor_qparams", x, SCALES[:1], ZEROS[:1], 0, 255) for x in LAYOUTS],
    *[
        case(name, x, SCALES, zeros, x.shape.index(3), 0, 255)
        for name, zeros in (
            ("fake_quantize_per_channel_affine", ZEROS),
            ("fake_quantize_per_channel_affine_cachemask", ZEROS),
            ("_fake_quantize_learnable_per_channel_affine", ZEROS.float()),
        )
        for x in LAYOUTS
        if 3 in x.shape
    ],
    *[
        case("_fake_quantize_learnable_per_tensor_affine", x, SCALES[:1], ZEROS[:1].float(), 0, 255)
        for x in LAYOUTS
    ],
    *[
        case(f"_{NAME}_cachemask_tensor_qparams", x, SCALES[:1], ZEROS[:1], ON, 0, 255)
        for x in LAYOUTS
    ],
]
