"""Norms and distances that PyTorch's own samples do not reach."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case, floats

X = floats(2, 3, 4)

SAMPLES = [
    *[case("norm.Scalar", X), case("norm.ScalarOpt_dtype", X, 1, dtype=torch.float64)],
    *[case("norm.ScalarOpt_dim_dtype", X, 2, [0], True, dtype=torch.float64)],
    *[case("norm.ScalarOpt_dim", x, p, [1, 2]) for x in LAYOUTS for p in (None, 2, 0.5)],
    *[case("linalg_vector_norm", x, 2, [1], True) for x in LAYOUTS],
    *[
        case("linalg_matrix_norm", x, p, [1, 0], True)
        for x in LAYOUTS
        for p in (1, 2, float("inf"))
    ],
    *[case("linalg_matrix_norm.str_ord", x, p) for x in LAYOUTS for p in ("fro", "nuc")],
    *[
        case("linalg_norm", x, p, d, keep)
        for x in LAYOUTS
        for p, d in ((None, None), (None, [0]), (2, [1]), (2, [0, 1]), (1, [0, 1]))
        for keep in (False, True)
    ],
    *[case("linalg_norm.ord_str", x, p, [1, 0]) for x in LAYOUTS for p in ("fro", "nuc")],
    *[case("linalg_norm", X[0], 1), case("linalg_norm", X, dtype=torch.float64)],
    *[
        case(name, x, x)
        for name in ("cdist", "cosine_similarity", "pairwise_distance")
        for x in LAYOUTS
    ],
    *[case("cdist", floats(2, 3), floats(5, 4, 3)), case("_cdist_forward", X, X, 2.0, None)],
    *[case("cosine_similarity", X, floats(3, 1), -1), case("pairwise_distance", X, floats(4))],
    *[case("pdist", floats(5, 3)), case("pdist", floats(1, 3)), case("_pdist_forward", X[0], 1.0)],
    *[case("linalg_cross", x, floats(1, 3, 1, 1), dim=1) for x in LAYOUTS],
    *[
        case("cross", X, X),
        case("cross", floats(3, 2, 3), floats(3, 2, 3)),
        case("dist", X, floats(4)),
    ],
]
