"""Estimates: formulas by name, evaluated; text, JSON and HTML; rooflines; branches and loops."""

import json

import pytest
import torch
from torch import nn

import monograph
from bench.models import GPT
from tests.estimation.test_flops import counted

SIZES = {"ids": {0: monograph.Dim("batch"), 1: monograph.Dim("seq", max=128)}}


@pytest.fixture(scope="module")
def gpt():
    """A program of three layers with two sizes that vary, and its module."""
    module = GPT(n_layers=3, width=16, n_heads=2, n_tokens=50).eval()
    example = (torch.randint(0, 50, (2, 5)),)
    return monograph.export(module, example, dynamic_shapes=SIZES), module


def test_formulas_are_evaluated_by_name(gpt):
    """All at once, one after the other, or when the estimate is made."""
    program, module = gpt
    found = monograph.estimate(program)
    assert {*found.sizes} == {"batch", "seq"}
    at = found.at(batch=8, seq=32)
    assert at.sizes == ()
    ids = (torch.randint(0, 50, (8, 32)),)
    assert at.flops == counted(module, ids)
    for other in (
        found.at(seq=32).at(batch=8),
        monograph.estimate(program, {"batch": 8, "seq": 32}),
    ):
        assert (other.flops, other.memory, other.moved) == (at.flops, at.memory, at.moved)
    assert found.at(batch=8).sizes == ("seq",)
    assert at.inputs == 8 * 32 * 8
    with pytest.raises(ValueError, match="there is no size rows; there are: batch, seq"):
        found.at(rows=3)
    with pytest.raises(ValueError, match="batch is a size"):
        found.at(batch=-1)


def test_sizes_without_names_are_called_by_their_place():
    """As the contract prints them."""
    auto = {"input": {0: monograph.Dim.AUTO}}
    program = monograph.export(nn.Linear(3, 4), (torch.ones(2, 3),), dynamic_shapes=auto)
    found = monograph.estimate(program)
    assert found.sizes == ("input.shape[0]",)
    assert found.at({"input.shape[0]": 10}).flops == 2 * 10 * 3 * 4


def test_state_is_counted_once():
    """Tied weights have one memory; a name each in the table of modules."""

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(10, 4)
            self.out = nn.Linear(4, 10)
            self.out.weight = self.table.weight
            self.register_buffer("mean", torch.zeros(7), persistent=False)

        def forward(self, x):
            return self.out(self.table(x)).sum() + self.mean

    found = monograph.estimate(monograph.export(Tied(), (torch.tensor([1, 2]),)))
    assert found.parameters == 40 + 10
    assert found.state == 4 * (40 + 10 + 7)


def test_modules_add_up(gpt):
    """A row has what is inside of it: the outermost everything, three equal blocks as much each."""
    program, module = gpt
    found = monograph.estimate(program).at(batch=2, seq=7)
    rows = {row.module: row for row in found.by_module()}
    assert rows[""].flops == found.flops
    assert rows[""].parameters == found.parameters == sum(p.numel() for p in module.parameters())
    blocks = [row for row in found.by_module() if row.kind == "Block"]
    assert len(blocks) == 3
    assert len({(row.flops, row.moved, row.parameters) for row in blocks}) == 1
    inside = [row for row in rows.values() if row.module.startswith(f"{blocks[0].module}.")]
    parts = sum(
        row.flops for row in inside if row.module.count(".") == blocks[0].module.count(".") + 1
    )
    assert parts == blocks[0].flops
    calls = sum(n for n, _, _ in found.by_operator().values())
    assert calls == len(found.operators)


def test_texts_say_the_same(gpt):
    """Formulas as they are, numbers with units; JSON has every call."""
    program, _ = gpt
    found = monograph.estimate(program)
    assert "seq**2" in str(found)
    assert "aten.scaled_dot_product_attention" in str(found)
    kept = json.loads(found.as_json())
    assert kept["flops"] == found.text(found.flops)
    assert len(kept["operators"]) == len(found.operators)
    at = json.loads(found.at(batch=1, seq=2).as_json())
    assert isinstance(at["flops"], int)
    assert "<script" not in found._repr_html_()
    assert "by module" in found._repr_html_()
    assert "formulas" not in repr(found)
    assert repr(found).startswith("<Estimate ")


