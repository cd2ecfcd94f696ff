"""A model with six planted faults: one call lists all six; with their repairs the model exports."""

import re
from pathlib import Path

import pytest
import torch

from monograph import ContractError, Dim, ExportErrors, draft_export, export
from tests.problems.applying import module_of, refusal

SOURCE = """\
import time

import torch

SEEN = []


@torch.library.custom_op("faults{number}::scaled", mutates_args=())
def scaled(x: torch.Tensor, by: float) -> torch.Tensor:
    return x * by


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        x = self.linear(x)
        if x.sum() > 100:  # fault 1, in each of three blocks
            x = x - 100
        return x


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.blocks = torch.nn.ModuleList([Block() for _ in range(3)])

    def forward(self, x, lengths):
        for block in self.blocks:
            x = block(x)
        x = scaled(x, 0.5)  # fault 2
        longest = lengths.max().item()
        mask = torch.ones(8) if longest > 2 else torch.zeros(8)  # fault 3
        for _ in range(longest):  # fault 4
            x = x + 1
        SEEN.append(longest)  # fault 5
        x = x * (time.time() > 0)  # fault 6
        return x, mask
"""
ARGUMENTS = (torch.ones(5, 4), torch.tensor([1, 3]))
SIZES = {"x": {0: Dim("n", min=2, max=64)}, "lengths": None}
NAMES = [
    "data-dependent-branch",
    "unsupported-operator",
    "data-dependent-size",
    "specialized-value",
    "outside-read",
    "write-outlives-call",
]


@pytest.fixture
def model(tmp_path):
    """Give the module that the model stands in."""
    return module_of(SOURCE.replace("{number}", "1"), tmp_path)


def test_one_call_lists_six_with_their_lines(model):
    """Every fault is listed once, with the line it was planted in, and a help."""
    error = refusal(model, ARGUMENTS, dynamic_shapes=SIZES)
    assert isinstance(error, ExportErrors)
    assert [problem.diagnostic.name for problem in error.problems] == NAMES
    lines = Path(model.__file__).read_text(encoding="utf-8").splitlines()
    planted = {
        problem.diagnostic.name: lines[problem.diagnostic.at[0].line - 1]
        for problem in error.problems
    }
    order = [re.search(r"# fault (\d)", planted[name])[1] for name in NAMES]
    assert order == ["1", "2", "3", "4", "6", "5"]
    assert all(problem.diagnostic.helps for problem in error.problems)
    assert error.problems[0].diagnostic.times == 3
    assert str(error).startswith("error: 6 problems found")


def test_the_draft_runs_and_says_what_it_assumes(model):
    """Its results are the model's for the example and for others that keep to its assumptions."""
    program = draft_export(model.Model(), ARGUMENTS, dynamic_shapes=SIZES, control_flow="refuse")
    assert [problem.name for problem in program.report.problems] == NAMES
    with pytest.raises(ContractError, match=r"time\.time"):
        program.module()(*ARGUMENTS)
    run, eager = program.module(check_guards=False), model.Model()
    for n in (2, 5, 9):
        x = torch.rand(n, 4)
        for mine, theirs in zip(run(x, ARGUMENTS[1]), eager(x, ARGUMENTS[1]), strict=True):
            assert torch.equal(mine, theirs)
    with pytest.raises(RuntimeError, match="does not hold"):
        run(ARGUMENTS[0], torch.tensor([1, 4]))
    assert model.SEEN == [3, 3, 3]


def test_the_repairs_make_it_export(model, tmp_path):
    """Edits as they are offered, and for the rest what the helps say, in one go."""
    error = refusal(model, ARGUMENTS, dynamic_shapes=SIZES)
    source = Path(model.__file__).read_text(encoding="utf-8")
    by_name = {problem.diagnostic.name: problem.diagnostic for problem in error.problems}
    edits = [diagnostic.edits[0] for diagnostic in by_name.values() if diagnostic.edits]
    assert len(edits) == 4
    for edit in sorted(edits, key=lambda edit: -edit.first):
        source = edit.applied(source)

    assert "@torch.library.register_fake" in source
    assert "pass it as an argument" in by_name["outside-read"].helps[0]
    source = source.replace("x, lengths", "x, lengths, now").replace("time.time()", "now")
    assert "return the new one" in by_name["write-outlives-call"].helps[0]
    source = source.replace("        SEEN.append(longest)  # fault 5\n", "")
    source = source.replace("return x, mask", "return x, mask, longest")
    source = source.replace("faults1", "faults2")

    repaired = module_of(source, tmp_path)
    args = (*ARGUMENTS, torch.tensor(1.0))
    program = export(repaired.Model(), args, dynamic_shapes={**SIZES, "now": None})
    run, eager = program.module(), model.Model()
    for n in (2, 5, 9):
        x = torch.rand(n, 4)
        mine, theirs = run(x, *args[1:]), eager(x, ARGUMENTS[1])
        assert torch.equal(mine[0], theirs[0])
        assert torch.equal(mine[1], theirs[1])
        assert mine[2] == model.SEEN[-1]
