"""What forward does to gradients beside computing."""

import random

import pytest
import torch
from torch import nn

from monograph import export
from monograph.diagnostics import ContractError, UnsupportedError


class Steep(torch.autograd.Function):
    """The identity with a steeper gradient."""

    @staticmethod
    def forward(ctx, x):
        """Compute nothing."""
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        """Give seven times as much."""
        return grad * 7


class Model(nn.Module):
    """A function behind a layer."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(3, 3)

    def forward(self, x):
        return Steep.apply(self.inner(x))


def test_only_calls_that_need_no_gradient_are_accepted():
    """The refusal names the parameter, the line, and what to do; frozen, it may be called."""
    model, x = Model(), torch.randn(2, 3)
    program = export(model, (x,)).module()
    with torch.no_grad():
        assert torch.equal(program(x), model(x))
    with pytest.raises(ContractError) as caught:
        program(x)
    text = str(caught.value)
    assert "torch.is_grad_enabled() and inner." in text
    assert "Steep.apply(self.inner(x))" in text
    assert "torch.set_grad_enabled(False)" in text
    assert text.count("this line needs it") == 1
    assert "more difference" not in text
    model.requires_grad_(False)
    assert torch.equal(program(x), model(x))


def test_what_is_patched_is_put_back():
    """Also where forward raises."""

    class Raises(nn.Module):
        def forward(self, x):
            raise KeyError(x.dim())

    hooks = torch.autograd.graph.saved_tensors_hooks
    before = torch.autograd.Function.__dict__["apply"], hooks.__enter__, torch.autograd.grad
    with pytest.raises(KeyError):
        export(Raises(), (torch.ones(3),))
    after = torch.autograd.Function.__dict__["apply"], hooks.__enter__, torch.autograd.grad
    assert before == after


def test_forward_of_a_function_is_interpreted():
    """What it reads from outside is seen in both modes."""

    class Draws(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * random.random()

    module = type("M", (nn.Module,), {"forward": staticmethod(Draws.apply)})()
    for strict in (True, False):
        with pytest.raises(UnsupportedError):
            export(module, (torch.ones(3),), strict=strict)


def test_eager_functions_are_as_before_after_an_export():
    """Nothing of a capture stays with a class that it ran."""
    x = torch.ones(3, requires_grad=True)
    export(Model(), (torch.ones(2, 3),))
    Steep.apply(x).sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 7.0))


WEIGHT = torch.ones(3, requires_grad=True)
HOOKS = {
    "method": lambda w: w.register_hook(len),
    "function": lambda w: torch.Tensor.register_hook(w, len),
    "accumulated": lambda w: torch.Tensor.register_post_accumulate_grad_hook(w, len),
    "called by C": lambda w: list(map(torch.Tensor.register_hook, [w], [len])),
    "outside": lambda _: WEIGHT.register_hook(len),
}


class Hooks(nn.Module):
    """Puts a hook on the gradient of its parameter."""

    def __init__(self, put):
        super().__init__()
        self.w, self.put = nn.Parameter(torch.ones(3)), put

    def forward(self, x):
        self.put(self.w)
        return x * self.w


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("name", HOOKS)
def test_hooks_on_gradients_are_refused(name, strict):
    """Eager code keeps one more after every call, a program would keep none."""
    with pytest.raises(UnsupportedError) as caught:
        export(Hooks(HOOKS[name]), (torch.ones(3),), strict=strict)
    assert caught.value.diagnostic.name == "gradient-in-forward"
    assert caught.value.diagnostic.at[0].code.co_filename == __file__
    assert not WEIGHT._backward_hooks
