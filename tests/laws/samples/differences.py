"""Numerical gradients in every layout, and with every kind of spacing."""

import torch

from tests.laws.samples.linear import LAYOUTS
from tests.laws.samples.pointwise import case

X = torch.rand(4, 6)
WHERE = [torch.arange(4.0), torch.arange(6, dtype=torch.float64)]

SAMPLES = [
    *[case("gradient.scalarint", x, dim=1) for x in LAYOUTS],
    *[case("gradient.scalarint", x, spacing=2) for x in (X, X.long(), X.half(), X.mT)],
    *[case("gradient.array", x, dim=[1, 0], edge_order=2) for x in (X, X.mT)],
    *[case("gradient.scalararray", X, spacing=2, dim=[0, -1])],
    *[case("gradient.scalarrayint", X, spacing=[2, 0.5])],
    *[case("gradient.scalarrayint", X, spacing=[0.5], dim=1)],
    *[case("gradient.scalarrayarray", X, spacing=[2, 3], dim=[1, 0])],
    *[case("gradient.tensorarrayint", x, spacing=WHERE) for x in (X, X.long())],
    *[case("gradient.tensorarrayint", X, spacing=WHERE[1:], dim=1)],
    *[case("cumulative_trapezoid.dx", x, dim=d) for x in LAYOUTS for d in (0, -1)],
    *[case("cumulative_trapezoid.dx", X.long()), case("cumulative_trapezoid.dx", X, dx=0.5)],
    *[case("cumulative_trapezoid.x", X, x, dim=1) for x in (WHERE[1], X, X[:1], X.long())],
    *[case("gradient.tensorarray", X, spacing=WHERE, dim=[0, 1])],
]
