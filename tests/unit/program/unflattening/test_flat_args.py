"""Adapters make the inputs of calls that are structured otherwise than the program."""

import copy

import pytest
import torch

import monograph
from monograph.unflatten import InterpreterModule, InterpreterModuleDispatcher

X = torch.randn(2, 3)


class Model(torch.nn.Module):
    """Takes a dictionary."""

    def forward(self, values):
        return values["a"] - values["b"]


class Sorted(monograph.FlatArgsAdapter):
    """Gives the leaves of another dictionary, keys in order."""

    def __init__(self):
        self.seen = []

    def adapt(self, target_spec, input_spec, input_args, metadata=None, obj=None):
        self.seen.append((target_spec, input_spec, type(obj).__name__))
        return input_args[-2:]


def unflattened(adapter):
    """The program of the model, with an adapter."""
    return monograph.unflatten(monograph.export(Model(), ({"a": X, "b": X * 2},)), adapter)


def test_other_structures_are_adapted_and_the_same_is_not():
    """It is asked where the structure differs, and its result is checked as any input is."""
    adapter = Sorted()
    module = unflattened(adapter)
    assert module({"a": X, "b": X * 2}).equal(-X)
    assert adapter.seen == []
    assert module(torch.zeros(1), {"x": X, "y": X * 2}).equal(-X)
    assert adapter.seen[0][0] != adapter.seen[0][1]
    assert adapter.seen[0][2] == "UnflattenedModule"
    with pytest.raises(monograph.ContractError):
        module(torch.zeros(1), {"x": X[:1], "y": X})
    assert copy.deepcopy(module)(torch.zeros(1), {"x": X, "y": X}).equal(X - X)
    assert adapter.get_flat_arg_paths() == []


def test_a_wrong_number_of_inputs_is_refused():
    """By name."""
    module = unflattened(Sorted())
    with pytest.raises(monograph.ContractError, match="adapter returned"):
        module(X)


def test_a_module_with_several_graphs_lists_them():
    """It is what torch calls a dispatcher."""

    class Counting(torch.nn.Module):
        def forward(self, x, n):
            return x + n

    class Outer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = Counting()

        def forward(self, x):
            return self.inner(self.inner(x, 1), 2)

    kept = {"preserve_module_call_signature": ("inner",)}
    module = monograph.unflatten(monograph.export(Outer(), (X,), **kept))
    assert isinstance(module.inner, InterpreterModule)
    assert isinstance(module.inner, InterpreterModuleDispatcher)
    assert len(module.inner.call_modules()) == 2
    assert module(X).equal(X + 1 + 2)
