"""What torch.export's reader cannot use is found, and said where a program is saved."""

import io
import logging
from contextlib import nullcontext

import pytest
import torch
from torch import nn

import monograph
from monograph.archive.torch_export_limits import unreadable_there
from tests.archive.peers import loaded, loaded_there, quietly, saved, saved_there


class Texts(nn.Module):
    """A text among the results."""

    def forward(self, x):
        return x * 2, "doubled"


class Keyword(nn.Module):
    """A parameter under a name that is a keyword."""

    def __init__(self):
        super().__init__()
        self.register_parameter("lambda", nn.Parameter(torch.ones(3)))

    def forward(self, x):
        return x * getattr(self, "lambda")


class Truth(nn.Module):
    """A truth among the results, which both readers know."""

    def forward(self, x):
        return x * 2, x.shape[0] > 4


class Operand(nn.Module):
    """A number or a truth of the data that the sides of a branch calculate with."""

    def __init__(self, asked):
        super().__init__()
        self.asked = asked

    def forward(self, x):
        k = self.asked(x).item()
        return x + k if x.mean() > 0 else x * k


def exported(module):
    """Export with a size that varies."""
    return monograph.export(module, (torch.ones(3),), dynamic_shapes=({0: monograph.Dim.AUTO},))


def test_reasons(caplog):
    """Results and names, logged as information; nothing where there is nothing."""
    assert unreadable_there(exported(Texts())) == ["a result is 'doubled'"]
    program = monograph.export(Keyword(), (torch.ones(3),))
    with caplog.at_level(logging.INFO, "monograph.archive"):
        monograph.save(program, io.BytesIO(), verify=False)
    assert "cannot use the file: its code cannot name the tensor 'lambda'" in caplog.text
    assert unreadable_there(exported(nn.ReLU())) == []


@pytest.mark.parametrize(
    ("asked", "reasons"),
    [
        (torch.sum, ["a branch, loop or mode is given 'item', a float"]),
        (torch.any, ["a branch, loop or mode is given 'item', a truth"]),
        (torch.argmax, []),
    ],
)
@pytest.mark.parametrize("lowered", [False, True])
def test_operands_of_branches(asked, reasons, lowered):
    """torch.export reads the file where nothing is said, and nowhere else."""
    program = exported(Operand(asked))
    program = program.run_decompositions() if lowered else program
    assert unreadable_there(program) == reasons
    content = saved(program)
    x = torch.tensor([-3.0, 2.0, 4.0])
    torch.testing.assert_close(loaded(content).module()(x), Operand(asked)(x))
    with pytest.raises(RuntimeError) if reasons else nullcontext():
        torch.testing.assert_close(loaded_there(content).module()(x), Operand(asked)(x))


class SettledLater(nn.Module):
    """A branch is given a number that a later check settles."""

    def forward(self, x):
        k, n = x[0].item(), x[1].item()
        torch._check(k == 4 * n)
        y = x + n if x.sum() > 9 else x - k
        torch._check(n == 1)
        return y


def test_settled_operands_of_branches():
    """torch.export reads and runs the file, and its own `save` misses the number."""
    x = torch.tensor([4, 1, 3])
    program = monograph.export(SettledLater(), (x,))
    reason = "a branch, loop or mode is given 'item_1', always 1, which it cannot save again"
    assert unreadable_there(program) == [reason]
    there = loaded_there(saved(program))
    with quietly():
        assert torch.equal(there.module()(x), SettledLater()(x))
    with pytest.raises(AssertionError, match="item_1"):
        saved_there(there)


def test_truths_are_read_by_both():
    """torch.export writes no truths among results, and reads ours."""
    program = exported(Truth())
    file = io.BytesIO()
    monograph.save(program, file)
    for load in (monograph.load, torch.export.load):
        file.seek(0)
        module = load(file).module()
        assert [module(torch.ones(n))[1] for n in (3, 4, 5)] == [False, False, True]
    file.seek(0)
    read = monograph.load(file)
    assert read.graph_signature.output_specs[1].arg == program.graph_signature.output_specs[1].arg
