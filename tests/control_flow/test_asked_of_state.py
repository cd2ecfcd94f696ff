"""What is asked of buffers alone they answer, where nothing else can be made of it."""

import pytest
import torch
from torch import nn

import monograph
from tests.control_flow.forms import made_forms, naming


class ChoosesAFunction(nn.Module):
    """Which of two functions is called says a buffer, as solvers ask which way time runs."""

    def __init__(self, times):
        super().__init__()
        self.register_buffer("times", torch.tensor(times))

    def forward(self, x):
        """Steps of Euler's, forwards or backwards."""
        step = torch.sin if self.times[0] < self.times[1] else torch.cos
        for here, there in zip(self.times[:-1], self.times[1:], strict=True):
            x = x + step(x) * (there - here)
        return x


class AsksForANumber(nn.Module):
    """A buffer holds a text's place."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kind", torch.tensor(1))

    def forward(self, x):
        """By name."""
        return getattr(x, ["sin", "cos", "exp"][int(self.kind)])()


class WritesBefore(AsksForANumber):
    """What is asked for is another in the next call."""

    def forward(self, x):
        """By name."""
        self.kind.add_(1).remainder_(3)
        return getattr(x, ["sin", "cos", "exp"][int(self.kind)])()


class CanBeBoth(nn.Module):
    """Both ways are one tensor."""

    def __init__(self):
        super().__init__()
        self.register_buffer("done", torch.tensor(False))

    def forward(self, x):
        """Either."""
        if self.done:
            return x + 1
        return x * 2


@pytest.mark.parametrize("times", [[0.0, 0.5, 1.0], [1.0, 0.5, 0.0]])
@pytest.mark.parametrize("strict", [True, False])
def test_a_function_that_a_buffer_chooses(times, strict):
    """In every form. Strict, either is captured; else the buffer is asserted to hold no other."""
    module = ChoosesAFunction(times)
    rows = {0: monograph.Dim("n")}
    program = monograph.export(module, (torch.ones(2, 3),), dynamic_shapes=(rows,), strict=strict)
    for form, made in made_forms(program):
        for n in (1, 5):
            x = torch.randn(n, 3, generator=torch.Generator().manual_seed(n))
            with naming(form):
                torch.testing.assert_close(made()(x), module(x))
    mine, held = program.module(), module.times.clone()
    mine.times.copy_(held.flip(0))
    module.times.copy_(held.flip(0))
    if strict:
        torch.testing.assert_close(mine(torch.ones(2, 3)), module(torch.ones(2, 3)))
    else:
        with pytest.raises(RuntimeError, match="times"):
            mine(torch.ones(2, 3))
    mine.times.copy_(held * 2)  # in the same order
    module.times.copy_(held * 2)
    torch.testing.assert_close(mine(torch.ones(2, 3)), module(torch.ones(2, 3)))


@pytest.mark.parametrize("strict", [True, False])
def test_a_number_that_a_buffer_holds(strict):
    """It is the program's, as long as the buffer holds it."""
    module = AsksForANumber()
    mine = monograph.export(module, (torch.ones(3),), strict=strict).module()
    torch.testing.assert_close(mine(torch.ones(3)), torch.ones(3).cos())
    mine.kind.fill_(2)
    with pytest.raises(RuntimeError, match="kind"):
        mine(torch.ones(3))


def test_a_buffer_that_forward_writes_to_decides_nothing():
    """The next call would ask another."""
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(WritesBefore(), (torch.ones(3),))
    assert "specialized-value" in [each.diagnostic.name for each in caught.value.problems]


def test_what_can_be_captured_both_ways_is():
    """The buffer stays a buffer."""
    mine = monograph.export(CanBeBoth(), (torch.ones(3),)).module()
    torch.testing.assert_close(mine(torch.ones(3)), torch.full((3,), 2.0))
    mine.done.fill_(True)
    torch.testing.assert_close(mine(torch.full((3,), 4.0)), torch.full((3,), 5.0))


class Chunks(nn.Module):
    """A quotient of sizes is a tensor, and asked whether it is enough."""

    def forward(self, x):
        """In chunks of four."""
        count = torch.div(x.shape[1], 4, rounding_mode="trunc")
        y = x.view(x.shape[0], count, 4)
        return [y, y * 2][min(y.shape[1], 2) - 1]


def test_a_quotient_of_sizes_that_is_a_tensor():
    """Where nothing is known of the number it holds, the capture begins anew with what it is."""
    sizes = ({0: monograph.Dim.AUTO, 1: monograph.Dim.AUTO},)
    module, x = Chunks(), torch.arange(24.0).view(2, 12)
    mine = monograph.export(module, (x,), dynamic_shapes=sizes).module()
    for shape in ((2, 12), (3, 8), (1, 32), (2, 4)):
        x = torch.randn(shape, generator=torch.Generator().manual_seed(1))
        torch.testing.assert_close(mine(x), module(x), rtol=0, atol=0)
    with pytest.raises((monograph.ContractError, RuntimeError)):
        mine(torch.ones(2, 10))
