"""Signatures have torch's fields, properties and text."""

import dataclasses

import pytest
import torch
from torch.export import graph_signature as theirs

from monograph.program import signature as ours

NAMES = [
    "ConstantArgument",
    "CustomObjArgument",
    "ExportBackwardSignature",
    "InputSpec",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "TokenArgument",
]


@pytest.mark.parametrize("name", NAMES)
def test_fields_are_torchs(name):
    """Every class has the fields of torch's, in the same order, with the same defaults."""

    def fields(cls):
        return [(each.name, each.default) for each in dataclasses.fields(cls)]

    assert fields(getattr(ours, name)) == fields(getattr(theirs, name))


@pytest.mark.parametrize("name", ["InputKind", "OutputKind"])
def test_kinds_are_torchs(name):
    """Kinds have torch's names and numbers."""
    assert {each.name: each.value for each in getattr(ours, name)} == {
        each.name: each.value for each in getattr(theirs, name)
    }


def signature(module):
    """A signature with every kind in it, ours or theirs."""
    kinds, outs = module.InputKind, module.OutputKind
    tensor, constant = module.TensorArgument, module.ConstantArgument
    return module.ExportGraphSignature(
        input_specs=[
            module.InputSpec(kinds.TOKEN, module.TokenArgument("token"), None),
            module.InputSpec(kinds.PARAMETER, tensor("p_w"), "w"),
            module.InputSpec(kinds.BUFFER, tensor("b_n"), "n", True),
            module.InputSpec(kinds.BUFFER, tensor("b_m"), "a.m", False),
            module.InputSpec(kinds.CONSTANT_TENSOR, tensor("c_t"), "t"),
            module.InputSpec(kinds.CUSTOM_OBJ, module.CustomObjArgument("obj", "C"), "obj"),
            module.InputSpec(kinds.USER_INPUT, tensor("x"), None),
            module.InputSpec(kinds.USER_INPUT, module.SymIntArgument("n"), None),
            module.InputSpec(kinds.USER_INPUT, constant("mode", "sum"), None),
        ],
        output_specs=[
            module.OutputSpec(outs.TOKEN, module.TokenArgument("token_1"), None),
            module.OutputSpec(outs.BUFFER_MUTATION, tensor("add"), "n"),
            module.OutputSpec(outs.PARAMETER_MUTATION, tensor("sub"), "w"),
            module.OutputSpec(outs.USER_INPUT_MUTATION, tensor("mul"), "x"),
            module.OutputSpec(outs.LOSS_OUTPUT, tensor("loss"), None),
            module.OutputSpec(outs.GRADIENT_TO_PARAMETER, tensor("g"), "w"),
            module.OutputSpec(outs.GRADIENT_TO_USER_INPUT, tensor("h"), "x"),
            module.OutputSpec(outs.USER_OUTPUT, tensor("y"), None),
            module.OutputSpec(outs.USER_OUTPUT, constant("", None), None),
        ],
    )


PROPERTIES = [
    name
    for name, value in vars(theirs.ExportGraphSignature).items()
    if isinstance(value, property) and name != "backward_signature"
]


@pytest.mark.parametrize("name", PROPERTIES)
def test_properties_are_torchs(name):
    """Every property of torch's signature exists and gives the same."""
    mine, other = getattr(signature(ours), name), getattr(signature(theirs), name)
    assert type(mine) is type(other)
    assert mine == other


def test_backward_signature_is_torchs():
    """A graph with a loss says which outputs are gradients; one without says nothing."""
    mine, other = (signature(module).backward_signature for module in (ours, theirs))
    assert dataclasses.asdict(mine) == dataclasses.asdict(other)
    assert ours.ExportGraphSignature([], []).backward_signature is None


def test_text_is_torchs():
    """Signatures print as torch's; what is mutated in place comes below, under its own heading."""
    assert str(signature(ours)) == str(signature(theirs))
    mutating = signature(ours)
    mutating.mutated_in_place = {"b_n": "n", "x": "x"}
    assert str(mutating) == str(signature(theirs)) + "\n# mutated in place\nb_n: target='n'\nx\n"


def test_renaming_reaches_every_use():
    """`replace_all_uses` renames inputs, outputs and what is mutated in place."""
    mine, other = signature(ours), signature(theirs)
    mine.mutated_in_place = {"x": "x"}
    for each in (mine, other):
        each.replace_all_uses("x", "x_1")
        each.replace_all_uses("y", "y_1")
        each.replace_all_uses("mode", "mode_1")
    assert (mine.user_inputs, mine.user_outputs) == (other.user_inputs, other.user_outputs)
    assert mine.mutated_in_place == {"x_1": "x"}


def test_the_replace_hook_follows_a_pass():
    """With the hook set, replacing an output's node keeps the signature in step."""
    module = torch.fx.symbolic_trace(lambda x: x.sin())
    (sin,) = module.graph.find_nodes(op="call_method", target="sin")
    mine = ours.ExportGraphSignature(
        [], [ours.OutputSpec(ours.OutputKind.USER_OUTPUT, ours.TensorArgument("sin"), None)]
    )
    with module._set_replace_hook(mine.get_replace_hook()), module.graph.inserting_after(sin):
        cos = module.graph.call_method("cos", sin.args)
        sin.replace_all_uses_with(cos)
    assert mine.user_outputs == ("cos",)


def test_a_buffer_says_whether_it_persists():
    """The flag that decides whether the state dict has a buffer cannot be forgotten."""
    with pytest.raises(ValueError, match="persistent"):
        ours.InputSpec(ours.InputKind.BUFFER, ours.TensorArgument("b"), "b")
