"""`program.to(...)` converts state, graph and contract together, or refuses."""

import pytest
import torch
from torch import nn

import monograph
from monograph.diagnostics import ContractError, UnsupportedError


def program_of(forward, *inputs, **attributes):
    """Export a module with this forward and these parameters, buffers and tensors."""
    module = type("M", (nn.Module,), {"forward": forward})()
    for name, value in attributes.items():
        setattr(module, name, value)
    return monograph.export(module, inputs)


def layer(self, x):
    """Apply a parameter, and make a number from a dimension."""
    return (x @ self.weight).relu() * x.shape[0]


def test_everything_is_converted():
    """State, inputs and results are of the new type; the program itself does not change."""
    weight = nn.Parameter(torch.randn(3, 3))
    program = program_of(layer, torch.randn(2, 3), weight=weight)
    double = program.to(torch.float64)
    x = torch.randn(2, 3, dtype=torch.float64)
    assert torch.equal(double.module()(x), (x @ weight.double()).relu() * 2)
    assert isinstance(double.state_dict["weight"], nn.Parameter)
    assert program.state_dict["weight"] is weight
    with pytest.raises(ContractError):
        double.module()(x.float())
    assert program.to("cpu").state_dict["weight"] is weight
    assert program.to(torch.float32) is program
    both = program.to("meta", torch.float64)
    assert both.module()(x.to("meta")).dtype is torch.float64
    assert str(both.contract).count("f64") == 1


def named(self, x):
    """Name a dtype."""
    return x.to(torch.float32)


def made(self, x):
    """Make a tensor of the default dtype."""
    return x + torch.ones(3)


def promoted(self, x):
    """Make floats of integers."""
    return x + torch.arange(3) / 2


def asked(self, x):
    """Ask for a dtype."""
    return x + torch.finfo(x.dtype).eps


def asked_of_a_sum(self, x):
    """Ask for the dtype of a sum."""
    return x * 2 if torch.result_type(x, 1) is torch.float32 else x


def two(self, x):
    """Compute in two types."""
    return x.double().float()


def literal(self, x):
    """Hold a tensor that `Module.to` does not convert."""
    return x + self.table


@pytest.mark.parametrize(
    ("forward", "said"),
    [
        (named, "names a dtype (test_conversion.py:"),
        (made, "makes f32 of something else"),
        (promoted, "makes f32 of something else"),
        (asked, "asks a tensor for its dtype (test_conversion.py:"),
        (asked_of_a_sum, "asks a tensor for its dtype"),
        (two, "it computes in f32 and f64"),
        (literal, "`table` is a tensor that `Module.to` does not convert"),
    ],
)
@pytest.mark.parametrize("strict", [True, False])
def test_what_the_graph_does_not_tell_is_refused(forward, said, strict):
    """The module in another type may do something else there."""
    module = type("M", (nn.Module,), {"forward": forward})()
    module.table = torch.randn(3)
    program = monograph.export(module, (torch.randn(2, 3),), strict=strict)
    with pytest.raises(UnsupportedError) as refused:
        program.to(torch.bfloat16)
    assert refused.value.diagnostic.name == "dtype-is-fixed"
    assert said in refused.value.diagnostic.headline
    program.to("cpu").validate()


def test_state_that_shares_memory():
    """On another device it shares memory again; `Module.to(dtype)` would part it."""

    def forward(self, x):
        self.part.add_(1)
        return x + self.whole

    module = type("M", (nn.Module,), {"forward": forward})()
    module.register_buffer("whole", torch.zeros(3))
    module.register_buffer("part", module.whole[1:])
    program = monograph.export(module, (torch.randn(2, 3),))
    with pytest.raises(UnsupportedError, match="share memory"):
        program.to(torch.float64)
    moved = program.to("cpu").module()
    moved(torch.randn(2, 3))
    assert moved.whole.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    "arguments", [{"dtype": torch.int32}, {"device": "nowhere"}, {"colour": "red"}]
)
def test_other_arguments_are_refused(arguments):
    """As `Module.to` refuses them."""
    program = program_of(layer, torch.randn(2, 3), weight=nn.Parameter(torch.randn(3, 3)))
    with pytest.raises((TypeError, RuntimeError)):
        program.to(**arguments)


def test_programs_that_were_lowered_are_refused():
    """Formulas were chosen for the type."""
    program = program_of(layer, torch.randn(2, 3), weight=nn.Parameter(torch.randn(3, 3)))
    with pytest.raises(UnsupportedError, match="lowered for f32"):
        program.run_decompositions().to(torch.float64)
