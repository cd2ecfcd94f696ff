"""`torch.equal` and `torch.allclose` where their answer decides a branch."""

import pytest
import torch
from torch import nn

from monograph import Dim, export


def decides(x, y):
    """One way or the other."""
    if torch.equal(x, y):
        return x * 2
    return x - y


def decides_later(x, y):
    """Kept in a variable, and joined with another."""
    is_near = torch.allclose(x, y, atol=1e-2)
    z = x + 1
    if is_near and not torch.equal(x, y):
        z = z * 3
    return z


def of_itself(x, y):
    """What is not a number is not equal to itself."""
    return x.sum() if torch.equal(x, x.clone()) else y.abs().nan_to_num().sum()


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("forward", [decides, decides_later, of_itself])
def test_both_ways_are_captured(forward, strict):
    """Equal, near, other and not numbers."""
    module = type("Model", (nn.Module,), {"forward": staticmethod(forward)})()
    shapes = {"x": {0: Dim.AUTO}, "y": {0: Dim.AUTO}}
    example = torch.randn(3, 4), torch.randn(3, 4)
    program = export(module, example, dynamic_shapes=shapes, strict=strict)
    for n in (1, 2, 5):
        x = torch.randn(n, 4)
        holed = x.masked_fill(x == x[0, 0], torch.nan)
        for given in ((x, x.clone()), (x, x + 1e-3), (x, -x), (holed, holed.clone()), (x, x)):
            expected = forward(*given)
            torch.testing.assert_close(program.module()(*given), expected, equal_nan=True)
