"""Numbers that many operations make one out of the other: captured, printed, lowered and saved."""

import pytest
import torch
from torch import nn

from monograph import ContractError, Dim, export
from tests.archive.peers import loaded, saved

MANY = 200


class Added(nn.Module):
    """Numbers out of data, of which each makes the next."""

    def forward(self, x, counts):
        """A float, an int, and an int that no sum is."""
        total, number, rest = 0.0, 0, 1
        for at in range(MANY):
            total = total * 0.5 + x[at].item()
            number += counts[at].item()
            rest = rest // 2 + number
        torch._check(number >= 0)
        return x * total + number, x * rest, x.new_zeros(number)


class Grown(nn.Module):
    """A float that sizes make."""

    def __init__(self, n_rounds):
        """So many products and sums."""
        super().__init__()
        self.n_rounds = n_rounds

    def forward(self, x):
        """As a schedule or a running average."""
        total = 1.0
        for _ in range(self.n_rounds):
            total = total * 0.5 + x.shape[0]
        return x * total


def alike(program, module, *given):
    """The same in every form."""
    again = loaded(saved(program))
    for form in (program, program.run_decompositions(), again):
        torch.testing.assert_close(form.module()(*given), module(*given))


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_numbers_out_of_data(strict):
    """The program computes each as it comes; nothing that is printed grows with their number."""
    module, given = Added(), (torch.rand(MANY), torch.ones(MANY, dtype=torch.long))
    program = export(module, given, strict=strict)
    lines = str(program).splitlines()
    assert max(len(each) for each in lines if not each.startswith("Range")) < 2_000
    alike(program, module, *given)
    alike(program, module, torch.randn(MANY), torch.randint(0, 3, (MANY,)))


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_a_float_that_sizes_make(strict):
    """It stays one for all sizes, also in a file, which has no product of sizes in it."""
    module = Grown(40)
    program = export(module, (torch.rand(5),), dynamic_shapes=({0: Dim.DYNAMIC},), strict=strict)
    alike(program, module, torch.rand(3))


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_a_float_of_more_than_can_be_decided(strict):
    """The size is the example's, by a guard."""
    module = Grown(MANY)
    program = export(module, (torch.rand(5),), dynamic_shapes=({0: Dim.AUTO},), strict=strict)
    alike(program, module, torch.rand(5))
    with pytest.raises(ContractError):
        program.module()(torch.rand(6))


class PutTogether(nn.Module):
    """Rows that are cut and put together again and again."""

    def __init__(self, n_again):
        """The first rows are so many."""
        super().__init__()
        self.n_again = n_again

    def forward(self, x):
        """As a shifted window or a buffer that rolls."""
        for _ in range(20):
            x = torch.cat([x[1:], x[: self.n_again]])
        return x


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_rows_that_are_cut_and_put_together(strict):
    """What is cut at one place adds up to what was cut, at all sizes."""
    module = PutTogether(1)
    program = export(module, (torch.rand(9, 2),), dynamic_shapes=({0: Dim.DYNAMIC},), strict=strict)
    for n in (0, 1, 2, 30):
        alike(program, module, torch.rand(n, 2))


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_sizes_that_double_in_length(strict):
    """Beyond what can be decided, sizes are the example's; those that data tells have a name."""
    module = PutTogether(2)
    program = export(module, (torch.rand(9, 2),), dynamic_shapes=({0: Dim.AUTO},), strict=strict)
    alike(program, module, torch.rand(9, 2))
    with pytest.raises(ContractError):
        program.module()(torch.rand(8, 2))

    class OfData(nn.Module):
        def forward(self, x):
            return module(x[x[:, 0] > 0])

    given = torch.randn(9, 2)
    program = export(OfData(), (given,), dynamic_shapes=({0: Dim.DYNAMIC},), strict=strict)
    alike(program, OfData(), given)
    alike(program, OfData(), torch.randn(30, 2))
