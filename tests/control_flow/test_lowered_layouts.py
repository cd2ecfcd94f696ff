"""Bodies of loops and branches that go by how things lie in memory, when lowered."""

import pytest
import torch

import monograph


def copied_in_rounds(y, w):
    """What lies as asked is handed on as it is."""
    for _ in w:
        y = y.contiguous()
    return y


def copied_in_rounds_of_rounds(y, w):
    """The same, two loops deep."""
    for row in w:
        for _ in row:
            y = y.contiguous()
    return y


def viewed_in_rounds(y, w):
    """A view that not every layout allows."""
    for row in w:
        y = (y.reshape(-1) * row.sum()).view(y.shape)
    return y


def rows_viewed(_, w):
    """Rows seen as one line."""
    return torch.stack([row.reshape(-1) * 2 for row in w])


def last_row_copied(y, w):
    """The last row is read after the loop."""
    for row in w:
        y = row.contiguous()
    return y


def copied_while(y, w):
    """In a loop on data."""
    at = torch.tensor(0)
    while at < w.sum():
        y = y.contiguous()
        at = at + 1
    return y


def viewed_while(y, w):
    """The same of a view."""
    at = torch.tensor(0)
    while at < w.sum():
        y = y.reshape(-1).view(3, 2) + 1
        at = at + 1
    return y


def from_outside(y, w):
    """What a body takes from outside."""
    total = w.new_zeros(())
    for row in w:
        total = total + row.sum() * y.reshape(-1)[1]
    return total


PROGRAMS = (
    *(copied_in_rounds, copied_in_rounds_of_rounds, viewed_in_rounds, rows_viewed),
    *(last_row_copied, copied_while, viewed_while, from_outside),
)
CALLS = {
    "alike": lambda: (torch.randn(3, 2), torch.rand(4, 2, 2)),
    "longer": lambda: (torch.randn(3, 2), torch.rand(6, 2, 2)),
    "turned": lambda: (torch.randn(2, 3).t(), torch.rand(4, 2, 2)),
    "rows turned": lambda: (torch.randn(3, 2), torch.rand(4, 2, 2).transpose(1, 2)),
}


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda each: each.__name__)
def test_it_agrees_or_is_refused(function):
    """As exported it agrees; lowered it agrees for inputs that lie as the example's."""
    module = torch.nn.Module()
    module.forward = function
    shapes = (None, {0: monograph.Dim.AUTO})
    program = monograph.export(module, CALLS["alike"](), dynamic_shapes=shapes, strict=True)
    lowered = program.run_decompositions()
    for name, make in CALLS.items():
        inputs = make()
        expected = function(*inputs)
        for each in (program, lowered):
            try:
                result = each.module()(*inputs)
            except monograph.ContractError:
                assert each is lowered or name == "longer"
                assert name != "alike"
                continue
            assert torch.equal(result, expected)
            assert result.stride() == expected.stride()
            assert (result is inputs[0]) is (expected is inputs[0])
