"""Parameters go on being taken under their former names."""

import inspect
import io

import pytest
import torch

import monograph
from monograph.keyword_aliases import also_named

X = torch.randn(2, 3)


class Model(torch.nn.Module):
    """A sum."""

    def forward(self, x):
        return x + 1


def test_both_names_are_taken():
    """Those of torch.export, and those from before."""
    programs = [monograph.export(**{name: Model()}, args=(X,)) for name in ("mod", "module")]
    for program in programs:
        file = io.BytesIO()
        monograph.save(ep=program, f=file)
        monograph.save(program=program, file=io.BytesIO())
        assert monograph.load(f=file).module()(X).equal(X + 1)
        file.seek(0)
        assert monograph.load(file=file).module()(X).equal(X + 1)
        assert monograph.unflatten(module=program)(X).equal(X + 1)
        assert monograph.unflatten(program=program)(X).equal(X + 1)
        assert monograph.draft_export(module=Model(), args=(X,)).module()(X).equal(X + 1)


def test_a_parameter_is_given_once():
    """Two names of one parameter are a mistake of the call, as in Python."""
    with pytest.raises(TypeError, match="another name"):
        monograph.export(mod=Model(), module=Model(), args=(X,))


def test_the_signature_shows_todays_names():
    """What tools read of a function is what torch.export has."""

    @also_named(old="new")
    def function(new, *, other=1):
        """Have a docstring."""
        return new, other

    assert str(inspect.signature(function)) == "(new, *, other=1)"
    assert function.__doc__ == "Have a docstring."
    assert function(old=2, other=3) == (2, 3)
