"""Lowered operators in half precision round where the kernel does, also beside others."""

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


class Xlogy(torch.nn.Module):
    def forward(self, x, y):
        return torch.xlogy(x, y), torch.xlogy(y, x)


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.float64, torch.int64], ids=str)
def test_xlogy_of_two_dtypes(dtype):
    """Both are what the result is before anything is computed."""
    x, y = torch.tensor([0, 0.5, 1, 3]).to(dtype), torch.tensor(POINTS[4:], dtype=torch.half)
    program = monograph.export(Xlogy(), (x, y)).run_decompositions()
    found, expected = program.module()(x, y), Xlogy()(x, y)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)
