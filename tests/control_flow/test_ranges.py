"""`range` of sizes: what has as many numbers for all sizes fixes none of them."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim
from monograph.diagnostics import MonographError


def whole(x):
    """One window, as long as the input, as EnCodec has it."""
    n = x.shape[0]
    return torch.stack([x[at : at + n].sum() for at in range(0, n, n)])


def beside(x):
    """Three numbers that begin at a size."""
    n = x.shape[0]
    return [x.new_full((), k) for k in range(n, n + 3)], list(range(n + 4, n, -2))[-1]


def halves(x):
    """Two windows, and one more where there is an odd row."""
    n = x.shape[0]
    return torch.cat([x[at : at + 2 * n] for at in range(0, 2 * n, n)]), range(n, 4 * n, n)[2]


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", [whole, beside, halves])
def test_a_known_number_of_rounds_is_unrolled(function, strict):
    """They are sizes, and what is made of them."""
    module = type("M", (nn.Module,), {"forward": staticmethod(function)})()
    shapes = ({0: Dim("n", min=1)},)
    run = monograph.export(module, (torch.randn(6),), dynamic_shapes=shapes, strict=strict).module()
    for n in (1, 2, 5, 6, 11):
        x = torch.randn(n)
        ours, theirs = run(x), function(x)
        for one, other in zip(*map(torch.utils._pytree.tree_leaves, (ours, theirs)), strict=True):
            assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))


def test_a_step_of_zero_stays_an_error():
    """`range(0, 0, 0)` raises: the program does not take a size of zero."""
    module = type("M", (nn.Module,), {"forward": staticmethod(whole)})()
    run = monograph.export(module, (torch.randn(6),), dynamic_shapes=({0: Dim.AUTO},)).module()
    with pytest.raises(MonographError):
        run(torch.randn(0))


def test_a_step_that_may_be_negative_is_fixed():
    """As many rounds as the example has."""

    def forward(x, y):
        return x + sum(range(0, x.shape[0], x.shape[0] - y.shape[0]))

    module = type("M", (nn.Module,), {"forward": staticmethod(forward)})()
    shapes = ({0: Dim.AUTO}, {0: Dim.AUTO})
    run = monograph.export(module, (torch.randn(6), torch.randn(4)), dynamic_shapes=shapes).module()
    assert torch.equal(run(torch.ones(6), torch.ones(4)), torch.ones(6) + 6)
    with pytest.raises(MonographError):
        run(torch.randn(4), torch.randn(6))
