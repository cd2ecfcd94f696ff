"""Sizes that only data tell are known where the data are constants of the program."""

import pytest
import torch
from torch import nn

import monograph
from monograph import Dim


def exported(forward, *args, **options):
    """Export a function as a module's forward."""
    module = type("M", (nn.Module,), {"forward": staticmethod(forward)})()
    return monograph.export(module, args, **options)


def windows(x):
    """Rows of a mask that is made here, one list item for each, as ViLT has them."""
    mask = torch.ones(2, 3, 4)
    mask = nn.functional.interpolate(mask[:, None], size=(6, 8)).long()[:, 0]
    mask[0, 0].zero_()
    places = (mask + torch.ones(6, 8, dtype=torch.int64)).eq(2).nonzero()
    return x + len(places[:, 0].unique()), places


def by_constants(x):
    """Every operator that makes as many results as data say, of constants."""
    mask = torch.tensor([True, False, True])
    (where,) = torch.where(mask)
    rows = torch.arange(6).view(3, 2)
    picked = [rows[mask], rows.masked_select(mask[:, None]), rows[:, 0].unique()]
    spread = torch.arange(3).repeat_interleave(torch.tensor([2, 0, 1]))
    bins = torch.bincount(torch.tensor([1, 1, 4]))
    total = 0
    for row in torch.arange(9).view(3, 3)[mask]:  # a loop that is unrolled
        total = total + x * row[0]
    return total, where, *picked, spread, bins, torch.unique_consecutive(torch.tensor([1, 1, 2]))


@pytest.mark.parametrize("strict", [True, False])
def test_constants_have_known_sizes(strict):
    """They are those that eager code finds, and no symbol is left."""
    program = exported(by_constants, torch.randn(2, 5), strict=strict)
    x = torch.randn(2, 5)
    for one, other in zip(program.module()(x), by_constants(x), strict=True):
        assert torch.equal(one, other)
    values = program.graph.output_node().meta["val"]
    assert all(type(size) is int for value in values for size in value.shape)


def test_what_is_written_to_is_no_constant():
    """It is counted when the program runs."""
    program = exported(windows, torch.randn(2))
    x = torch.randn(2)
    for one, other in zip(program.module()(x), windows(x), strict=True):
        assert torch.equal(one, other)
    assert type(program.graph.output_node().meta["val"][1].shape[0]) is torch.SymInt


def test_an_input_is_no_constant():
    """Nor is what has one size behind it."""

    def forward(x, mask):
        return x[mask], torch.ones(x.shape[0]).nonzero()

    mask = torch.tensor([True, False, True, True])
    shapes = {"x": {0: Dim("n", min=1)}, "mask": {0: Dim("n", min=1)}}
    module = exported(forward, torch.randn(4), mask, dynamic_shapes=shapes).module()
    for n in (1, 4, 7):
        x, mask = torch.randn(n), torch.rand(n) > 0.5
        for one, other in zip(module(x, mask), forward(x, mask), strict=True):
            assert torch.equal(one, other)
