"""Stages run in sequence are the whole program: results, state, inputs, contracts, files."""

import copy
import io

import pytest
import torch
from torch import nn

import monograph
from bench.models import GPT
from monograph.diagnostics import ContractError, MonographError
from monograph.verification import compare
from tests.models import hugging_face, own  # noqa: F401 - they register
from tests.models.harness import (
    Exporter,
    assert_buffers_agree,
    assert_same,
    build,
    call,
    captured_once,
    inputs_at,
)
from tests.models.registry import MODELS

OURS = Exporter(monograph.export, monograph)
SIZES = {"ids": {0: monograph.Dim("batch"), 1: monograph.Dim("seq", max=128)}}


@pytest.fixture(scope="module")
def gpt():
    """Six equal blocks between a table and a head."""
    module = GPT(n_layers=6, width=16, n_heads=2, n_tokens=50).eval()
    return monograph.export(module, (torch.randint(0, 50, (2, 5)),), dynamic_shapes=SIZES)


@pytest.mark.parametrize("name", sorted({*MODELS} - {"attention"}))
def test_models_in_stages_answer_as_they_do(name):
    """At each of a model's sizes: results, inputs and buffers after."""
    model = MODELS[name]
    program = captured_once(model, OURS, "named")
    parts = 2 if name in {"containers", "lstm"} else 3
    pipeline = copy.deepcopy(program).split(parts, balance="flops")
    assert len(pipeline.stages) == parts
    _, inputs = build(model)
    whole = program.module()
    for sizes in model.sizes:
        given = inputs_at(inputs, sizes, 22)
        expected, after = call(whole, given)
        found, also = call(pipeline, given)
        assert_same(expected, found, f"the result at {sizes}")
        assert_same(after, also, f"the inputs at {sizes}")
    for stage in pipeline.stages:
        assert_buffers_agree(whole, stage.module())


def test_stages_are_cut_between_blocks_and_balanced(gpt):
    """Six blocks in three stages; a weight is in one, unless it is tied, and one tensor goes on."""
    pipeline = gpt.split(3, balance="flops")
    seen: dict[str, set[int]] = {}
    for number, stage in enumerate(pipeline.stages):
        for name in stage.graph_signature.parameters:
            seen.setdefault(name, set()).add(number)
    assert [name for name, numbers in seen.items() if len(numbers) > 1] == ["tokens.weight"]
    assert [(edge.source, edge.target) for edge in pipeline.edges] == [(0, 1), (1, 2)]
    assert {edge.type for edge in pipeline.edges} == {"f32[batch, seq, 16]"}
    flops = [monograph.estimate(s).at(batch=2, seq=5).flops for s in pipeline.stages]
    assert sum(flops) == monograph.estimate(gpt).at(batch=2, seq=5).flops
    assert max(flops) < 1.5 * sum(flops) / 3
    assert repr(pipeline).startswith("<Pipeline of 3 stages")


def test_stages_have_contracts_of_their_own(gpt):
    """Types, relations of sizes and layouts; a call of the whole is checked as a whole."""
    pipeline = gpt.split(2)
    last = pipeline.stages[1].module()
    for wrong in (
        torch.zeros(2, 5, 17),
        torch.zeros(2, 5, 16, dtype=torch.float64),
        torch.zeros(2, 129, 16),
        torch.zeros(16, 5, 2).transpose(0, 2),
    ):
        with pytest.raises(ContractError):
            last(wrong)
    assert last(torch.zeros(1, 7, 16))[0].shape == (1, 7, 50)
    with pytest.raises(ContractError):
        pipeline(torch.zeros(2, 5))


def test_stages_are_saved_lowered_and_compared(gpt):
    """As any program is; a file is read without the others."""
    pipeline = gpt.split(3)
    ids = torch.randint(0, 50, (3, 8))
    values = pipeline.inputs(ids)
    for stage in pipeline.stages:
        file = io.BytesIO()
        monograph.save(stage, file)
        loaded = monograph.load(io.BytesIO(file.getvalue()))
        names = loaded.graph_signature.user_inputs
        assert names == stage.graph_signature.user_inputs
        made = loaded.run_decompositions().module()(*[values[name] for name in names])
        values.update(zip(loaded.graph_signature.user_outputs, made, strict=True))
        assert compare(stage, loaded)
    torch.testing.assert_close(pipeline.result(values), gpt.module()(ids))


class Counts(nn.Module):
    """A buffer that one stage writes to, and a weight that two share."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.last = nn.Linear(4, 2)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        y = self.norm(self.first(x))
        return self.last(self.second(y)), y.sum(0)


@pytest.mark.parametrize("lowered", [False, True])
def test_state_that_is_written_to_stays_one(lowered):
    """Call after call, in place and as a functional graph; weights are shared with the program."""
    module = Counts()
    program = monograph.export(
        copy.deepcopy(module), (torch.randn(5, 4),), dynamic_shapes="x: n, 4"
    )
    program = program.run_decompositions() if lowered else program
    pipeline = program.split(2)
    assert pipeline.stages[0].state_dict["first.weight"] is program.state_dict["first.weight"]
    for n in (3, 7, 2):
        x = torch.randn(n, 4)
        torch.testing.assert_close(pipeline(x), module(x))
    for name, kept in module.named_buffers():
        holders = [s for s in pipeline.stages if name in s.graph_signature.buffers]
        assert len(holders) == 1
        torch.testing.assert_close(holders[0].state_dict[name], kept)
        torch.testing.assert_close(program.state_dict[name], kept)


class Reads(nn.Module):
    """Statistics that batch normalisation writes without saying so, read by a later layer."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(4)
        self.first, self.last = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        x = self.first(self.norm(x))
        return self.last(x) + self.norm.running_mean


