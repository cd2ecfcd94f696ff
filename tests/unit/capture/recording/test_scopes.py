"""What nodes say of where they come from, beside what torch.export's say."""

import io

import pytest
import torch
from torch import nn
from torch.fx.traceback import annotate, preserve_node_meta

import monograph
from tests.archive.peers import quietly


class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        with annotate({"stage": 1}):
            x = self.layer(x)
        self.count.add_(1)
        return torch.relu(x)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.more = nn.ModuleList([Inner()])

    def forward(self, x, i):
        n = i.item()
        torch._check(n >= 2)
        torch._check(n <= 3)
        y = self.more[0](self.inner(self.inner(x))) * 2
        return torch.chunk(y, 2, -1)[0].narrow(0, 0, n)


ARGS = torch.randn(4, 4), torch.tensor(2)
KEYS = "nn_module_stack", "torch_fn", "custom"


def told(program):
    """By the operators in order, without assertions and numbers: what the nodes say."""
    found = []
    for node in program.graph.nodes:
        if node.op == "call_function" and str(node.target).startswith("aten"):
            name, stack = str(node.target), node.meta.get("nn_module_stack") or {}
            if "assert" in name or "sym_size" in name:
                continue
            function, kind = node.meta["torch_fn"]
            notes = node.meta.get("custom") or {}
            stage = {key: value for key, value in notes.items() if "dynamo" not in key}
            found.append((name, list(stack.items()), function, kind.split(".")[1], stage))
    return found


@pytest.mark.parametrize("strict", [True, False])
def test_nodes_say_what_torch_exports_say(strict):
    """The stack with its keys, the function, and what `annotate` notes."""
    with quietly(), preserve_node_meta():
        theirs = torch.export.export(Model(), ARGS)
    ours = monograph.export(Model(), ARGS, strict=strict)
    assert told(ours) == told(theirs)
    assert {"stage": 1} in [each[-1] for each in told(ours)]


def test_assertions_are_at_the_lines_that_ask():
    """So are the comparisons; not at the line of the operator that comes after, in its module."""
    program = monograph.export(Model(), ARGS)
    asked = [node for node in program.graph.nodes if "_assert_scalar" in node.name]
    assert len(asked) == 2
    for node, code in zip(asked, ("n >= 2", "n <= 3"), strict=True):
        for each in (node, node.args[0]):
            assert each.meta["stack_trace"].rstrip().endswith(f"torch._check({code})")
        assert list(node.meta["nn_module_stack"]) == ["L__self__"]
        assert "custom" not in node.meta
    assert [name for name, _ in monograph.unflatten(program).named_children()] == [
        *("_guards_fn", "inner", "more")
    ]


class Checked(nn.Module):
    def forward(self, x, n):
        torch._check(n < 100)
        return x + n


class Later(nn.Module):
    """Asks in a module that computes nothing after, and asks in one of what another has read."""

    def __init__(self):
        super().__init__()
        self.first, self.second = Checked(), Checked()
        self.asks = Asks()

    def forward(self, x, i):
        n = i.item()
        x = self.first(x, n)
        self.asks(n)
        return self.second(x, n * 2)


class Asks(nn.Module):
    def forward(self, n):
        torch._check(n > 0)


@pytest.mark.parametrize("strict", [True, False])
def test_modules_stay_whole_around_assertions(strict):
    """Unflattened, each is called once; and it refuses what it refused."""
    program = monograph.export(Later(), (torch.ones(3), torch.tensor(4)), strict=strict)
    module = monograph.unflatten(program)
    x = torch.arange(3.0)
    for n in (1, 30):
        torch.testing.assert_close(module(x, torch.tensor(n)), Later()(x, torch.tensor(n)))
    for n in (0, 60, 200):
        for each in (module, program.module()):
            with pytest.raises(RuntimeError):
                each(x, torch.tensor(n))
    called = [node.target for node in module.graph.nodes if node.op == "call_module"]
    assert len(called) == len(set(called))


def test_nodes_say_the_same_after_lowering_and_from_a_file():
    """What a formula makes has the function and the notes of what it is made for."""
    program = monograph.export(Model(), ARGS)
    file = io.BytesIO()
    monograph.save(program, file)
    assert told(monograph.load(file)) == told(program)
    lowered = told(program.run_decompositions())
    assert {each[2] for each in lowered} >= {"linear_1", "linear_3", "relu_2", "mul_1"}
    assert [each[-1] for each in lowered if each[2] == "linear_1"] == [{"stage": 1}] * 2
