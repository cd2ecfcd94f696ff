"""Weights of tensor subclasses that are made of other tensors, as quantised ones are."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

import monograph
from monograph import Dim
from monograph.diagnostics import MonographError
from tests.state.program_forms import forms_of

aten = torch.ops.aten


class Quantised(torch.Tensor):
    """Whole numbers and a scale for each row; what it does is said for functions of torch."""

    @staticmethod
    def __new__(cls, numbers, scale):
        return torch.Tensor._make_wrapper_subclass(cls, numbers.shape, dtype=scale.dtype)

    def __init__(self, numbers, scale):
        self.numbers, self.scale = numbers, scale

    @classmethod
    def of(cls, weight):
        """Round a weight."""
        scale = weight.abs().amax(1, keepdim=True) / 127
        return cls((weight / scale).round().to(torch.int8), scale)

    def __tensor_flatten__(self):
        return ["numbers", "scale"], None

    @classmethod
    def __tensor_unflatten__(cls, inner, _rest, _size, _stride):
        return cls(inner["numbers"], inner["scale"])

    def __repr__(self):
        return "Quantised"

    def dense(self):
        """Give the weight again."""
        return self.numbers.to(self.scale.dtype) * self.scale

    @classmethod
    def __torch_function__(cls, func, _types, args=(), kwargs=None):
        if func is F.linear:
            x, weight, *rest = args
            return F.linear(x, weight.dense(), *rest)
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func, _types, args, _kwargs=None):
        if func is aten.detach.default:
            return cls(args[0].numbers, args[0].scale)
        raise NotImplementedError(func)


class QuantisedBelow(Quantised):
    """The same, which says what it does for operators, as autograd leaves them."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @classmethod
    def __torch_dispatch__(cls, func, types, args, kwargs=None):
        if func is aten.t.default:
            return cls(args[0].numbers.t(), args[0].scale.t())
        if func is aten.addmm.default:
            return func(args[0], args[1], args[2].dense())
        return super().__torch_dispatch__(func, types, args, kwargs)


def quantised(kind):
    """Give two layers, one of which is used twice."""
    torch.manual_seed(0)
    first, second = nn.Linear(3, 3), nn.Linear(3, 3)
    for layer in (first, second):
        layer.requires_grad_(requires_grad=False)
        layer.weight = nn.Parameter(kind.of(layer.weight), requires_grad=False)
    return nn.Sequential(first, nn.ReLU(), second, first)


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "plain"])
@pytest.mark.parametrize("kind", [Quantised, QuantisedBelow])
def test_quantised_weights(kind, strict):
    """The program has the numbers and scales, and agrees in every form at every batch."""
    module, shapes = quantised(kind), ({0: Dim("b", min=0, max=40)},)
    program = monograph.export(module, (torch.randn(4, 3),), dynamic_shapes=shapes, strict=strict)
    assert type(module[0].weight) is kind
    names = ["0.weight.numbers", "0.weight.scale", "0.bias"]
    assert list(program.state_dict)[:3] == names
    assert program.state_dict["0.weight.numbers"].dtype == torch.int8
    for form in forms_of(program):
        for rows in (4, 1, 0, 7):
            x = torch.randn(rows, 3)
            torch.testing.assert_close(form(x), module(x), check_stride=True)


class Opaque(torch.Tensor):
    """A subclass that handles operators, and does not say of what it is made."""

    @staticmethod
    def __new__(cls, size):
        return torch.Tensor._make_wrapper_subclass(cls, size)

    @classmethod
    def __torch_dispatch__(cls, _func, _types, args, _kwargs=None):
        return cls(args[0].shape)


def test_opaque_subclass():
    """It is refused by name."""
    layer = nn.Linear(3, 3)
    layer.weight = nn.Parameter(Opaque((3, 3)), requires_grad=False)
    with pytest.raises(MonographError, match="unsupported-subclass"):
        monograph.export(layer, (torch.randn(2, 3),))


class Doubling(nn.Parameter):
    """A parameter whose class says what functions of torch do."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        made = super().__torch_function__(func, types, args, kwargs or {})
        return made * 2 if func is F.linear else made


class Doubled(nn.Module):
    """A weight of such a class, which the module has or keeps in a list."""

    def __init__(self, *, is_state):
        super().__init__()
        self.kept = [Doubling(torch.eye(3))]
        if is_state:
            self.weight = self.kept[0]

    def forward(self, x):
        return F.linear(x, self.kept[0])


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("is_state", [True, False])
def test_classes_that_change_functions_of_torch(is_state, strict):
    """What they do is not captured; a program that holds one would do it again, files would not."""
    with pytest.raises(MonographError, match="unsupported-subclass"):
        monograph.export(Doubled(is_state=is_state), (torch.randn(2, 3),), strict=strict)
