"""`build` puts the pieces where the program's readers look for them."""

import torch

from monograph.program import ModuleCallEntry, ValueRange
from monograph.program.program import int_oo


def test_pieces_are_where_they_are_read(parts):
    """State is copied shallowly, ranges come from the contract, the root call is described."""
    program = parts.build()
    assert program.state_dict == parts.given["state_dict"]
    assert program.state_dict is not parts.given["state_dict"]
    assert program.range_constraints == {parts.symbol: ValueRange(2, int_oo)}
    assert program.call_names.parameters() == "x, batch, *, k"
    assert program.example_inputs == parts.given["example_inputs"]
    assert "_code" not in vars(program.graph_module)


def test_what_may_be_given(parts):
    """Ranges, the mode and further module calls override the defaults."""
    parts.given |= {
        "range_constraints": {"u0": ValueRange()},
        "training": False,
        "module_calls": [ModuleCallEntry("lin")],
        "submodules": {"extra": torch.nn.Module()},
    }
    program = parts.build()
    assert str(program).endswith("Range constraints: {u0: VR[-int_oo, int_oo]}\n")
    assert [entry.fqn for entry in program.module_call_graph] == ["", "lin"]
    module = program.module()
    assert not module.training
    assert not module.lin.training
    assert module.eval() is module
    assert "extra" in dict(program.graph_module.named_children())