def test_rooflines_are_bound_by_the_slower_part(gpt):
    """Of each operator; all sizes must be known."""
    program, _ = gpt
    found = monograph.estimate(program)
    with pytest.raises(ValueError, match="needs all sizes"):
        found.roofline(monograph.Device("one", 1.0, 1.0))
    at = found.at(batch=8, seq=32)
    fast = at.roofline(monograph.Device("no traffic", 1e9, 1e30, memory=at.memory))
    assert fast.seconds == pytest.approx(at.flops / 1e9)
    assert fast.fits
    assert "arithmetic" in str(fast)
    slow = at.roofline(monograph.Device("no arithmetic", 1e30, 1e9, memory=at.memory - 1))
    assert slow.seconds == pytest.approx(at.moved / 1e9)
    assert not slow.fits
    both = at.roofline(monograph.Device("both", 1e9, 1e9))
    assert max(both.compute, both.traffic) < both.seconds < both.compute + both.traffic


class Branch(nn.Module):
    def forward(self, x):
        return x @ x.T @ x if x.sum() > 0 else x @ x.T + x.sum()


class Loop(nn.Module):
    def forward(self, x, w):
        state = x[0]
        kept = []
        for row in x:
            state = torch.tanh(row @ w + state)
            kept.append(state)
        return torch.stack(kept)


class While(nn.Module):
    def forward(self, x):
        while x.sum() < 100:
            x = x @ x + 1
        return x


def test_a_branch_costs_the_dearer_side():
    """Whichever that is, at each size."""

    class Sides(nn.Module):
        def forward(self, x, y):
            return (y @ y).sum() if x.sum() > 0 else (x @ x.T).sum()

    example = torch.randn(4, 3), torch.randn(5, 5)
    found = monograph.estimate(
        monograph.export(Sides(), example, dynamic_shapes="x: n, 3; y: m, m")
    )
    for n, m in ((2, 50), (50, 2)):
        assert found.at(n=n, m=m).flops == max(2 * m**3, 2 * n * n * 3)
    assert found.notes == ("a branch costs what the dearer of its sides does",)


def test_loops_cost_their_rounds():
    """One over a size as many as it has; one that depends on data a single one, and says so."""
    program = monograph.export(
        Loop(), (torch.randn(4, 3), torch.randn(3, 3)), dynamic_shapes="x: n, 3"
    )
    assert any("scan" in str(node.target) for node in program.graph.nodes)
    found = monograph.estimate(program)
    assert found.at(n=9).flops == 9 * 2 * 3 * 3
    data = monograph.estimate(monograph.export(While(), (torch.rand(3, 3),)))
    assert data.flops == 2 * 3**3
    assert "one round" in str(data)


def test_programs_on_meta_and_from_files_are_estimated(tmp_path, gpt):
    """No data is looked at; a file gives what the program gave."""
    program, _ = gpt
    monograph.save(program, tmp_path / "gpt.pt2")
    loaded = monograph.estimate(monograph.load(tmp_path / "gpt.pt2"))
    expected = monograph.estimate(program)
    assert loaded.as_json() == expected.as_json()
    with torch.device("meta"):
        module = GPT(n_layers=3, width=16, n_heads=2, n_tokens=50).eval()
        ids = torch.zeros(2, 5, dtype=torch.int64)
    found = monograph.estimate(monograph.export(module, (ids,), dynamic_shapes=SIZES))
    assert found.text(found.flops) == expected.text(expected.flops)
    assert found.state == expected.state


def test_lowered_programs_cost_the_same(gpt):
    """Core ATen has other operators, and as many products."""
    program, _ = gpt
    found = monograph.estimate(program).at(batch=3, seq=11)
    lowered = monograph.estimate(program.run_decompositions()).at(batch=3, seq=11)
    assert lowered.flops == found.flops
