"""Slices of all there is are a view of the whole, or nothing where an index follows."""

import pytest
import torch
from torch import nn

import monograph

aten = torch.ops.aten


def lowered(function, *inputs, dynamic=False):
    """Lower a function of tensors to core ATen."""

    class Module(nn.Module):
        def forward(self, *args):
            return function(*args)

    shapes = {"args": [dict.fromkeys(range(x.dim()), monograph.Dim.AUTO) for x in inputs]}
    program = monograph.export(
        Module(), inputs, dynamic_shapes=shapes if dynamic else None, strict=False
    )
    return program.run_decompositions()


def targets(program):
    """What the graph calls."""
    return [node.target for node in program.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("dynamic", [False, True])
def test_an_index_after_a_whole_slice_stands_alone(dynamic):
    """`x[:, 1]` is a selection, `x[:, None]` an axis."""
    x = torch.randn(3, 4)
    program = lowered(lambda x: (x[:, 1] + 1, x[:, None] * 2), x, dynamic=dynamic)
    assert aten.slice.Tensor not in targets(program)
    assert aten.alias.default not in targets(program)
    other = torch.randn(5, 4) if dynamic else x
    first, second = program.module()(other)
    assert torch.equal(first, other[:, 1] + 1)
    assert torch.equal(second, other[:, None] * 2)


def test_a_returned_whole_slice_is_a_view_and_not_the_tensor():
    """Callers can tell `x[:]` from `x`, and write to `x` through it."""
    program = lowered(lambda x: (x[:], x), torch.randn(3, 4))
    x = torch.randn(3, 4)
    view, whole = program.module()(x)
    assert whole is x
    assert view is not x
    assert view.data_ptr() == x.data_ptr()


def test_a_slice_that_takes_a_part_stays():
    """A step, or a bound inside, leaves something out."""
    program = lowered(lambda x: x[1:] + x[:2] + x[::2], torch.randn(3, 4))
    with pytest.raises(RuntimeError):
        program.module()(torch.randn(3, 5))
    part = lowered(lambda x: x[:, ::2] + x[:, 2:], torch.randn(3, 4))
    assert targets(part).count(aten.slice.Tensor) == 2


def test_a_write_through_a_whole_slice_and_an_index():
    """The write is one scatter of the index alone."""

    def written(x):
        y = x * 2
        y[:, 1] = 0
        y[:].add_(1)
        return y

    x = torch.randn(3, 4)
    assert torch.equal(lowered(written, x).module()(x), written(x))


def test_a_table_may_take_slices():
    """A formula that a user gives for slices is run, whatever they take."""

    class Module(nn.Module):
        def forward(self, x):
            return torch.ops.aten.slice.Tensor(x, 0) * 1

    table = monograph.default_decompositions()
    table[aten.slice.Tensor] = lambda x, dim=0, start=None, end=None, step=1: x.clone()
    program = monograph.export(Module(), (torch.randn(3, 4),)).run_decompositions(table)
    assert aten.clone.default in targets(program)
