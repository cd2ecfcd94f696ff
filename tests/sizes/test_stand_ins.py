"""Examples of size 0 and 1: captured in general, literally only where the example insists."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim


class EvenRows(nn.Module):
    """Asserts what holds for 0 rows, and not for just any number."""

    def forward(self, x):
        assert x.shape[0] % 2 == 0
        return x + 1


class Smallest(nn.Module):
    """Asks one question after another about sizes of 1."""

    def forward(self, x):
        return x * max(x.shape[1], x.shape[0]) + int(x.shape[1] * 0.5)


class Flat(nn.Module):
    """Depends on the strides of a tensor without elements."""

    def forward(self, x):
        return x.reshape(-1) * x.stride(0)


@pytest.mark.parametrize(
    ("model", "shape"),
    [(EvenRows(), (0, 0)), (Smallest(), (1, 1)), (Flat(), (0, 0)), (Flat(), (3, 0))],
)
def test_a_program_accepts_its_own_example(model, shape):
    """Whatever an example of size 0 or 1 teaches, the program answers it as the model does."""
    x = torch.randn(shape)
    program = monograph.export(model, (x,), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}})
    torch.testing.assert_close(program.module()(x), model(x))
