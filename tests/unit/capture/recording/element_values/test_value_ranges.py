"""What the graph says of integers, held against the integers."""

import pytest
import torch
from torch import nn

import monograph
from monograph.integers import Expr
from tests.seeding import reseed

CASES = {
    "argmax": (lambda x, m: x.argmax(), (0, 23)),
    "argmax of rows": (lambda x, m: x.argmax(1)[0], (0, 5)),
    "argmin with keywords": (lambda x, m: x.argmin(dim=0, keepdim=True)[0, 1], (0, 3)),
    "topk": (lambda x, m: x.topk(2, 0).indices.max(), (0, 3)),
    "sort": (lambda x, m: x.sort(0)[1][0, 0], (0, 3)),
    "argsort": (lambda x, m: x.argsort(stable=True, dim=0)[-1, -1], (0, 23)),
    "max of a row": (lambda x, m: x.max(1).indices[2], (0, 5)),
    "mask": (lambda x, m: m.sum(), (0, 24)),
    "mask by rows": (lambda x, m: m.sum(1)[0], (0, 6)),
    "mask as integers": (lambda x, m: m.long().sum(), (0, 24)),
    "mask counted": (lambda x, m: m.int().count_nonzero(), (0, 24)),
    "mask cumulated": (lambda x, m: m.flatten().cumsum(0)[-1], (0, 24)),
    "sum as int32": (lambda x, m: m.sum(dtype=torch.int32), (-(2**31), 2**31 - 1)),
    "remainder": (lambda x, m: m.sum() % 7, (0, 6)),
    "sum and product": (lambda x, m: (m.sum() * 2 - 3) + 1, (-2, 46)),
    "wraps around": (lambda x, m: m.sum().to(torch.int8) * 20, (-128, 127)),
    "clamped": (lambda x, m: (x * 100).long().flatten()[0].clamp(-3, 9), (-3, 9)),
    "clamped below": (lambda x, m: m.sum().clamp(min=3), (3, 24)),
    "clamped above by a tensor": (lambda x, m: m.sum().clamp(max=x.argmax() - 5), (-5, 18)),
    "of a range": (lambda x, m: torch.arange(3, 9)[x.argmax() % 6], (3, 8)),
    "of a table": (lambda x, m: torch.tensor([4, -2, 7])[x.argmax() % 3], (-2, 7)),
    "where": (lambda x, m: torch.where(m[0, 0], x.argmax(), 99), (0, 99)),
    "joined": (
        lambda x, m: torch.cat([x.argmax(0), torch.ones_like(x.argmax(0)) * 8]).max(),
        (0, 8),
    ),
    "one hot": (lambda x, m: nn.functional.one_hot(x.argmax(0), 6).sum(), (0, 36)),
    "bincount": (lambda x, m: torch.bincount(x.argmax(0)).max(), (0, 6)),
    "searched": (lambda x, m: torch.searchsorted(x[0].sort().values, x[1])[0], (0, 6)),
    "unknown": (lambda x, m: x.long().flatten()[0], (None, None)),
    "greater of two": (lambda x, m: torch.maximum(m.sum(), x.argmax()), (0, 24)),
    "max of two": (lambda x, m: torch.max(m.sum() * 2, x.argmax()), (0, 48)),
}


def exported(function):
    """Capture the number that a function makes, and what is known of it."""
    module = type("M", (nn.Module,), {"forward": lambda self, x, m: function(x, m).item()})()
    program = monograph.export(module, (torch.randn(4, 6), torch.rand(4, 6) > 0.5))
    facts = program.facts
    (symbol,) = [each for each in facts.symbols if facts.source_of(each).startswith("function")]
    assert isinstance(symbol, Expr)
    return facts.interval(symbol)


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_within_bounds(name):
    """The bounds are as derived by hand, and no draw lies outside."""
    function, (lower, upper) = CASES[name]
    found = [end if isinstance(end, int) else None for end in exported(function)]
    assert found == [lower, upper]
    for seed in range(30):
        reseed(seed)
        mask = torch.rand(4, 6) < seed / 29
        value = function(torch.randn(4, 6) * 3, mask).item()
        assert lower is None or lower <= value
        assert upper is None or value <= upper


def test_what_was_written_to_is_unknown():
    """A write in between may have put anything there."""

    def written(x, m):
        at = x.argmax(0)
        at[0] = (x * 100).long()[0, 0]
        return at[0]

    assert not isinstance(exported(written).upper, int)


def test_bins_are_as_many_as_values():
    """Positions below 4 make exactly the 4 bins asked for, which may be counted."""

    class Counts(nn.Module):
        def forward(self, x):
            return [x * n for n in torch.bincount(x.argmax(1), minlength=4).tolist()]

    program = monograph.export(Counts(), (torch.randn(5, 4),))
    x = torch.randn(5, 4)
    assert all(map(torch.equal, program.module()(x), Counts()(x)))
