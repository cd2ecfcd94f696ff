"""Examples of size 0 and 1: captured in general, literally only where the example insists."""

import itertools

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


class Strided(nn.Module):
    """Gives a stride of a tensor without elements, after its size is known."""

    def forward(self, x):
        assert x.shape[1] == 0
        return x.stride(0), x.shape[0]


class Expanded(nn.Module):
    """Asks whether a tensor is contiguous that is so at sizes of 0 and 1 alone."""

    def forward(self, x):
        wide = x.expand(x.shape[0], *x.shape)
        return (x * 2, wide) if wide.is_contiguous() else (x + 2, wide)


class Turned(nn.Module):
    """Gives the strides of a transposed tensor."""

    def forward(self, x):
        return x.t().stride(1) + x


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 3), (1, 1), (2, 3), (3, 1)])
@pytest.mark.parametrize("model", [Strided(), Expanded(), Turned(), Flat()])
def test_what_is_asked_of_layouts_holds_at_every_size(model, shape):
    """Sizes of 0 and 1 have answers of their own: they are given, or refused."""
    try:
        program = monograph.export(
            model, (torch.randn(shape),), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}}
        )
    except (AssertionError, monograph.ConstraintViolation):
        return
    for other in [shape, *itertools.product(range(4), repeat=2)]:
        x = torch.randn(other)
        try:
            actual = program.module()(x)
        except monograph.ContractError:
            assert other != shape
            continue
        torch.testing.assert_close(actual, model(x), msg=lambda text, at=other: f"{at}: {text}")


@pytest.mark.parametrize(
    ("model", "shape"),
    [(EvenRows(), (0, 0)), (Smallest(), (1, 1)), (Flat(), (0, 0)), (Flat(), (3, 0))],
)
def test_a_program_accepts_its_own_example(model, shape):
    """Whatever an example of size 0 or 1 teaches, the program answers it as the model does."""
    x = torch.randn(shape)
    program = monograph.export(model, (x,), dynamic_shapes={"x": {0: Dim.AUTO, 1: Dim.AUTO}})
    torch.testing.assert_close(program.module()(x), model(x))
