"""Pairs of inputs matter where one is written to and the other is read after that."""

import pytest
import torch
from torch import nn

import monograph
from monograph.passes.functionalization.read_after_write import read_after_write


def pairs(function, *inputs):
    """The pairs of a function's graph, without each one's own."""
    module = type("M", (nn.Module,), {"forward": staticmethod(function)})()
    program = monograph.export(module, inputs, strict=False)
    found = read_after_write(program.graph_module)
    return {pair for pair in found if pair[0] != pair[1]}


def read_after(x, y):
    """Read y after x is written to."""
    x.add_(1)
    return y * 2


def read_before(x, y):
    """Read y before x is written to."""
    z = y * 2
    x.add_(1)
    return z


def read_through_views(x, y):
    """Write and read through views that were made before."""
    a, b = x.t()[0], y.view(-1)
    a.zero_()
    return b + 1


def read_through_composites(x, y):
    """Read what may be a view, or a copy."""
    b = y.reshape(-1)
    x.zero_()
    return b + 1


def read_by_the_write(x, y):
    """The write itself reads y."""
    x.copy_(y)
    return x + 1


def seen_only(x, y):
    """Make views of y, and return them."""
    x.zero_()
    return y.t(), y[0].unsqueeze(0), y.split(1)[0]


def copied_before(x, y):
    """Read a copy that was made before."""
    z = y.clone()
    x.zero_()
    return z + 1


def in_a_region(x, y):
    """Write inside of a region."""
    with torch.no_grad():
        x.add_(1)
    return y * 2


def read_in_a_region(x, y):
    """Read inside of a region."""
    x.add_(1)
    with torch.no_grad():
        return y * 2


def through_a_list(x, y):
    """Write to one result among several."""
    x.split(1)[0].add_(1)
    return y + 0


@pytest.mark.parametrize(
    "function",
    [
        read_after,
        read_through_views,
        read_through_composites,
        read_by_the_write,
        in_a_region,
        read_in_a_region,
        through_a_list,
    ],
)
def test_pairs_that_matter(function):
    """The write is to the first, and the second is read then."""
    assert pairs(function, torch.ones(2, 2), torch.ones(2, 2)) == {("x", "y")}


@pytest.mark.parametrize("function", [read_before, seen_only, copied_before])
def test_pairs_that_do_not(function):
    """Whatever was read before the write is what it was; a view reads nothing."""
    assert pairs(function, torch.ones(2, 2), torch.ones(2, 2)) == set()
