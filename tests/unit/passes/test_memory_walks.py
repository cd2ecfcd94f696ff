"""`as_strided` of what is written to, lowered: wherever the tensor begins in its memory."""

import pytest
import torch
from torch import nn

import monograph

BEGINS = {
    "at 0": lambda: torch.arange(20.0)[:16].view(4, 4),
    "at 3": lambda: torch.arange(20.0)[3:19].view(4, 4),
    "transposed": lambda: torch.arange(20.0)[2:18].view(4, 4).t(),
    "with gaps": lambda: torch.arange(26.0)[2:].view(4, 6)[:, 1:5],
}


def from_a_row(x):
    """It begins where the view does that it is asked of."""
    x.add_(1)
    return x[1:].as_strided((2,), (1,)) + 1


def from_a_place(x):
    """It begins at a place in memory."""
    x.add_(1)
    return x[1:].as_strided((2,), (1,), 4) + 1


def written_through(x):
    """It is written to, before and after others."""
    x[1:].as_strided((2,), (1,)).mul_(3)
    x.add_(1)
    x.as_strided((2,), (4,)).mul_(5)
    return x * 1


def returned(x):
    """It is returned, and is a view of the input."""
    x *= 2
    return x.detach().as_strided((2,), (1,))


def around(x):
    """It begins before the tensor where the tensor does not begin at 0."""
    x.add_(1)
    return x.as_strided((2, 2), (4, 1), 2) * 1


def of_a_value(x):
    """It walks through memory of forward's own."""
    y = x * 2
    z = y[1:]
    z.add_(x[1:])
    y.as_strided((2,), (1,), 1).add_(1)
    w = z.as_strided((2,), (1,))
    w.mul_(2)
    return y + 0, z * 1, w + 1


class Calls(nn.Module):
    """A module that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.forward = function


REFUSED = {
    (name, "with gaps") for name in ("from_a_row", "from_a_place", "written_through", "returned")
}
REFUSED |= {("around", "at 3"), ("around", "with gaps")}


@pytest.mark.parametrize("begin", BEGINS)
@pytest.mark.parametrize(
    "function", [from_a_row, from_a_place, written_through, returned, around, of_a_value]
)
def test_a_walk_is_where_it_was(function, begin):
    """Values and what is written are eager code's; what no value holds is refused."""
    program = monograph.export(Calls(function), (BEGINS[begin](),))
    if (function.__name__, begin) in REFUSED:
        with pytest.raises(monograph.ExportError, match="not-functional"):
            program.run_decompositions()
        return
    module = program.run_decompositions().module()
    for other, made in BEGINS.items():
        eager, ours = made(), made()
        wanted = function(eager)
        try:
            given = module(ours)
        except monograph.ContractError:
            assert other != begin
            continue
        torch.testing.assert_close(given, wanted, rtol=0, atol=0)
        torch.testing.assert_close(ours, eager, rtol=0, atol=0)


class Shared(nn.Module):
    """Buffers in one memory, both of them written to, that does not begin with them."""

    def __init__(self, begin, order):
        super().__init__()
        memory = torch.arange(40.0)[begin:]
        buffers = {"inner": memory[4:8], "outer": memory[2:10]}
        for name in order:
            self.register_buffer(name, buffers[name])

    def forward(self, x):
        """Read, write one, read the other, write it."""
        first = self.outer * 3
        self.inner.mul_(2)
        second = self.outer + x
        self.outer.add_(1)
        return first, second, self.inner * 1


@pytest.mark.parametrize("order", [("inner", "outer"), ("outer", "inner")])
@pytest.mark.parametrize("begin", [0, 3])
def test_shared_buffers_are_where_they_were(begin, order, tmp_path):
    """In the lowered program and in its file, call after call."""
    lowered = monograph.export(Shared(begin, order), (torch.ones(8),)).run_decompositions()
    monograph.save(lowered, tmp_path / "program.pt2")
    for program in (lowered, monograph.load(tmp_path / "program.pt2")):
        eager, ours = Shared(begin, order), program.module()
        for value in (1.0, 2.0, -3.0):
            x = torch.full((8,), value)
            torch.testing.assert_close(ours(x), eager(x), rtol=0, atol=0)
        torch.testing.assert_close(
            dict(ours.state_dict()), dict(eager.state_dict()), rtol=0, atol=0
        )
