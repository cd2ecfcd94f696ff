"""Covariances, histograms and hashes that PyTorch's own samples do not reach."""

import torch

from tests.laws.samples.linear import LAYOUTS, turned
from tests.laws.samples.pointwise import case, floats, integers

X = torch.rand(4, 6)
EDGES = torch.arange(5.0)

SAMPLES = [
    *[
        case(name, x)
        for name in ("cov", "corrcoef")
        for x in (X, turned(X), X[:1], X[0], X[0, 0], X.long(), X.half(), X.to(torch.complex64))
    ],
    *[case("cov", X, fweights=integers(6)), case("cov", X, correction=0, aweights=floats(6))],
    *[
        case("cov", X.to(dtype), aweights=floats(6).to(weight), **fweights)
        for dtype in (torch.bfloat16, torch.float32, torch.int64)
        for weight in (torch.half, torch.bfloat16, torch.double)
        for fweights in ({}, {"fweights": integers(6)})
    ],
    *[case("histogram.bin_ct", x, 3) for x in LAYOUTS],
    *[case("histogram.bin_ct", X, 3, range=[0.0, 1.0], weight=X, density=True)],
    *[case("histogram.bins_tensor", x, EDGES) for x in LAYOUTS],
    *[
        case("histogramdd", torch.rand(4, 2), [3, 5]),
        case("histogramdd", torch.rand(3, 4, 2), [3, 5]),
    ],
    *[case("histogramdd.int_bins", torch.rand(4, 2), 3)],
    *[case("histogramdd.TensorList_bins", torch.rand(4, 2), [EDGES, EDGES[:3]])],
    *[case("hash_tensor", x, *d) for x in LAYOUTS for d in ((), ([1],), ([0, 2],))],
    *[case("hash_tensor", X, [1], keepdim=True), case("hash_tensor", X.long())],
]
