"""Attributes that a user set on a tensor: a call that has others than the example is refused."""

import io

import pytest
import torch
from torch import nn

import monograph
from monograph import ContractError


def with_default(x):
    """A default where there is none."""
    return x + getattr(x, "tag", 2)


def has(x):
    """A branch."""
    return x * 2 if hasattr(x, "tag") else x * 3


def tried(x):
    """An error that is caught."""
    try:
        return x + x.tag
    except AttributeError:
        return x + 2


def of_a_view(x):
    """A view has none, whatever the input has."""
    y = x[1:]
    return y * 2 if hasattr(y, "tag") else y * 3


def tagged(x, tag):
    """The tensor with an attribute."""
    x.tag = tag
    return x


def forms(function, *, strict):
    """The program plain, lowered, and saved and loaded."""
    module = type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()
    program = monograph.export(module, (torch.ones(3),), strict=strict)
    file = io.BytesIO()
    monograph.save(program, file)
    file.seek(0)
    return program, program.run_decompositions(), monograph.load(file)


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", [with_default, has, tried])
def test_a_call_with_attributes_is_refused(function, strict):
    """The example had none."""
    for program in forms(function, strict=strict):
        given = torch.arange(3.0)
        assert torch.equal(program.module()(given), function(given))
        with pytest.raises(ContractError, match="__dict__"):
            program.module()(tagged(torch.arange(3.0), 7))


@pytest.mark.parametrize("strict", [True, False])
def test_views_have_none(strict):
    """What a program makes has the attributes that it sets."""
    for program in forms(of_a_view, strict=strict):
        given = tagged(torch.arange(3.0), 7)
        assert torch.equal(program.module()(given), of_a_view(given))


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("function", [with_default, has, tried])
def test_an_example_with_attributes_is_refused(function, strict):
    """The program would repeat what they are now."""
    module = type(function.__name__, (nn.Module,), {"forward": staticmethod(function)})()
    with pytest.raises(monograph.MonographError, match=r"outside-read"):
        monograph.export(module, (tagged(torch.ones(3), 1),), strict=strict)


def test_nobody_asks():
    """Attributes that no code looks for are allowed."""
    module = nn.Linear(3, 3)
    program = monograph.export(module, (tagged(torch.ones(2, 3), 1),))
    given = tagged(torch.randn(2, 3), "other")
    assert torch.equal(program.module()(given), module(given))
