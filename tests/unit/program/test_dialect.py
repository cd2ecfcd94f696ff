"""A lowered program's dialect: what departs from it is named wherever it stands, or refused."""

import io

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import monograph
from monograph.diagnostics import MonographError

aten = torch.ops.aten


class Layered(nn.Module):
    """A linear layer and a branch, a region or what else calls it."""

    def __init__(self, run):
        super().__init__()
        self.run = run
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        return self.run(self, x)


def without_gradients(self, x):
    """In a region that autograd does not see."""
    with torch.no_grad():
        return F.silu(self.linear(x))


def in_less_precision(self, x):
    """In a region that casts."""
    with torch.autocast("cpu", torch.bfloat16):
        return F.silu(self.linear(x))


def in_a_branch(self, x):
    """Where user code asks a tensor."""
    if x.sum() > 0:
        return F.silu(self.linear(x))
    return x - 1


def in_an_operator(self, x):
    """Where user code calls the operator for it."""
    return torch.cond(x.sum() > 0, lambda v: F.silu(self.linear(v)), lambda v: v - 1, (x,))


WHERE = (without_gradients, in_less_precision, in_a_branch, in_an_operator)


@pytest.mark.parametrize("run", WHERE, ids=lambda run: run.__name__)
def test_what_stays_in_a_subgraph_is_named_with_its_reason(run):
    """In files as well; all else there is lowered."""
    table = monograph.default_decompositions()
    del table[aten.linear.default]
    program = monograph.export(Layered(run), (torch.randn(3, 4),))
    lowered = program.run_decompositions(table)
    expected = {"aten.linear.default": "its formula was taken out of the table"}
    assert dict(lowered.exceptions) == expected
    assert not program.run_decompositions().exceptions
    file = io.BytesIO()
    monograph.save(lowered, file)
    file.seek(0)
    assert dict(monograph.load(file).exceptions) == expected


@pytest.mark.parametrize(
    ("op", "args"),
    [
        (aten.relu_.default, ()),
        (aten.add.out, ("input",)),
        (aten.batch_norm.default, (None, None, "mean", "var", True, 0.1, 1e-5, True)),
        (aten.native_batch_norm.default, (None, None, "mean", "var", True, 0.1, 1e-5)),
    ],
    ids=str,
)
def test_a_write_that_a_pass_puts_in_is_refused(op, args):
    """Of statistics too, which the schema keeps quiet about."""
    module = nn.BatchNorm1d(4).eval()
    lowered = monograph.export(module, (torch.randn(3, 4),)).run_decompositions()
    nodes = {"input": lowered.graph.find_nodes(op="placeholder")[-1]}
    nodes |= {s.target.removeprefix("running_"): n for s, n in placeholders(lowered) if s.target}
    value = lowered.graph.output_node().args[0][0]
    with lowered.graph.inserting_after(value):
        given = tuple(nodes.get(arg, arg) if isinstance(arg, str) else arg for arg in args)
        kwargs = {"out": nodes["input"]} if op is aten.add.out else {}
        node = lowered.graph.call_function(op, (nodes["input"], *given), kwargs)
        node.meta["val"] = value.meta["val"]
    with pytest.raises(MonographError, match="whose mutations are outputs") as caught:
        lowered.validate()
    assert caught.value.diagnostic.name == "invalid-program"


def placeholders(program):
    """The inputs with what the signature says of them."""
    nodes = program.graph.find_nodes(op="placeholder")
    return zip(program.graph_signature.input_specs, nodes, strict=True)
