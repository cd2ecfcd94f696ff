"""What writes nothing is no write, and operators that read what is written to stay whole."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import monograph

aten = torch.ops.aten


class Module(nn.Module):
    """A function of tensors as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def lowered(function, x, table=None):
    """Lower a function of one tensor."""
    return monograph.export(Module(function), (x,), strict=False).run_decompositions(table)


def targets(program):
    """What the graph calls."""
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


DROPOUTS = (F.dropout, F.alpha_dropout, F.dropout1d, F.feature_alpha_dropout)


@pytest.mark.parametrize("table", [{}, None])
@pytest.mark.parametrize("dropout", DROPOUTS)
def test_a_dropout_in_place_that_drops_nothing_is_nothing(dropout, table):
    """Through a view as well, where a write would be a copy of the whole."""

    def once(x):
        y = x.transpose(1, 2) * 1
        return dropout(y.transpose(1, 2), 0.5, training=False, inplace=True) + y.transpose(1, 2)

    x = torch.randn(2, 3, 4)
    program = lowered(once, x, table)
    assert aten.clone.default not in targets(program)
    assert torch.equal(program.module()(x), once(x))


def test_a_dropout_in_place_that_drops_is_a_write():
    """Every element, with probability 1."""

    def dropped(x):
        y = x * 1
        F.dropout(y[0], 1.0, training=True, inplace=True)
        return y

    x = torch.randn(2, 3)
    assert torch.equal(lowered(dropped, x).module()(x), dropped(x))


def test_a_core_operator_stays_whole_after_a_write():
    """Composite operators are not taken apart for reading a tensor that was written to."""

    def resized(x):
        return F.interpolate(F.relu(x * 2, inplace=True), scale_factor=2.0, mode="nearest")

    x = torch.randn(1, 2, 3, 4)
    program = lowered(resized, x)
    assert aten.upsample_nearest2d.vec in targets(program)
    assert torch.equal(program.module()(x), resized(x))


def test_what_stays_whole_without_a_table_does_after_a_write():
    """Functional forms alone: `linear` is `linear`, whatever it reads."""
    weight = torch.randn(4, 4)

    def layer(x):
        y = x * 1
        y.relu_()
        return F.linear(y, weight)

    x = torch.randn(3, 4)
    program = lowered(layer, x, {})
    assert aten.linear.default in targets(program)
    assert torch.equal(program.module()(x), layer(x))


def test_a_view_of_what_is_written_to_is_still_one():
    """Operators that may return a view are followed into what they are made of."""

    def through(x):
        y = x * 1
        flat = y.reshape(-1)
        flat[2:].zero_()
        return y

    x = torch.randn(3, 4)
    for table in ({}, None):
        assert torch.equal(lowered(through, x, table).module()(x), through(x))


def test_a_parameter_is_multiplied_as_in_eager():
    """A stack times a parameter is one product, whatever the strides, as where gradients flow."""

    class Products(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 5))
            self.register_buffer("table", torch.randn(4, 5))

        def forward(self, x):
            turned = x.transpose(0, 1)
            return turned @ self.weight, self.weight.t() @ x.transpose(1, 2), turned @ self.table

    module, x = Products(), torch.randn(2, 3, 4)
    program = monograph.export(module, (x,), strict=False).run_decompositions()
    assert targets(program).count(aten.mm.default) == 2
    assert targets(program).count(aten.bmm.default) == 1
    for one, other in zip(program.module()(x), module(x), strict=True):
        torch.testing.assert_close(one, other)
        assert one.stride() == other.stride()


def test_a_constant_is_copied_by_a_core_operator():
    """`torch.tensor` inside `forward` is a clone of a constant; nothing is left to except."""
    program = lowered(lambda x: x + torch.tensor([1.0, 2.0]), torch.randn(3, 2))
    assert aten.clone.default in targets(program)
    assert not program.exceptions
