"""A program describes itself, refuses to be used as a module, and can be copied."""

import copy
import pickle
import weakref

import pytest
import torch
from torch._export.verifier import SpecViolationError

import monograph
from monograph.diagnostics import UnsupportedError
from monograph.program import ValueRange

TEXT = """\
ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_lin_weight: "f32[5, 3]", b_steps: "f32[]", b_cache: "f32[5]", \
c_scale: "f32[5]", x: "f32[4, 3]", batch_mask: "f32[4, 5]", k):
            # No stacktrace found for following nodes
            add_: "f32[]" = torch.ops.aten.add_.Tensor(b_steps, 1);  add_ = None
            linear: "f32[4, 5]" = torch.ops.aten.linear.default(x, p_lin_weight);  x = p_lin_weight = None
            mul: "f32[4, 5]" = torch.ops.aten.mul.Tensor(linear, c_scale);  linear = c_scale = None
            add: "f32[4, 5]" = torch.ops.aten.add.Tensor(mul, b_cache);  mul = b_cache = None
            add_1: "f32[4, 5]" = torch.ops.aten.add.Tensor(add, batch_mask);  add = batch_mask = None
            add_2: "f32[]" = torch.ops.aten.add.Tensor(b_steps, 2);  b_steps = None
            return (add_1, 2, add_2)
····
Graph signature:·
    # inputs
    p_lin_weight: PARAMETER target='lin.weight'
    b_steps: BUFFER target='steps' persistent=True
    b_cache: BUFFER target='cache' persistent=False
    c_scale: CONSTANT_TENSOR target='scale'
    x: USER_INPUT
    batch_mask: USER_INPUT
    k: USER_INPUT
····
    # outputs
    add_1: USER_OUTPUT
    : USER_OUTPUT
    add_2: USER_OUTPUT
····
    # mutated in place
    b_steps: target='steps'
····
Range constraints: {s0: VR[2, int_oo]}
"""  # noqa: E501  (torch's own form; a dot stands for a space at the end of a line)


def test_text(program):
    """Programs print in torch's form."""
    assert str(program) == TEXT.replace("·", " ")


def test_state_by_name(program, parts):
    """Parameters and buffers come with their names, the non-persistent from the constants."""
    model = parts.model
    assert dict(program.named_parameters()) == dict(model.named_parameters())
    assert dict(program.named_buffers()) == dict(model.named_buffers())
    assert list(program.parameters()) == list(model.parameters())
    assert len(list(program.buffers())) == 2
    assert program.tensor_constants is program.constants


def test_torchs_attributes(program):
    """What programs written against torch.export look up is there."""
    assert program.call_spec.in_spec is program.in_spec
    assert program.call_spec.out_spec is program.out_spec
    (root,) = program.module_call_graph
    assert root.fqn == ""
    assert root.signature.forward_arg_names == ["x", "batch", "k"]
    assert program.dialect == "TRAINING"
    assert program.graph is program.graph_module.graph
    assert program.verifiers == [program.verifier]
    assert weakref.ref(program)() is program


@pytest.mark.parametrize(
    ("use", "name"),
    [
        (lambda p: p(torch.ones(4, 3)), "program-called"),
        (lambda p: p.train(), "mode-is-fixed"),
        (lambda p: p.train(False), "mode-is-fixed"),
        (lambda p: p.eval(), "mode-is-fixed"),
    ],
)
def test_a_program_is_not_a_module(program, use, name):
    """Calling it or changing its mode says what to do instead."""
    with pytest.raises(UnsupportedError) as refused:
        use(program)
    assert refused.value.diagnostic.name == name
    assert refused.value.diagnostic.helps


def test_a_program_is_not_pickled(program):
    """Nor written by `torch.save`; a shallow copy shares everything."""
    with pytest.raises(UnsupportedError) as refused:
        pickle.dumps(program)
    assert refused.value.diagnostic.name == "program-pickled"
    assert copy.copy(program).graph_module is program.graph_module


def test_ranges_print_as_torchs():
    """Open ends are infinite, and membership is that of the range."""
    assert str(ValueRange(0)) == "VR[0, int_oo]"
    assert repr(ValueRange(upper=3)) == "VR[-int_oo, 3]"
    assert ValueRange(0).upper > 10**30
    assert copy.deepcopy(ValueRange(0)) == ValueRange(0, -ValueRange().lower)
    assert 3 in ValueRange(2, 3)
    assert 4 not in ValueRange(2, 3)
    assert "3" not in ValueRange(2, 3)


def test_copies_are_programs(program):
    """A deep copy is valid, answers alike, and has state of its own."""
    copied = copy.deepcopy(program)
    copied.validate()
    x, batch = torch.randn(4, 3), {"mask": torch.randn(4, 5)}
    assert torch.equal(
        copied.module()(x, batch, k=2)[0]["y"], program.module()(x, batch, k=2)[0]["y"]
    )
    assert copied.state_dict["lin.weight"] is not program.state_dict["lin.weight"]
    assert program.constants.keys() == copied.constants.keys()


class Sized(torch.nn.Module):
    def forward(self, x, y, z):
        return x.sum() + y.sum() + z.sum(), x.nonzero()


def test_ranges_are_those_of_torch_export():
    """Of symbols and of what inputs have that is computed of them, with the same ends."""
    args = torch.ones(4), torch.ones(8), torch.ones(3)

    def ranges(exporter):
        n = exporter.Dim("n", min=2, max=256)
        sizes = {"x": {0: n}, "y": {0: 2 * n}, "z": {0: exporter.Dim("m", min=3)}}
        found = exporter.export(Sized(), args, dynamic_shapes=sizes).range_constraints
        return sorted(str(span) for span in found.values())

    assert ranges(monograph) == ranges(torch.export)


class Kept(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.ones(3))

    def forward(self, x, *, y):
        return x + y + self.a


def kept():
    """A program with a parameter, and an argument by keyword."""
    return monograph.export(Kept(), (torch.ones(3),), {"y": torch.ones(3)})


@pytest.mark.parametrize("value", [torch.ones(3), torch.nn.Parameter(torch.ones(7)), None])
def test_a_program_is_validated_with_its_state(value):
    """A parameter is one, of the type that the graph was made for."""
    program = kept()
    program.validate()
    program.state_dict["a"] = value
    with pytest.raises(monograph.MonographError, match="`a`") as refused:
        program.validate()
    assert isinstance(refused.value, SpecViolationError)


def test_a_program_is_validated_with_its_examples():
    """Others may be put in their place, if they are arguments as the program takes them."""
    program = kept()
    for given in (((torch.zeros(3),), {"y": torch.zeros(3)}), None):
        program.example_inputs = given
        program.validate()
    program.example_inputs = ((torch.ones(3),), {})
    with pytest.raises(monograph.ContractError):
        program.validate()
