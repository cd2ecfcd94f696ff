"""Calls of reductions and scans that PyTorch's own samples do not reach."""

import torch

from tests.laws.samples.pointwise import CHANNELS_LAST, LAYOUTS, case, floats, integers

X = floats(2, 3, 4)
Q = torch.tensor([0.2, 0.5])

SAMPLES = [
    *[
        case(f"{name}.dim_IntList", x, dims, keepdim)
        for name in ("sum",)
        for x in LAYOUTS
        for dims, keepdim in (
            ([0], False),
            ([-1], True),
            ([0, 1], False),
            ([], True),
            (None, False),
        )
    ],
    *[case(f"{name}.dim", x, 0) for name in ("max", "median", "any") for x in LAYOUTS],
    *[case(name, x, 0) for name in ("mode", "cumsum", "cummax", "argmax") for x in LAYOUTS],
    *[case(f"{name}.int", x, 1) for name in ("softmax", "log_softmax") for x in LAYOUTS],
    *[case("var_mean.correction", x, [0]) for x in LAYOUTS],
    *[case(name, x, 1, False) for name in ("_softmax", "_log_softmax") for x in LAYOUTS],
    *[case("_safe_softmax", x, 1) for x in LAYOUTS],
    *[case(f"special_{name}", X, 1) for name in ("softmax", "log_softmax")],
    *[case("special_softmax", integers(2, 3), 1, torch.float64), case("special_logsumexp", X, [1])],
    *[case("diff", x, n) for x in LAYOUTS for n in (0, 1, 2, 9)],
    *[case("diff", X, 1, 1, floats(2, 1, 4), floats(2, 2, 4)), case("diff", X.mT, 1, 1, X.mT)],
    *[
        case(name, x, Q, dim, keepdim)
        for name in ("quantile", "nanquantile")
        for x in (X, CHANNELS_LAST)
        for dim, keepdim in ((1, False), (1, True), (None, False), (None, True))
    ],
    *[case("nanquantile", X, torch.tensor(0.5), 0), case("quantile", X, torch.tensor(0.5), 0)],
    *[case("any.dims", X, []), case("all.dims", X, [0, 2], True), case("any.dims", X)],
    *[case("count_nonzero.dim_IntList", x, [0, 1]) for x in LAYOUTS],
    *[case("any", integers(2).to(torch.uint8)), case("sum", floats(2) > 0)],
    *[case("_aminmax", x) for x in (X, X.mT)],
    *[case("_aminmax.dim", x, 1, keep) for x in (X, X.mT) for keep in (False, True)],
    *[case("_logcumsumexp", x, 1) for x in (X, X.mT)],
    *[case("aminmax", X, keepdim=True), case("argmin", X, None, True)],
]
