"""Fake kernels that make their result without a device, or of a multiple of a new size."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from tests.custom import fake_kernel_operators as ops

FACTORIES = {
    "empty": lambda a: torch.empty(a.shape[0], 3),
    "zeros": lambda a: torch.zeros((a.shape[0], 3)),
    "placed": lambda a: torch.empty(a.shape[0], 3, device=a.device),
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("name", FACTORIES)
def test_factories(name, strict):
    """The rows follow the argument's."""
    ops.first_three.register_fake(FACTORIES[name])

    class Model(nn.Module):
        def forward(self, a):
            return ops.first_three(a) + 1

    module, shapes = Model(), {"a": {0: Dim("n", min=0, max=50)}}
    program = monograph.export(module, (torch.randn(4, 5),), dynamic_shapes=shapes, strict=strict)
    for rows in (7, 0, 1):
        x = torch.randn(rows, 5)
        torch.testing.assert_close(program.module()(x), module(x))
        torch.testing.assert_close(program.run_decompositions().module()(x), module(x))


class Repeated(nn.Module):
    """An operator returns twice as many rows, and one, as its data says."""

    def forward(self, a, n):
        rows = ops.twice_and_one(a, n)
        return rows.sum(), rows.new_zeros(rows.shape[0])


def test_multiple_of_a_new_size():
    """The size is read off the result; what is no such multiple is refused when it runs."""
    program = monograph.export(Repeated(), (torch.randn(9, 2), torch.tensor(3)))
    for n in (3, 0, 1, 4):
        call = torch.randn(9, 2), torch.tensor(n)
        torch.testing.assert_close(program.module()(*call), Repeated()(*call))
    with pytest.raises(RuntimeError):
        program.module()(torch.randn(9, 2), torch.tensor(-1))
