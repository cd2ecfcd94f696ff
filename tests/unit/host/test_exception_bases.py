"""What is raised is caught by code that names torch's classes, where it has imported them."""

import copy
import subprocess
import sys

import pytest
import torch
from torch._dynamo.exc import Unsupported, UserError, UserErrorType
from torch.fx.experimental.symbolic_shapes import (
    ConstraintViolationError,
    GuardOnDataDependentSymNode,
)

import monograph
from monograph import Dim

X = torch.ones(3)


class Sum(torch.nn.Module):
    """Needs equal sizes."""

    def forward(self, x, y):
        return x + y


class Branch(torch.nn.Module):
    """Asks its data."""

    def forward(self, x):
        if x.sum() > 0:
            return x + 1
        return x - 1


class Writes(torch.nn.Module):
    """Leaves something behind."""

    seen = ()

    def forward(self, x):
        Writes.seen = (*Writes.seen, len(Writes.seen))
        return x * len(Writes.seen)


REFUSED = {
    "spec": (
        lambda: monograph.export(Sum(), (X, X), dynamic_shapes={"z": None}),
        monograph.SpecError,
        [UserError, ValueError],
        UserErrorType.INVALID_INPUT,
    ),
    "constraint": (
        lambda: monograph.export(Sum(), (X, X), dynamic_shapes=({0: Dim("a")}, {0: Dim("b")})),
        monograph.ConstraintViolation,
        [UserError, ConstraintViolationError, ValueError, RuntimeError],
        UserErrorType.CONSTRAINT_VIOLATION,
    ),
    "data": (
        lambda: monograph.export(Branch(), (X,), control_flow="refuse"),
        monograph.DataDependentError,
        [UserError, GuardOnDataDependentSymNode, RuntimeError],
        UserErrorType.ANTI_PATTERN,
    ),
    "effect": (
        lambda: monograph.export(Writes(), (X,)),
        monograph.SideEffectError,
        [UserError, Unsupported, RuntimeError],
        UserErrorType.ANTI_PATTERN,
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_torchs_classes_catch_ours(name):
    """The class that is shown is ours, and so are its text and its data."""
    call, ours, theirs, error_type = REFUSED[name]
    for kind in (ours, *theirs):
        with pytest.raises(kind) as raised:
            call()
        error = raised.value
        assert type(error).__name__ == ours.__name__
        assert type(error).__module__ == ours.__module__
        assert error.error_type is error_type
        assert error.msg == error.args[0] == str(error)
        assert isinstance(error.diagnostic, monograph.diagnostics.Diagnostic)
        copied = copy.copy(error)
        assert type(copied) is type(error)
        assert str(copied) == str(error)


def test_a_group_is_caught_as_its_members():
    """Several mistakes, and several of different kinds."""
    with pytest.raises(UserError) as raised:
        monograph.export(Sum(), (X, X), dynamic_shapes={"x": {0: 4}, "y": {7: Dim("n")}})
    assert len(raised.value.problems) == 2


def test_a_call_is_refused_as_torch_refuses_it():
    """Guards of torch.export are assertions; earlier ones were run-time errors."""
    module = monograph.export(Sum(), (X, X)).module()
    for kind in (AssertionError, RuntimeError, monograph.ContractError):
        with pytest.raises(kind):
            module(torch.ones(4), torch.ones(4))


def test_nothing_is_imported_for_it():
    """Where Dynamo is not loaded, nobody can catch its classes, and ours have no bases more."""
    code = """
import sys, torch, monograph
try:
    monograph.export(3)
except monograph.SpecError as error:
    assert type(error) is monograph.SpecError
assert "torch._dynamo.exc" not in sys.modules
import torch._dynamo.exc
try:
    monograph.export(3)
except torch._dynamo.exc.UserError as error:
    assert isinstance(error, monograph.SpecError)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
