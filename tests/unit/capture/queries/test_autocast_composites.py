"""Composite operators under autocast: user code is told the dtype of what they call."""

import pytest
import torch
from torch.nn import functional as F

import monograph
from monograph import Dim
from monograph.diagnostics import ContractError

PROGRAMS = {
    "einsum": lambda a: torch.einsum("ij,kj->ik", a, a),
    "einsum of three": lambda a: torch.einsum("ij,kj,lj->ikl", a, a, a),
    "einsum that multiplies": lambda a: torch.einsum("i,j->ij", a[0], a[0]),
    "einsum over a size of 1": lambda a: torch.einsum("ij,kj->ik", a[:, :1], a[:, :1]),
    "einsum of one": lambda a: torch.einsum("ij->j", a),
    "tensordot": lambda a: torch.tensordot(a, a.T, 1),
    "inner": lambda a: torch.inner(a, a),
    "inner with a number": lambda a: torch.inner(a[0, 0], a),
    "matrix_power": lambda a: torch.linalg.matrix_power(a[:, :3], 3),
    "matrix_power of 1": lambda a: torch.linalg.matrix_power(a[:, :3], 1),
    "multi_dot": lambda a: torch.linalg.multi_dot([a, a.T, a]),
    "nll_loss": lambda a: F.nll_loss(a.half(), torch.tensor([0, 1, 3])),
    "reflection": lambda a: F.pad(a.half(), (1, 1), mode="reflect"),
    "zeros around": lambda a: F.pad(a.half(), (1, 1)),
    "cov": torch.cov,
    "corrcoef": torch.corrcoef,
    "bilinear": lambda a: F.bilinear(a, a, torch.ones(2, 4, 4)),
    "gru_cell": lambda a: torch.gru_cell(a, a[:, :2], torch.ones(6, 4), torch.ones(6, 2)),
    "lstm_cell": lambda a: torch.lstm_cell(
        a, (a[:, :2], a[:, :2]), torch.ones(8, 4), torch.ones(8, 2)
    )[0],
    "rnn_cell": lambda a: torch.rnn_tanh_cell(a, a[:, :2], torch.ones(2, 4), torch.ones(2, 2)),
}


class Asks(torch.nn.Module):
    """What it computes, and whether user code was told that it is a float32."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        made = self.function(*args)
        return made, torch.tensor(made.dtype is torch.float32)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_dtypes(name, dtype):
    """As in eager code, in the caller's autocast, lowered as well."""
    module, x = Asks(PROGRAMS[name]), torch.randn(3, 4)
    with torch.autocast("cpu", dtype=dtype):
        program = monograph.export(module, (x,))
        expected = module(x)
        for each in (program, program.run_decompositions()):
            torch.testing.assert_close(each.module()(x), expected, rtol=2e-2, atol=2e-2)


class Attention(torch.nn.Module):
    """Products of heads as published models write them, under an autocast of their own."""

    def forward(self, q, k):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return torch.einsum("bhid,bhjd->bhij", q, k)


def test_sizes_vary():
    """One batch and one row may be; what is contracted adds up otherwise where it is 1."""
    q, k = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 6, 5)
    vary = {0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO}
    program = monograph.export(Attention(), (q, k), dynamic_shapes=(vary, vary))
    for each in (program, program.run_decompositions()):
        for b, i, j in ((1, 4, 6), (2, 1, 6), (7, 1, 1), (1, 1, 1)):
            given = torch.randn(b, 3, i, 5), torch.randn(b, 3, j, 5)
            found, expected = each.module()(*given), Attention()(*given)
            torch.testing.assert_close(found, expected, rtol=0, atol=0)
        with pytest.raises(ContractError):
            each.module()(torch.randn(2, 3, 4, 1), torch.randn(2, 3, 6, 1))


def test_recurrent_layers_stay():
    """A lowered layer runs by the kernels, and in the dtype, that autocast chooses."""
    layer, x = torch.nn.LSTM(4, 4, batch_first=True), torch.randn(2, 3, 4)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        lowered = monograph.export(layer, (x,)).run_decompositions().module()
        torch.testing.assert_close(lowered(x), layer(x), rtol=0, atol=0)


class Turned(torch.nn.Module):
    """A region without autocast within one."""

    def forward(self, a):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            one = torch.einsum("ij,kj->ik", a, a)
            with torch.autocast("cpu", enabled=False):
                other = torch.einsum("ij,kj->ik", a, a)
        return one, other, torch.tensor([one.dtype is other.dtype])


def test_a_region_without_autocast():
    """What is computed there is not cast, lowered as well."""
    x = torch.randn(3, 4)
    program = monograph.export(Turned(), (x,))
    for each in (program, program.run_decompositions()):
        torch.testing.assert_close(each.module()(x), Turned()(x))


def test_a_device_without_autocast():
    """Nothing is cast on the meta device, whatever is on for others; layers are lowered."""
    module = torch.nn.LSTM(4, 4, 2).to("meta")
    lowered = monograph.export(module, (torch.randn(2, 3, 4, device="meta"),)).run_decompositions()
    assert not any("lstm" in str(node.target) for node in lowered.graph.nodes)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        program = monograph.export(Asks(PROGRAMS["einsum"]), (torch.randn(3, 4, device="meta"),))
    assert [*program.graph.nodes][-1].args[0][0].meta["val"].dtype is torch.float32
