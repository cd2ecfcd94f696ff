"""Regions stay with the module call that entered them, nested as the calls are."""

import torch
from torch import nn

from monograph import export


class Frozen(nn.Module):
    """Enters a region for all of its forward, and leaves it for a part."""

    @torch.no_grad()
    def forward(self, x):
        y = x * 2
        with torch.enable_grad():
            z = x * 3
        return y * z


class Model(nn.Module):
    """Calls it from inside of a region and from outside."""

    def __init__(self):
        super().__init__()
        self.frozen = Frozen()

    def forward(self, x):
        with torch.no_grad():
            y = self.frozen(x + 1)
        return self.frozen(y)


def regions(module, depth=0):
    """Give (depth, modules around it) of each region, outermost first."""
    for node in module.graph.nodes:
        if node.op == "call_function" and "wrap_with" in node.name:
            yield depth, list(node.meta["nn_module_stack"])
            body = next(arg for arg in node.args if getattr(arg, "op", "") == "get_attr")
            yield from regions(getattr(module, body.target), depth + 1)


def test_a_region_belongs_to_the_call_that_entered_it():
    """The caller's region holds the whole call; the callee's own regions are the callee's.

    That gradients are on is a region too, although they are on around the export: they may be off
    around a call.
    """
    program = export(Model(), (torch.ones(3, requires_grad=True),))
    assert list(regions(program.graph_module)) == [
        (0, ["L__self__"]),
        (1, ["L__self__", "L__self__frozen"]),
        (0, ["L__self__", "L__self__frozen@1"]),
        (0, ["L__self__", "L__self__frozen@1"]),
        (0, ["L__self__", "L__self__frozen@1"]),
    ]
    x = torch.randn(3, requires_grad=True)
    assert torch.equal(program.module()(x), Model()(x))


def test_arithmetic_of_sizes_does_not_end_a_region():
    """A size that depends on data and is computed in the middle stays in the middle."""

    class Sized(nn.Module):
        def forward(self, x):
            with torch.no_grad():
                y = x.nonzero()
                z = torch.zeros(y.shape[0] * 2)
                return z + 1

    program = export(Sized(), (torch.ones(3),))
    assert len([node for node in program.graph.nodes if "wrap_with" in node.name]) == 1
    assert program.module()(torch.tensor([1.0, 0.0, 1.0])).shape == (4,)


class Counting(nn.Module):
    """Branches on a number out of data within a region, which nothing else stands in."""

    def forward(self, x):
        positive = x.masked_select(x > 0)
        with torch.enable_grad():
            if len(positive) == 2:
                x = x.tanh()
        return x


def test_a_number_that_a_region_takes_stands_before_it():
    """Also where the subgraphs of a branch are read before the number is computed."""
    program = export(Counting(), (torch.tensor([1.0, 2.0, -1.0]),))
    for run in (program.module(), program.run_decompositions().module()):
        for x in (torch.tensor([1.0, 2.0, -1.0]), torch.tensor([1.0, -2.0, -1.0])):
            torch.testing.assert_close(run(x), Counting()(x))
