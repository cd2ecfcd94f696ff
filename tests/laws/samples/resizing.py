"""Upsampling in every memory format, with sizes and with factors."""

import torch

from tests.laws.samples.convolution import formats, sequences
from tests.laws.samples.pointwise import case, floats

OF_RANK = {1: sequences(2, 3, 5), 2: formats(2, 3, 4, 5), 3: formats(2, 3, 4, 5, 3)}
NEAREST = {n: (f"upsample_nearest{n}d", f"_upsample_nearest_exact{n}d") for n in (1, 2, 3)}
LINEAR = {
    1: ("upsample_linear1d",),
    2: (
        *("upsample_bilinear2d", "upsample_bicubic2d", "_upsample_bilinear2d_aa"),
        *("_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"),
    ),
    3: ("upsample_trilinear3d",),
}
FACTORS = (2.0, 0.5, 1.3, 1 / 3, 0.7)

SAMPLES = [
    *[case(name, x, [7] * n) for n, names in NEAREST.items() for name in names for x in OF_RANK[n]],
    *[
        case(name, x, [7] * n, False)
        for n, names in LINEAR.items()
        for name in names
        for x in OF_RANK[n]
    ],
    *[
        case(f"{name}.vec", x, *sizes)
        for n, names in NEAREST.items()
        for name in names
        for x in OF_RANK[n]
        for sizes in (([6] * n, None), *[(None, [factor] * n) for factor in FACTORS])
    ],
    *[
        case(f"{name}.vec", x, sizes, False, factors)
        for n, names in LINEAR.items()
        for name in names
        for x in OF_RANK[n]
        for sizes, factors in (([6] * n, None), *[(None, [factor] * n) for factor in FACTORS])
    ],
    *[case("grid_sampler", x, floats(2, 6, 7, 2), 0, 0, False) for x in OF_RANK[2]],
    *[case("grid_sampler_2d", x, floats(2, 6, 7, 2), 2, 0, False) for x in OF_RANK[2]],
    *[case("grid_sampler_3d", x, floats(2, 6, 7, 8, 3), 0, 0, False) for x in OF_RANK[3]],
    *[case("affine_grid_generator", floats(2, 2, 3), [2, 3, 4, 5], False)],
    *[case("affine_grid_generator", floats(2, 3, 4), torch.Size([2, 3, 4, 5, 6]), True)],
]
