"""Pools over operands in every memory format, and windows that end outside."""

import torch

from tests.laws.samples.convolution import formats, sequences
from tests.laws.samples.pointwise import case, floats

IMAGES = (*formats(2, 3, 7, 8), floats(3, 7, 8), floats(1, 1, 7, 8))
VOLUMES = (*formats(2, 3, 5, 6, 7), floats(3, 5, 6, 7))
SEQUENCES = (*sequences(2, 3, 9), floats(3, 9), floats(9, 3).t())
WINDOWS = (
    *((3, 2, 1, 1, True), (3, 2, 0, 1, True), (2, 3, 1, 1, True), (2, 3, 1, 1, False)),
    *((2, 1, 0, 2, False), (2, 1, 0, 2, True), (3, [], 1, 1, True)),
)


def window(n, kernel, stride, padding, dilation, ceil_mode):
    """The arguments over n dimensions."""
    whole = [[v] * n if v != [] else [] for v in (kernel, stride, padding, dilation)]
    return (*whole, ceil_mode)


SAMPLES = [
    *[
        case(name, x, *window(n, *values))
        for n, operands in ((1, SEQUENCES), (2, IMAGES), (3, VOLUMES))
        for name in (f"max_pool{n}d", f"max_pool{n}d_with_indices")
        for x in operands
        for values in WINDOWS
    ],
    *[
        case(f"avg_pool{n}d", x, *window(n, kernel, stride, padding, 1, ceil_mode)[:3], ceil_mode)
        for n, operands in ((1, SEQUENCES), (2, IMAGES), (3, VOLUMES))
        for x in operands
        for kernel, stride, padding, dilation, ceil_mode in WINDOWS
        if dilation == 1
    ],
    *[
        case(name, x, [size] * n)
        for n, operands in ((1, SEQUENCES), (2, IMAGES), (3, VOLUMES))
        for name in (f"adaptive_avg_pool{n}d", f"adaptive_max_pool{n}d", f"_adaptive_avg_pool{n}d")
        if hasattr(torch.ops.aten, name)
        for x in operands
        for size in (1, 2, 5)
    ],
    *[case("max_pool1d", x.clone().requires_grad_(), [2]) for x in SEQUENCES],
    *[case("fractional_max_pool2d", x, [2, 2], [3, 3], floats(2, 3, 2) / 2) for x in IMAGES[:3]],
    *[case("max_unpool2d", x, x.long() * 0, [4, 9]) for x in IMAGES],
    *[case("fractional_max_pool3d", x, [2] * 3, [3] * 3, floats(2, 3, 3) / 2) for x in VOLUMES[:3]],
]
