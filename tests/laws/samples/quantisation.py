"""Rounding to quantised values, in every layout."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case, floats

NAME = "fake_quantize_per_tensor_affine"
SCALES, ZEROS = floats(3), torch.zeros(3, dtype=torch.int32)

SAMPLES = [
    *[case(NAME, x, 0.1, 0, 0, 255) for x in (*LAYOUTS, floats(4, 6)[:, ::2])],
    *[case(f"{NAME}_cachemask", x, 0.1, 0, 0, 255) for x in LAYOUTS],
    *[case(f"{NAME}.tensor_qparams", x, SCALES[:1], ZEROS[:1], 0, 255) for x in LAYOUTS],
    *[
        case("fake_quantize_per_channel_affine", x, SCALES, ZEROS, x.shape.index(3), 0, 255)
        for x in LAYOUTS
        if 3 in x.shape
    ],
]
