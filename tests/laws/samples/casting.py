"""Calls of conversions and copies that PyTorch's own samples do not reach."""

import torch

from tests.laws.samples.pointwise import LAYOUTS, case, floats, integers

X = floats(2, 3)
IMAGE = floats(2, 3, 4, 5)
BOTH = floats(2, 1, 4, 5)  # contiguous and channels-last

SAMPLES = [
    *[case("to.other", x, other) for x in LAYOUTS for other in (X, integers(1))],
    *[case("to.dtype", x, dtype) for x in LAYOUTS for dtype in (torch.float32, torch.float64)],
    *[case("to.dtype", x, torch.float32, False, True) for x in LAYOUTS],
    *[
        case("to.dtype_layout", IMAGE, dtype=torch.int64, memory_format=torch.channels_last),
        case("to.dtype_layout", IMAGE, memory_format=torch.channels_last),
        case("to.dtype_layout", X.t(), memory_format=torch.contiguous_format),
        case("to.dtype_layout", BOTH, memory_format=torch.channels_last),
        case("to.device", X, torch.device("cpu"), torch.float32),
        case("to.device", X, torch.device("cpu"), torch.float16),
    ],
    *[case("type_as", x, integers(2)) for x in LAYOUTS],
    *[case("_to_copy", x, dtype=torch.float64) for x in LAYOUTS],
    *[case("contiguous", x) for x in LAYOUTS],
    *[case("contiguous", x, memory_format=torch.channels_last) for x in (IMAGE, LAYOUTS[1], BOTH)],
    *[case("clone", x) for x in LAYOUTS],
    *[case("clone", x, memory_format=torch.contiguous_format) for x in LAYOUTS],
    *[case(name, x) for name in ("alias", "data", "detach", "lift", "lift_fresh") for x in LAYOUTS],
    *[case(name, x) for name in ("lift_fresh_copy", "alias_copy", "detach_copy") for x in LAYOUTS],
    *[case("copy", x, floats(1)) for x in (*LAYOUTS, floats(4, 6)[1:, ::2])],
    *[case("copy_", floats(2, 3), floats(3)), case("copy_", floats(2, 3), integers(2, 1))],
    *[case("copy_", floats(2, 3).t(), floats(3, 1))],
    case("_assert_tensor_metadata", X, [2, 3], [3, 1], torch.float32),
    case("_assert_tensor_metadata", X, dtype=torch.float32, device=torch.device("cpu")),
]
