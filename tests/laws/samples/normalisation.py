"""Calls of norms that PyTorch's own samples do not reach."""

import torch

from tests.laws.samples.pointwise import CHANNELS_LAST, case, floats

X = floats(2, 3, 4, 5)
SEQUENCE = floats(2, 4, 3).mT
VOLUME = floats(2, 3, 4, 4, 4).to(memory_format=torch.channels_last_3d)
LAYOUTS = (X, CHANNELS_LAST, X.mT.contiguous().mT, VOLUME, SEQUENCE, floats(2, 3))
C, NONE = floats(3), (None, None)
RUNNING = (None, None, C, C)
HALF = X.to(torch.bfloat16)

SAMPLES = [
    *[
        case(name, x, *operands, training, 0.1, 1e-5)
        for name in ("native_batch_norm", "_native_batch_norm_legit_functional")
        for x in LAYOUTS
        for operands in (RUNNING, (C, C, C, C))
        for training in (True, False)
    ],
    *[case("_native_batch_norm_legit", x, *RUNNING, True, 0.1, 1e-5) for x in LAYOUTS],
    *[case("_native_batch_norm_legit.no_stats", x, C, C, True, 0.1, 1e-5) for x in LAYOUTS],
    *[case("_native_batch_norm_legit_no_training", x, *RUNNING, 0.1, 1e-5) for x in LAYOUTS],
    *[case("_batch_norm_no_update", x, *RUNNING, 0.1, 1e-5) for x in LAYOUTS],
    *[case("_batch_norm_with_update", x, *RUNNING, 0.1, 1e-5) for x in LAYOUTS],
    *[case("batch_norm", x, *RUNNING, False, 0.1, 1e-5, True) for x in LAYOUTS],
    *[case("_batch_norm_impl_index", x, *RUNNING, False, 0.1, 1e-5, True) for x in LAYOUTS],
    *[case("native_batch_norm", HALF, *p, True, 0.1, 1e-5) for p in (RUNNING, (C, C, C, C))],
    *[case("instance_norm", x, *NONE, *NONE, True, 0.1, 1e-5, True) for x in LAYOUTS[:5]],
    *[case("group_norm", x, 3, C, C) for x in LAYOUTS],
    *[case("native_group_norm", x, C, C, 2, 3, 20, 3, 1e-5) for x in LAYOUTS[:2]],
    *[case("native_group_norm", HALF, c, c, 2, 3, 20, 3, 1e-5) for c in (C, None, C.bfloat16())],
    *[case("layer_norm", x, [x.shape[-1]]) for x in LAYOUTS],
    *[case("native_layer_norm", x, list(x.shape[-2:]), None, None, 1e-5) for x in LAYOUTS],
    *[case("native_layer_norm", HALF, [5], w, w, 1e-5) for w in (floats(5), None)],
    *[case("rms_norm", x, [x.shape[-1]], floats(x.shape[-1])) for x in LAYOUTS],
    *[case("rms_norm", HALF, [5], w) for w in (floats(5), None, floats(5).bfloat16())],
    *[case("_fused_rms_norm", x, [x.shape[-1]], None, None) for x in LAYOUTS],
    *[case("_fused_rms_norm", HALF, [5], floats(5).bfloat16(), None)],
    *[case("rms_norm", X, [5], floats(5).double()), case("rms_norm", X.double(), [5], floats(5))],
]
