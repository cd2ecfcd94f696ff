"""A call that is given the memory of the module's own buffer or parameter."""

import copy

import pytest
import torch
from torch import nn

from monograph import export
from monograph.diagnostics import ContractError
from tests.contract.forms import FORMS


class Own(nn.Module):
    """A parameter and a buffer."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4), requires_grad=False)
        self.register_buffer("b", torch.arange(4.0))


class Written(Own):
    """Writes to the buffer, then reads the input."""

    def forward(self, x):
        self.b.add_(1)
        return x * 2


class Replaced(Own):
    """Replaces the buffer, which leaves the old one as it is."""

    def forward(self, x):
        self.b = self.b + 1
        return x * 2


class InputWritten(Own):
    """Writes to the input, then reads the parameter."""

    def forward(self, x):
        x.mul_(3)
        return self.w + 1


class Read(Own):
    """Only reads."""

    def forward(self, x):
        return x + self.b * self.w


class ReadBefore(Own):
    """Reads the input, then writes to the buffer."""

    def forward(self, x):
        y = x * 2
        self.b.add_(1)
        return y


def after(module, name):
    """The result of a call with the module's own tensor, and what that holds then."""
    given = dict([*module.named_parameters(), *module.named_buffers()])[name]
    result = module(given)
    state = {key: value.detach().clone() for key, value in module.state_dict().items()}
    return result.detach(), given.detach().clone(), state


def refused_or(function, *args):
    """The words of a refusal, or the result."""
    try:
        return function(*args)
    except ContractError as error:
        return str(error)


MUST = {Read, ReadBefore}
"""Where it makes no difference that the memory is one."""


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("name", ["w", "b"])
@pytest.mark.parametrize("kind", [Written, Replaced, InputWritten, Read, ReadBefore])
def test_own_state_as_an_input(kind, name, form):
    """It agrees with eager, or is refused by the names of both."""
    module = kind()
    expected = after(copy.deepcopy(module), name)
    program = form.callable_from(form.export(module, (torch.ones(4),), {}, None))
    assert torch.equal(program(torch.full((4,), 5.0)), kind()(torch.full((4,), 5.0)))
    program.load_state_dict(kind().state_dict())
    got = refused_or(after, program, name)
    if isinstance(got, str):
        assert kind not in MUST, got
        assert f"memory apart from `{name}`" in got
        return
    for one, other in zip(got[:2], expected[:2], strict=True):
        assert torch.equal(one, other)
    assert all(torch.equal(got[2][key], value) for key, value in expected[2].items())


def test_the_text_and_the_other_side_are_told():
    """Python text asserts it; the text of a program that is lowered, too."""
    program = export(Written(), (torch.ones(4),)).run_decompositions()
    assert "overlap(" in program.to_python()
    scope = {}
    exec(program.to_python(), scope)
    state = {**program.state_dict, **program.constants}
    with pytest.raises(AssertionError):
        scope["forward"](state, state["b"])
