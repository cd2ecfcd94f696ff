"""The record of a graph: what is compared before and after a lowering, and that it is."""

import torch
from torch import nn

import monograph
from monograph.integers import use
from monograph.passes.properties import GraphProperties, differences

aten = torch.ops.aten


def module_of(function):
    """A module whose forward it is."""
    return type("M", (nn.Module,), {"forward": staticmethod(function)})()


def properties(function, *args, fixed=("x",), shapes=None):
    """What a program returns and draws."""
    program = monograph.export(module_of(function), args, dynamic_shapes=shapes, strict=False)
    with use(program.facts):
        found = GraphProperties(program.graph, fixed)
        return found, found.of(program.graph.output_node().args[0])


def test_memory():
    """Of inputs, of one another, of their own, or not known before the call."""

    def forward(x):
        y = x + 1
        return x.t(), y, y[1:], x[:, x.shape[0] % 3 :].contiguous()

    _, found = properties(forward, torch.ones(3, 4), shapes=({0: monograph.Dim("n", min=2)},))
    assert [sorted(each.inputs) for each in found] == [["x"], [], [], ["x"]]
    assert [sorted(each.outputs) for each in found] == [[], [], [1], []]
    assert [each.is_fresh for each in found] == [False, True, True, True]
    assert found[3].memory_text() == "memory of x or memory of its own"


def test_draws():
    """Each operator that draws, also in regions."""

    def forward(x):
        with torch.no_grad():
            y = nn.functional.dropout(x, 0.5)
        return torch.rand(2), y, nn.functional.dropout(x, 1.0)

    assert len(properties(forward, torch.ones(3))[0].draws) == 2


def test_differences():
    """What one output has lost is said of that one."""

    def seen(x):
        return x * 2, x.t(), x.t()

    def copied(x):
        return x * 2, x.t().clone(), x.t()

    one, other = (properties(each, torch.ones(3, 4))[1] for each in (seen, copied))
    assert [*differences(one, one)] == []
    assert [at for at, _ in differences(one, other)] == [1]


def test_a_formula_that_draws_less_is_not_applied():
    """A user's formula is held to what its operator draws."""
    program = monograph.export(module_of(lambda x: nn.functional.dropout(x, 0.5)), (torch.ones(3),))
    table = monograph.default_decompositions()
    table[aten.dropout.default] = lambda x, p, train: x.clone()
    reason = program.run_decompositions(table).exceptions["aten.dropout.default"]
    assert reason.startswith("your formula is not applied: its formula draws none")
    table[aten.dropout.default] = lambda x, p, train: x * (torch.rand_like(x) > p) / (1 - p)
    assert "aten.dropout.default" not in program.run_decompositions(table).exceptions
