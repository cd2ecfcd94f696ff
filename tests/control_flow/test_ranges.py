"""`range` of sizes, and lists of them.

What has as many numbers for all sizes fixes none of them, and lists are sizes where that is enough.
"""

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


def exported(forward, n_rows=6):
    """Export a function of one tensor, whose rows may vary."""
    module = type("M", (nn.Module,), {"forward": staticmethod(forward)})()
    return monograph.export(module, (torch.randn(n_rows),), dynamic_shapes=({0: Dim.AUTO},))


def strided(x):
    """Relative positions, as Funnel has them: slices, sums and lengths of lists."""
    first = list(range(x.shape[0]))
    second = [-1] + first[1:-1][::2]
    third = [-3] + second[1:-1][::2]
    sizes = [x.new_ones(len(each)) for each in (first, second, third)]
    return [torch.arange(second[0] - first[-1], first[-1] + 1), *sizes, torch.arange(third[-1] + 1)]


def parts(x):
    """Every slice that keeps the order, of few numbers and none."""
    numbers = list(range(3, x.shape[0] + 3))
    cut = [numbers[2:], numbers[:-2], numbers[1:-1], numbers[::3], numbers[1:-2:2]]
    return [x.new_ones(len(each)) for each in cut]


def ends(x):
    """Items from either end, of a copy, a tuple and a longer list."""
    numbers = [4] + list(range(x.shape[0]))
    copied = {"a": [*numbers], "b": tuple(numbers)}
    return x * numbers[0] + numbers[1] + len(copied["a"]) + copied["b"][-1]


def gone_over(x):
    """A loop over the numbers."""
    total = torch.zeros(())
    for number in list(range(x.shape[0])):
        total = total + x[number] * number
    return total


@pytest.mark.parametrize("function", [strided, parts, ends, gone_over])
def test_lists_of_numbers_are_sizes(function):
    """Where eager code raises for want of an item, so does the program."""
    run = exported(function).module()
    for n in (6, 5, 4, 3, 2, 1, 0, 13):
        x = torch.randn(n)
        try:
            theirs = function(x)
        except (IndexError, RuntimeError):
            with pytest.raises((MonographError, RuntimeError)):
                run(x)
            continue
        ours = run(x)
        ours, theirs = ([each] if torch.is_tensor(each) else each for each in (ours, theirs))
        for one, other in zip(ours, theirs, strict=True):
            assert torch.equal(one, other)


USES = [
    lambda x: x[list(range(x.shape[0]))],
    lambda x: x * sum(list(range(x.shape[0]))),
    lambda x: torch.tensor(list(range(x.shape[0]))) + 1,
    lambda x: x * (3 in list(range(x.shape[0]))),
    lambda x: (x, list(range(x.shape[0]))),
    lambda x: x * list(range(x.shape[0]))[::-1][0],
    lambda x: x * min([*list(range(x.shape[0])), -1]),
    lambda x: x * max(*list(range(x.shape[0]))),
    lambda x: x + (list(range(x.shape[0])) == [0, 1]),
    lambda x: x * list(range(x.shape[0])).pop(),
    lambda x: x.permute(list(range(x.shape[0]))[:1]),
    lambda x: torch.stack([x[n] for n in list(range(x.shape[0]))[1:]]),
]


@pytest.mark.parametrize("number", range(len(USES)))
def test_other_uses_fix_the_size(number):
    """Or are right at other sizes, too."""
    forward = USES[number]
    run = exported(forward).module()
    for n in (6, 7, 2):
        x = torch.randn(n)
        try:
            ours = run(x)
        except MonographError:
            assert n != 6
            continue
        leaves = map(torch.utils._pytree.tree_leaves, (ours, forward(x)))
        for one, other in zip(*leaves, strict=True):
            assert torch.equal(torch.as_tensor(one), torch.as_tensor(other))


def test_a_list_that_is_fixed_fixes_no_loop():
    """Loops over other sizes stay loops."""

    def forward(x, y):
        total = torch.zeros(3)
        for row in y:
            total = total.tanh() + row
        return total, x[list(range(x.shape[0]))]

    module = type("M", (nn.Module,), {"forward": staticmethod(forward)})()
    args = (torch.randn(4), torch.randn(5, 3))
    run = monograph.export(module, args, dynamic_shapes=({0: Dim.AUTO}, {0: Dim.AUTO})).module()
    x, y = torch.randn(4), torch.randn(8, 3)
    for one, other in zip(run(x, y), forward(x, y), strict=True):
        assert torch.equal(one, other)