def test_a_buffer_is_read_where_it_is_written_to():
    """Here to the last operator, so there is no place to cut."""
    program = monograph.export(Reads(), (torch.randn(5, 4),))
    with pytest.raises(MonographError, match="not-split"):
        program.split(2)


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        return self.layer(x).relu_()


class Branches(nn.Module):
    """A branch, a loop over a size, rows chosen by data, and writes to an input and to a view."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = Layer(), Layer(), Layer()

    def forward(self, x, y):
        x = self.one(x)
        x = x * 2 if x.sum() > 1 else x - 1
        rows = self.two(x[x[:, 0] > -1])
        kept = [row + y for row in rows]
        y.add_(1)
        out = self.three(torch.stack(kept))
        out[0] += 1
        return {"out": out, "rows": rows, "n": rows.shape[0]}, 3, y


def test_control_flow_data_and_writes():
    """Sizes that depend on data go between stages as those of tensors."""
    module = Branches()
    example = torch.randn(5, 4), torch.randn(4)
    program = monograph.export(module, example, dynamic_shapes="x: n, 4")
    for parts in (2, 3):
        pipeline = program.split(parts)
        for n in (3, 8):
            x, y = torch.randn(n, 4) + 2, torch.randn(4)
            mine = y.clone()
            torch.testing.assert_close(pipeline(x, y), module(x.clone(), mine))
            torch.testing.assert_close(y, mine)


class Returns(nn.Module):
    """Of all kinds: an input, a view, state, a number, what is computed of data, a constant."""

    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x):
        y = self.one(x)
        z = self.two(y)
        return x, y.T, z, self.one.weight, x.shape[0], z.sum().item(), None, "text"


def test_results_of_all_kinds():
    """They come from stages, from the caller, from the state."""
    module = Returns()
    program = monograph.export(module, (torch.randn(5, 4),), dynamic_shapes="x: n, 4")
    x = torch.randn(7, 4)
    for parts in (1, 2):
        found = program.split(parts)(x)
        assert found[0] is x
        assert found[3] is program.state_dict["one.weight"]
        torch.testing.assert_close(found[:6], module(x)[:6])
        assert found[6:] == (None, "text")


def test_gradients_go_through_stages():
    """In one process stages are functions one after the other."""
    module = nn.Sequential(Layer(), Layer(), Layer())
    program = monograph.export(module, (torch.randn(3, 4),))
    x = torch.randn(3, 4)
    program.split(3)(x).sum().backward()
    found = [p.grad for p in program.parameters()]
    program.module().zero_grad()
    module.zero_grad()
    module(x).sum().backward()
    for mine, theirs in zip(found, module.parameters(), strict=True):
        torch.testing.assert_close(mine, theirs.grad)


def test_what_cannot_be_split_is_refused():
    """Too many parts, an input that is written to all the way, objects of the caller's."""

    class Through(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.ModuleList([nn.ReLU(inplace=True) for _ in range(4)])

        def forward(self, x):
            for part in self.parts:
                x = part(x)
            return x

    class Fills(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x, kept):
            kept.append(self.one(x))
            return self.two(x)

    x = torch.randn(3, 4)
    for module, args in ((nn.Linear(4, 4), (x,)), (Through(), (x,)), (Fills(), (x, [x]))):
        program = monograph.export(module, args)
        with pytest.raises(MonographError) as refused:
            program.split(2)
        assert refused.value.diagnostic.name == "not-split"
    with pytest.raises(ValueError, match="balance"):
        program.split(2, balance="colour")
    with pytest.raises(ValueError, match="modules"):
        program.split(2, by="operators")


def test_measured_time():
    """What takes long is divided, whatever has the parameters; measuring leaves state as it is."""

    class Slow(nn.Module):
        def forward(self, x):
            for _ in range(4):
                x = (x @ x.T).tanh() @ x / 400
            return x

    class Counting(nn.Sequential):
        def __init__(self):
            super().__init__(Slow(), Slow(), nn.Linear(16, 16), nn.Linear(16, 16))
            self.register_buffer("n", torch.zeros(()))

        def forward(self, x):
            self.n += 1
            return super().forward(x + self.n)

    module, x = Counting(), torch.randn(400, 16)
    program = monograph.export(copy.deepcopy(module), (x,))
    n_tanh = {
        balance: [str(stage.graph).count("aten.tanh") for stage in pipeline.stages]
        for balance in ("parameters", "time")
        if (pipeline := program.split(by="modules", parts=2, balance=balance))
    }
    assert n_tanh == {"parameters": [8, 0], "time": [4, 4]}
    assert program.state_dict["n"] == 0
    torch.testing.assert_close(pipeline(x), module(x))
    program.example_inputs = None
    with pytest.raises(MonographError, match="example inputs"):
        program.split(2, balance="time")
