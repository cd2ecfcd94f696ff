"""Lowered operators in half precision round where the kernel does."""

import pytest
import torch

import monograph

POINTS = (0.0, 0.001, 0.1, 0.49, 0.5, 0.75, 0.999, 1.0)


class Logit(torch.nn.Module):
    def __init__(self, eps):
        super().__init__()
        self.eps = eps

    def forward(self, x):
        return torch.logit(x, self.eps)


@pytest.mark.parametrize("eps", [None, 1e-3, 0.25])
@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16], ids=str)
def test_logits(dtype, eps):
    """`1 - eps` is 1 for some of them, whose logit is infinite then."""
    x = torch.tensor(POINTS, dtype=dtype)
    program = monograph.export(Logit(eps), (x,)).run_decompositions()
    torch.testing.assert_close(program.module()(x), torch.logit(x, eps), rtol=0, atol=0)
