"""Calls that may raise stay in the graph where nobody uses their results."""

import pytest
import torch

import monograph
from monograph.abstract.kernel_errors import may_raise


class Unused(torch.nn.Module):
    """Three calls whose results nobody uses."""

    def forward(self, x):
        """Two may raise: one of no elements, one of positions."""
        _ = x.argmax(), x[[0]], x.sin()
        return x * 2


@pytest.mark.parametrize(("size", "left"), [(3, ["index"]), (None, ["argmax", "index"])])
def test_what_may_raise_stays(size, left):
    """Of a reduction with known sizes it is known that it does not."""
    sizes = None if size else ({0: monograph.Dim("n", min=0)},)
    program = monograph.export(Unused(), (torch.randn(3, 4),), dynamic_shapes=sizes)
    found = [node for node in program.graph.nodes if may_raise(node)]
    assert [str(node.target).split(".")[1] for node in found] == left
    with pytest.raises((IndexError, monograph.MonographError)):
        program.module()(torch.randn(0, 4))
