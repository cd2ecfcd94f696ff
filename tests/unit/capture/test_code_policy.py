"""Code policy: what runs beneath a forward, and is nobody's model."""

import contextlib
import importlib

import _pytest.assertion.rewrite
import pluggy
import pytest
import torch
from torch import nn

import monograph
from monograph.capture.code_policy import is_entered, is_users
from monograph.capture.side_effects.digests import Digests


@pytest.mark.parametrize("module", [_pytest.assertion.rewrite, pluggy._manager])
def test_a_test_runner_is_no_model(module):
    """Its `assert` and its importer are called by forward, and lead to the whole session."""
    assert not is_users(module.__file__)
    assert not is_entered(module.__file__, "find_spec")
    assert is_users(__file__)


class Checks(nn.Module):
    """Has a statement that fails, an import that does, and looks at its globals."""

    def forward(self, x):
        """Fail, import, look."""
        with contextlib.suppress(AssertionError):
            assert [x.ndim, "a longer text"] == [3, "another text"]
        with contextlib.suppress(ImportError):
            importlib.import_module("nothing_of_this_name")
        return x * len(globals()["__name__"])


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
def test_nothing_of_a_test_session_is_read(strict, monkeypatch):
    """It has an object for each test, and each capture read them all, for minutes."""
    met: list[str] = []
    read = Digests._read

    def told(self, value, *place):
        met.append(type(value).__module__)
        return read(self, value, *place)

    monkeypatch.setattr(Digests, "_read", told)
    example = torch.randn(2)
    program = monograph.export(Checks(), (example,), strict=strict)
    assert torch.equal(program.module()(example), example * len(__name__))
    assert not {"_pytest.main", "_pytest.config", "pluggy._manager"} & set(met)
