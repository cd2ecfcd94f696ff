"""Code that pads a size to a multiple and takes the padding away: any size agrees."""

import pytest
import torch
from torch import nn
from torch.nn import functional

from monograph import Dim, export


def padded_if_need_be(x):
    """Each size that is no multiple becomes one."""
    height, width = x.shape
    if width % 4 != 0:
        x = functional.pad(x, (0, 4 - width % 4))
    if height % 4 != 0:
        x = functional.pad(x, (0, 0, 0, 4 - height % 4))
    return x.view(x.shape[0] // 4, 4, x.shape[1] // 4, 4).sum((1, 3))


def with_rows_of_zeros(x):
    """The same with `cat`, and back."""
    n = x.shape[0]
    if n % 4:
        x = torch.cat([x, x.new_zeros(4 - n % 4, x.shape[1])])
    y = x.view(-1, 4, x.shape[1]).cumsum(1).reshape(-1, x.shape[1])
    if n % 4:
        y = y[:n]
    return y * 2


def cut(x):
    """To the multiple below."""
    rest = x.shape[0] % 4
    if rest != 0:
        x = x[: x.shape[0] - rest]
    return x.view(-1, 4, x.shape[1]).sum(1)


def padded_otherwise_laid_out(x):
    """Padding by nothing keeps the strides of what is transposed, any other does not."""
    n = x.shape[0]
    rest = (4 - n % 4) % 4
    y = functional.pad(x.t(), (0, rest)).t().reshape(-1, 4, x.shape[1]).cumsum(1)
    y = y.reshape(-1, x.shape[1])
    if rest > 0:
        y = y[:n, :]
    return y + 1


PROGRAMS = [padded_if_need_be, with_rows_of_zeros, cut, padded_otherwise_laid_out]


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("example", [(5, 7), (8, 8)])
@pytest.mark.parametrize("forward", PROGRAMS)
def test_any_size_agrees(forward, example, strict):
    """Whatever side of the question the example is on."""
    module = type("Model", (nn.Module,), {"forward": staticmethod(forward)})()
    shapes = {"x": {0: Dim.AUTO, 1: Dim.AUTO}}
    program = export(module, (torch.randn(*example),), dynamic_shapes=shapes, strict=strict)
    lowered = program.run_decompositions().module()
    for height in (3, 4, 5, 8, 13):
        for width in (2, 4, 6, 9):
            x = torch.randn(height, width)
            for made in (program.module()(x), lowered(x)):
                torch.testing.assert_close(made, forward(x))
