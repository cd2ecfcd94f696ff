"""What crosses the border of a module whose call is kept is recorded, and stays in the graph."""

import pytest
import torch
from torch import nn

from monograph import SpecError, export


class Inner(nn.Module):
    """Returns more than is used."""

    def forward(self, x, n, *, mode="a"):
        return x * n, (x + 1, mode)


class Outer(nn.Module):
    """Calls it twice, in one way and in another."""

    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        y, _ = self.inner(x, x.shape[0])
        return self.inner(y, 3, mode="b")[0]


def signatures(**options):
    """Give the recorded calls by key."""
    program = export(Outer(), (torch.ones(4, 3),), **options)
    return program, {entry.fqn: entry.signature for entry in program.module_call_graph}


def test_calls_are_listed_whether_kept_or_not():
    """Each call has an entry, later ones are numbered, and only kept ones have a signature."""
    _, found = signatures()
    assert list(found) == ["", "inner", "inner@1"]
    assert found["inner"] is None


def test_a_kept_call_names_its_values():
    """Tensors, sizes and constants are recorded in the order and structure of the call."""
    program, found = signatures(
        dynamic_shapes="x: batch, 3", preserve_module_call_signature=["inner"]
    )
    first, second = found["inner"], found["inner@1"]
    assert [type(each).__name__ for each in first.inputs] == ["TensorArgument", "SymIntArgument"]
    assert [type(each).__name__ for each in second.inputs] == [
        "TensorArgument",
        "ConstantArgument",
        "ConstantArgument",
    ]
    assert second.forward_arg_names == ["x", "n", "mode"]
    assert second.out_spec.num_leaves == 3
    names = {node.name for node in program.graph.nodes}
    assert {each.name for each in (*first.outputs[:2], *second.outputs[:2])} <= names


def test_what_nobody_uses_goes_unless_the_call_is_kept():
    """An unused result stays in the graph for the sake of a kept call alone."""
    plain, _ = signatures()
    kept, _ = signatures(preserve_module_call_signature=["inner"])
    assert len(kept.graph.nodes) == len(plain.graph.nodes) + 2


def test_a_module_that_does_not_exist_is_refused():
    """The refusal names what is missing and what is near."""
    with pytest.raises(SpecError, match="`iner`") as caught:
        signatures(preserve_module_call_signature=["iner"])
    assert "did you mean `inner`?" in str(caught.value)
