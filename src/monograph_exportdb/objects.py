"""ExportDB cases: classes, methods, attributes, properties, submodules and context managers."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, Self

import torch
from torch import Tensor, nn

from monograph.exportdb.registry import case


def _square() -> tuple[Tensor]:
    return (torch.randn(3, 3),)


def _other() -> tuple[Tensor]:
    return (torch.ones(3, 3) * 7,)


class Scale:
    """A class of users with an operator of its own."""

    def __init__(self, by: float) -> None:
        self.by = by

    @property
    def doubled(self) -> float:
        """Twice as much."""
        return self.by * 2

    def __matmul__(self, x: Tensor) -> Tensor:
        return x * self.by

    def __enter__(self) -> Self:
        self.by += 1
        return self

    def __exit__(self, *exc: object) -> None:
        self.by -= 1


def _doubled(_module: nn.Module, _args: Any, out: Tensor) -> Tensor:
    return out * 2


class Animal:
    """A class whose name is asked."""

    @classmethod
    def func(cls, x: Tensor) -> Tensor:
        """One more."""
        return 1 + x


@case("python.object-model", example=_square, extra=_other, in_torch="class_method")
class ClassMethod(nn.Module):
    """Class methods and static methods, of the class and of an instance."""

    @classmethod
    def method(cls, x: Tensor) -> Tensor:
        """One more."""
        return x + 1

    def forward(self, x: Tensor) -> Tensor:
        return self.method(x) * type(self).method(x)


@case("python.object-model", "python.builtin", example=_square, in_torch="type_reflection_method")
class TypeReflectionMethod(nn.Module):
    """`type(object)` and its methods."""

    def forward(self, x: Tensor) -> Tensor:
        animal = Animal()
        return type(animal).func(x)


@case("python.object-model", example=_square, in_torch="specialized_attribute")
class SpecializedAttribute(nn.Module):
    """Attributes that hold plain values are constants of the program."""

    def __init__(self) -> None:
        super().__init__()
        self.kind = "moo"
        self.b = 4

    def forward(self, x: Tensor) -> Tensor:
        if self.kind == "moo":
            return x * x + self.b
        raise ValueError("bad")


@case("python.object-model", example=_square, extra=_other)
class OperatorsOfUsers(nn.Module):
    """Objects with operators and properties of their own."""

    def forward(self, x: Tensor) -> Tensor:
        scale = Scale(3)
        return (scale @ x) + scale.doubled


@case("python.object-model", example=_square, extra=_other)
class Inheritance(ClassMethod):
    """`super()` and methods that are inherited."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + self.method(x)


@case("python.object-model", example=_square, extra=_other)
class SharedSubmodule(nn.Module):
    """One submodule that is called twice, and one parameter under two names."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3)
        self.second = nn.Linear(3, 3)
        self.second.weight = self.first.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.second(self.first(self.first(x)))


@case("python.object-model", "python.data-structure", example=_square, extra=_other)
class ModuleContainers(nn.Module):
    """`ModuleList`, `ModuleDict`, `Sequential`, `ParameterList`."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])
        self.heads = nn.ModuleDict({"a": nn.Sequential(nn.Linear(3, 2), nn.ReLU())})
        self.scales = nn.ParameterList([torch.ones(3), torch.ones(3) * 2])

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        for layer, scale in zip(self.layers, self.scales, strict=True):
            x = layer(x) * scale
        return {name: head(x) for name, head in self.heads.items()}


@case("python.object-model", example=_square, extra=_other)
class ForwardHooks(nn.Module):
    """Hooks that change what a submodule takes and gives."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.linear.register_forward_hook(_doubled)
        self.linear.register_forward_pre_hook(lambda _m, args: (args[0] + 1,))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@case("python.context-manager", example=_square, in_torch="null_context_manager")
class NullContextManager(nn.Module):
    """A context manager that does nothing."""

    def forward(self, x: Tensor) -> Tensor:
        context = contextlib.nullcontext()
        with context:
            return x.sin() + x.cos()


@case("python.context-manager", example=_square, extra=_other)
class OwnContextManager(nn.Module):
    """A context manager of users, as a class and as a generator."""

    @contextlib.contextmanager
    def scaled(self, by: float) -> Any:
        """Give a scale, and take it back."""
        yield Scale(by)

    def forward(self, x: Tensor) -> Tensor:
        with Scale(2) as outer, self.scaled(3) as inner:
            return (outer @ x) + (inner @ x)


@case("python.context-manager", example=lambda: (torch.randn(3, 3, requires_grad=True),))
class NoGrad(nn.Module):
    """A part of the model that gradients do not enter, kept as a region of the graph."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.no_grad():
            scale = x.abs().amax()
        return x / scale


@case("python.context-manager", example=_square, extra=_other)
class Autocast(nn.Module):
    """A part of the model in lower precision, kept as a region of the graph."""

    def forward(self, x: Tensor) -> Tensor:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
        return y.float() + x


@case("python.object-model", example=_square, extra=_other)
class MonkeyPatchedForward(nn.Module):
    """A `forward` that was exchanged on the instance."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.linear.forward = lambda x: x * 2  # pyright: ignore[reportAttributeAccessIssue]  (what people do)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@case("python.object-model", example=_square, extra=_other)
class Parametrized(nn.Module):
    """A weight that is computed of others at each call."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.utils.parametrizations.weight_norm(nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x)


@case(
    "python.object-model", "torch.escape-hatch", example=_square, in_torch="assume_constant_result"
)
class ConstantOfAMethod(nn.Module):
    """A method that gives a constant tensor needs no mark: what it reads does not change."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.arange(9.0).reshape(3, 3)

    def get_item(self) -> Tensor:
        """The table's last row."""
        return self.table[-1]

    def forward(self, x: Tensor) -> Tensor:
        return x + self.get_item()


@case("python.object-model", example=_square, extra=_other)
class CachedProperty(nn.Module):
    """What is computed once and kept."""

    @functools.cached_property
    def scale(self) -> float:
        """The same each time."""
        return 2.5

    def forward(self, x: Tensor) -> Tensor:
        return x * self.scale


@case("python.object-model", example=_square, extra=_other)
class Descriptors(nn.Module):
    """Properties, `__getattr__`, and `__call__` of users' classes."""

    def forward(self, x: Tensor) -> Tensor:
        return Anything().scaled(x)


class Anything:
    """A class that has every attribute."""

    def __getattr__(self, name: str) -> Any:
        return lambda x: x * len(name)
