"""Convolutions of operands in every memory format."""

import torch

from tests.laws.samples.pointwise import case, floats

LAST, LAST_3D = torch.channels_last, torch.channels_last_3d


def formats(*shape):
    """A tensor contiguous, channels-last, and turned."""
    x = floats(*shape)
    last = LAST if len(shape) == 4 else LAST_3D
    return x, x.to(memory_format=last), x.mT.contiguous().mT


def sequences(*shape):
    """A tensor contiguous and with its last two dimensions swapped in memory."""
    return floats(*shape), floats(shape[0], shape[2], shape[1]).mT


SAMPLES = [
    *[
        case("conv2d", x, w, None, [1, 1], [0, 0], [1, 1], groups)
        for groups in (1, 2)
        for k in (1, 3)
        for x in formats(2, 4, 6, 7)
        for w in formats(6, 4 // groups, k, k)
    ],
    *[case("conv2d", x, w) for x in formats(1, 1, 6, 7) for w in formats(3, 1, 2, 2)],
    *[case("conv2d", x, w) for x in formats(2, 4, 1, 1) for w in formats(3, 4, 1, 1)],
    *[case("conv2d", x[0], w) for x in formats(2, 4, 6, 7) for w in formats(3, 4, 2, 2)],
    *[
        case("conv2d", x.double(), w.double())
        for x in formats(2, 4, 6, 7)
        for w in formats(3, 4, 2, 2)
    ],
    *[
        case("conv2d.padding", x, w, padding="same")
        for x in formats(2, 3, 6, 7)
        for w in formats(4, 3, 2, 3)
    ],
    *[case("conv2d.padding", x, floats(4, 3, 2, 3)) for x in formats(2, 3, 6, 7)],
    *[
        case("conv2d.padding", x, floats(4, 3, k, k), padding="same", dilation=[2, 1])
        for k in (2, 3)
        for x in formats(2, 3, 6, 7)
    ],
    *[
        case(name, x, w, None, [2, 2], [1, 1], [1, 1], 2)
        for name in ("conv_transpose2d.input",)
        for x in formats(2, 4, 6, 7)
        for w in formats(4, 3, 3, 3)
    ],
    *[case("conv1d", x, w) for x in sequences(2, 4, 9) for k in (1, 3) for w in sequences(6, 4, k)],
    *[case("conv1d", x[0], w) for x in sequences(2, 4, 9) for w in sequences(6, 4, 3)],
    *[case("conv1d.padding", x, floats(6, 4, 2), padding="same") for x in sequences(2, 4, 9)],
    *[
        case("conv_transpose1d", x, w, None, [2], [1], [1])
        for x in sequences(2, 4, 9)
        for w in sequences(4, 6, 3)
    ],
    *[
        case(name, x.to(dtype), w.to(dtype))
        for name in ("conv3d", "conv_transpose3d.input")
        for dtype in (torch.float32, torch.float64, torch.bfloat16)
        for n in (1, 2)
        for x in formats(n, 4, 5, 6, 7)
        for k in (1, 3)
        for w in formats(4, 4, k, k, k)[:2]
    ],
    *[
        case("conv3d.padding", x, floats(4, 3, 2, 2, 2), padding="same")
        for x in formats(2, 3, 4, 5, 6)
    ],
    *[
        case(
            "_convolution.deprecated",
            x,
            w,
            None,
            *[[1, 1], [0, 0], [1, 1], turned, [0, 0]],
            1,
            *[False] * 3,
        )
        for turned in (False, True)
        for x in formats(2, 4, 6, 7)
        for w in formats(4, 4, 3, 3)[:2]
    ],
    case(
        "_convolution",
        floats(2, 4, 6),
        floats(3, 4, 2),
        floats(3),
        [1],
        [0],
        [1],
        False,
        [0],
        1,
        *[True] * 4,
    ),
    *[
        case("convolution", x, w, floats(3), [2, 1], [1, 0], [1, 2], False, [0, 0], 1)
        for x in formats(2, 4, 6, 7)
        for w in formats(3, 4, 3, 3)
    ],
    case("convolution", floats(2, 4, 6), floats(3, 4, 2), None, [1], [0], [1], False, [0], 1),
    case("conv2d", floats(2, 3, 6, 7)[:0], floats(4, 3, 2, 2)),
]
