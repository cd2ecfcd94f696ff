"""Families of views, as autograd sees them."""

import pytest
import torch
from torch import nn

from monograph import export


def said(forward, given):
    """What a forward says of tensors in eager mode, and as a program."""
    model = type("Model", (nn.Module,), {"forward": staticmethod(forward)})()
    return model(given), export(model, (given,)).module()(given)


def flags(*tensors):
    """Whether autograd follows them."""
    return [each.requires_grad for each in tensors], tensors[0] * 2


def write_to_base(x):
    """A write to what others view."""
    z = torch.zeros(3)
    views = z[1:], z.detach(), z.view(3, 1)[1:], z.reshape(3), z.t().contiguous()
    z.add_(x)
    return flags(z, *views, *(view * 2 for view in views))


def write_to_view(x):
    """A write to one of several views."""
    z = torch.zeros(3)
    d = z.detach()
    views = z[1:], d[1:], z.clone(), z.to(torch.float64), z.to(torch.float32)
    views[0].add_(x[1:])
    return flags(z, d, *views)


def write_to_what_is_detached(x):
    """A write through a tensor that is detached."""
    z = torch.zeros(3)
    d = z.detach()
    d[0] = x.sum()
    return flags(z, z[1:], d, d[1:])


def write_without_gradients(x):
    """A write in a region without gradients."""
    z = torch.zeros(3)
    with torch.no_grad():
        z.add_(x)
        y = x[1:]
    return flags(z, y, y * 1)


def told_not_to(x):
    """A view of a view that has a flag of its own."""
    y = x * 2
    with torch.no_grad():
        v, other = y.view(-1), y[1:]
        w = v.view(3, -1)
        v.requires_grad_()
        w.requires_grad_(False)
        other.requires_grad_(False)
    return flags(y * 1, y, v, w, other, w * 2)


def told_before_its_base(x):
    """It goes by its base from then on."""
    y = x.detach() * 2
    with torch.no_grad():
        w = y[1:][1:]
        w.requires_grad_()
        y.requires_grad_()
        w.requires_grad_(False)
        before = [w.requires_grad]
        y.requires_grad_(False)
    return before + flags(y, w)[0], w * 2


FORWARDS = [write_to_base, write_to_view, write_to_what_is_detached, write_without_gradients]
FORWARDS += [told_not_to, told_before_its_base]


@pytest.mark.parametrize("needs", [True, False])
@pytest.mark.parametrize("forward", FORWARDS)
def test_flags_are_as_in_eager(forward, needs):
    """Whichever of a family is written to."""
    (eager, result), (captured, computed) = said(forward, torch.ones(3, requires_grad=needs))
    assert captured == eager
    assert computed.requires_grad == result.requires_grad
