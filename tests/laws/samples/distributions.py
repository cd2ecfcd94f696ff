"""Draws from distributions, in every layout and of several dtypes."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case, floats

X = torch.rand(4, 3)

SAMPLES = [
    *[case("binomial", x.abs().round(), torch.full_like(x, 0.5)) for x in LAYOUTS],
    *[case("binomial", floats(4, 1).abs().round(), torch.rand(3))],
    *[case("_standard_gamma_grad", x.abs() + 1, x.abs() + 1) for x in LAYOUTS],
    *[
        case("_sample_dirichlet", (x.abs() + 1).to(d))
        for x in LAYOUTS
        for d in (X.dtype, torch.double)
    ],
    *[case("_dirichlet_grad", x, x, x) for x in (t.abs() + 1 for t in LAYOUTS)],
]
