"""Training a program is training its module: the same gradients, the same weights at each step."""

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.contract.forms import FORMS
from tests.seeding import reseed

pytestmark = pytest.mark.filterwarnings("ignore")

DIM = 6


class Layers(nn.Module):
    """Linear layers, normalisation, an activation and dropout without chance."""

    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(DIM, 8), nn.LayerNorm(8), nn.GELU(), nn.Dropout(0.0))
        self.head = nn.Linear(8, DIM)

    def forward(self, x):
        return self.head(self.layers(x))


class Images(nn.Module):
    """Convolutions, and batch normalisation that updates its statistics."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv1d(1, 4, 3, padding=1), nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.conv(x[:, None])).relu().mean(1)


class Tied(nn.Module):
    """One weight in two places."""

    def __init__(self):
        super().__init__()
        self.down, self.up = nn.Linear(DIM, 4), nn.Linear(4, DIM, bias=False)
        self.up.weight = nn.Parameter(torch.randn(DIM, 4))
        self.again = nn.Linear(4, DIM)
        self.again.weight = self.up.weight

    def forward(self, x):
        y = self.down(x)
        return self.up(y) + self.again(y.tanh())


class PartFrozen(Layers):
    """Some parameters require no gradient to begin with."""

    def __init__(self):
        super().__init__()
        self.layers.requires_grad_(False)


class Cut(nn.Module):
    """Parts of the computation are not followed."""

    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = (nn.Linear(DIM, DIM) for _ in range(3))

    def forward(self, x):
        with torch.no_grad():
            target = self.one(x)
        y = self.two(x)
        return self.three(y) + target * y.detach() + self.one(y.sin())


class Counting(nn.Module):
    """Writes to buffers, one of which is an average that needs no gradient."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(DIM, DIM)
        self.register_buffer("steps", torch.zeros(()))
        self.register_buffer("mean", torch.zeros(DIM), persistent=False)

    def forward(self, x):
        y = self.layer(x)
        self.steps += 1
        self.mean.mul_(0.9).add_(y.detach().mean(0), alpha=0.1)
        return y - self.mean * self.steps


class Written(nn.Module):
    """Intermediate results are written to in place."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(DIM, DIM)

    def forward(self, x):
        y = self.layer(x).mul_(2)
        y[:, 0] = x[:, 0] * self.layer.bias[0]
        y[1:].add_(x[1:])
        return torch.relu_(y)


class Recurrent(nn.Module):
    """A loop over one cell."""

    def __init__(self):
        super().__init__()
        self.cell = nn.GRUCell(1, DIM)

    def forward(self, x):
        state = torch.zeros_like(x)
        for step in x.split(1, -1):
            state = self.cell(step, state)
        return state


MODULES = (Layers, Images, Tied, PartFrozen, Cut, Counting, Written, Recurrent)


def freeze(module, name):
    """Stop following one parameter."""
    dict(module.named_parameters())[name].requires_grad_(False)


def thaw(module, _name):
    """Follow all parameters."""
    module.requires_grad_()


CHANGES = {"as exported": None, "one frozen": freeze, "all thawed": thaw}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kind", MODULES)
@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_three_steps_of_an_optimizer(form, kind, change):
    """Losses, gradients, weights, buffers and the gradient of the input agree at each step."""
    reseed(0)
    module = kind()
    example = torch.randn(4, DIM)
    twin = copy.deepcopy(module)
    program = form.callable_from(form.export(module, (example,), {}, ({0: form.Dim("n")},)))
    if change is not None:
        name = next(iter(dict(module.named_parameters())))
        change(twin, name)
        change(program, name)
    check_steps(twin, program)


def check_steps(twin, program):
    """Take three steps with each, on batches of other sizes."""
    optimizers = [
        torch.optim.SGD(each.parameters(), lr=0.1, momentum=0.9) for each in (twin, program)
    ]
    for step in range(3):
        x = torch.randn(3 + step, DIM)
        told = [
            observed(each, optimizer, x)
            for each, optimizer in zip((twin, program), optimizers, strict=True)
        ]
        assert_close(told[1], told[0], rtol=1e-4, atol=1e-5)


def observed(module, optimizer, x):
    """One step, and everything that it changed."""
    given = x.clone().requires_grad_()
    optimizer.zero_grad()
    loss = module(given).square().mean()
    loss.backward()
    optimizer.step()
    parameters = dict(module.named_parameters())
    return {
        "loss": loss.detach(),
        "input": given.grad,
        **{f"{name}.grad": each.grad for name, each in parameters.items() if each.grad is not None},
        **{name: each.detach().clone() for name, each in parameters.items()},
        **{name: each.clone() for name, each in module.named_buffers()},
    }


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_gradients_of_gradients(form):
    """What a program computes can be differentiated twice."""
    reseed(0)
    module = nn.Sequential(nn.Linear(DIM, 4), nn.Tanh(), nn.Linear(4, 1))
    program = form.callable_from(form.export(module, (torch.randn(4, DIM),), {}, None))
    x = torch.randn(4, DIM)
    found = []
    for each in (module, program):
        given = x.clone().requires_grad_()
        (slope,) = torch.autograd.grad(each(given).sum(), given, create_graph=True)
        weights = [w for name, w in each.named_parameters() if name.endswith("weight")]
        found.append(torch.autograd.grad(slope.square().sum(), weights))
    assert_close(found[1], found[0])
