"""Checkpoints, functions with a backward of their own, torch.func, compiled and scripted code."""

import warnings

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

import monograph
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings("ignore")  # torch says what is no more
X = torch.randn(4, 3, generator=torch.Generator().manual_seed(0))


class Layer(nn.Module):
    """One layer, and a way to use it."""

    def __init__(self, use):
        super().__init__()
        reseed(1)
        self.layer = nn.Linear(3, 3)
        self.layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))
        self.use = use

    def forward(self, x):
        return self.use(self, x)


class Cube(torch.autograd.Function):
    """With a backward of its own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * x * x * 3


def by_a_branch(model, x):
    """A checkpoint in a branch."""
    if x.sum() > 0:
        x = checkpoint(model.layer, x, use_reentrant=False)
    return x * 2


def cube_by_a_branch(_, x):
    """A function with a backward of its own in a branch."""
    if x.sum() > 0:
        x = Cube.apply(x)
    return x + 1


def straight(x: torch.Tensor):
    """Straight."""
    return x * 2 + 1


def branch(x: torch.Tensor):
    """With a branch on data."""
    if bool(x.sum() > 0):
        return x * 2
    return x * 3


with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torch says that scripting is no more
    scripted, scripted_branch = torch.jit.script(straight), torch.jit.script(branch)


CAPTURED = {
    "checkpoint": lambda m, x: checkpoint(m.layer, x, use_reentrant=False) + 1,
    "checkpoint of many": lambda m, x: checkpoint_sequential(m.layers, 2, x, use_reentrant=False),
    "checkpoint in a branch": by_a_branch,
    "vmap": lambda _, x: torch.func.vmap(lambda row: row * row.sum())(x),
    "grad": lambda _, x: torch.func.grad(lambda y: (y**2).sum())(x),
    "vmap of grad": lambda _, x: torch.func.vmap(torch.func.grad(lambda y: (y**3).sum()))(x),
    "jacrev": lambda _, x: torch.func.jacrev(lambda y: y**2)(x[0]),
    "functional_call": lambda m, x: torch.func.functional_call(
        m.layer, dict(m.layer.named_parameters()), (x,)
    ),
    "compiled function": lambda _, x: torch.compile(lambda y: y * 2, backend="eager")(x) + 1,
    "scripted function": lambda _, x: scripted(x) + 1,
}
WITHOUT_GRADIENTS = {
    "reentrant checkpoint": lambda m, x: checkpoint(m.layer, x, use_reentrant=True) + 1,
    "autograd.Function": lambda _, x: Cube.apply(x) + 1,
    "autograd.Function in a branch": cube_by_a_branch,
}
"""What has a backward of its own, which a program has not."""


@pytest.mark.parametrize("name", CAPTURED)
def test_captured_through(name):
    """Values and gradients are those of eager code."""
    model = Layer(CAPTURED[name])
    program = monograph.export(model, (X.clone(),)).module()
    for value in (X, -X.abs(), X.abs()):
        mine, theirs = (value.clone().requires_grad_() for _ in range(2))
        found, expected = program(mine), model(theirs)
        torch.testing.assert_close(found, expected)
        found.sum().backward()
        expected.sum().backward()
        torch.testing.assert_close(mine.grad, theirs.grad)


@pytest.mark.parametrize("name", WITHOUT_GRADIENTS)
def test_captured_without_gradients(name):
    """Values are right, and a call that would differentiate is refused."""
    model = Layer(WITHOUT_GRADIENTS[name])
    program = monograph.export(model, (X.clone(),)).module()
    with torch.no_grad():
        for value in (X, -X.abs(), X.abs()):
            torch.testing.assert_close(program(value), model(value))
    with pytest.raises(monograph.MonographError, match="needs it"):
        program(X.clone().requires_grad_())


def by_rows(x: torch.Tensor):
    """With a branch on a size."""
    if x.size(0) > 2:
        return x * 2
    return x * 3


def test_a_scripted_function_that_asks_for_sizes():
    """What C++ notes on a tensor that it asks for sizes is nothing that code put there."""
    rows = torch.jit.script(by_rows)
    model = Layer(lambda _, x: rows(x) + 1)
    program = monograph.export(model, (X.clone(),), dynamic_shapes=({0: monograph.Dim.AUTO},))
    torch.testing.assert_close(program.module()(-X), model(-X))  # C++ fixed the size


def test_a_compiled_module():
    """Is captured as if it were not."""
    model = Layer(lambda m, x: m.layer(x))
    model.layer = torch.compile(model.layer, backend="eager")
    program = monograph.export(model, (X.clone(),)).module()
    torch.testing.assert_close(program(-X), model.layer._orig_mod(-X))


@pytest.mark.parametrize("make", [torch.jit.script, lambda m: torch.jit.trace(m, X)])
def test_scripted_modules_are_refused(make):
    """By name."""
    model = Layer(lambda m, x: m.layer(x))
    model.layer = make(model.layer)
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(model, (X.clone(),))
    assert caught.value.diagnostic.name == "scripted-module"


def test_a_branch_in_a_scripted_function_is_refused():
    """Nobody can go both ways in there."""
    with pytest.raises(monograph.MonographError) as caught:
        monograph.export(Layer(lambda _, x: scripted_branch(x)), (X.clone(),))
    assert caught.value.diagnostic.name == "data-dependent-branch"
