"""ExportDB cases: writes to inputs, buffers, attributes and views."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from monograph.exportdb.registry import case


def _square() -> tuple[Tensor]:
    return (torch.randn(3, 3),)


def _other() -> tuple[Tensor]:
    return (torch.ones(3, 3) * 7,)


@case("torch.mutation", example=_square, extra=_other, in_torch="user_input_mutation")
class UserInputMutation(nn.Module):
    """A write to an input: the program writes to the caller's tensor too."""

    def forward(self, x: Tensor) -> Tensor:
        x.mul_(2)
        return x.cos()


@case("torch.mutation", example=_square, extra=_other)
class BufferMutation(nn.Module):
    """A buffer that counts: the next call finds what this one wrote."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1
        return x * self.calls


@case("torch.mutation", example=_square, extra=_other)
class BufferReplaced(nn.Module):
    """A buffer that is assigned anew."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        y = x + self.last
        self.last = x[0] * 1
        return y


@case("torch.mutation", example=_square, extra=_other)
class RunningStatistics(nn.Module):
    """Batch normalisation in training keeps statistics."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(3)

    def forward(self, x: Tensor) -> Tensor:
        return self.norm(x)


@case("torch.mutation", example=_square, extra=_other)
class WriteThroughAView(nn.Module):
    """A write to a slice is seen in the whole, and in every other view of it."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.clone()
        row = y[1]
        y.t()[1].add_(5)
        row[0] = 0
        return y, row


@case("torch.mutation", "python.builtin", example=_square, in_torch="tensor_setattr")
class TensorSetattr(nn.Module):
    """An attribute that is put on a tensor by name."""

    def forward(self, x: Tensor) -> Tensor:
        y = x + 4
        setattr(y, "attr", torch.randn(3, 2))  # noqa: B010
        return y


@case("torch.mutation", "torch.dynamic-value", example=_other, extra=lambda: (-torch.ones(3, 3),))
class WriteInABranch(nn.Module):
    """A write that only one side of a branch on data makes."""

    def forward(self, x: Tensor) -> Tensor:
        y = torch.zeros_like(x)
        if x.sum() > 0:
            y[0] = x[1]
        return y


@case("torch.mutation", example=_square, extra=_other)
class IndexPut(nn.Module):
    """Writes by index, by mask, and by slices with steps."""

    def forward(self, x: Tensor) -> Tensor:
        y = x.clone()
        y[[0, 2]] = 1.0
        y[y > 3] = 3.0
        y[::2, 1:] *= 2
        return y


@case("torch.mutation", "python.object-model", example=_square, in_torch="model_attr_mutation")
class ModelAttrMutation(nn.Module):
    """An attribute that every call writes before it reads it is no state."""

    def __init__(self) -> None:
        super().__init__()
        self.attr_list = [torch.randn(3, 2), torch.randn(3, 2)]

    def forward(self, x: Tensor) -> Tensor:
        self.attr_list = [x + 1 for _ in self.attr_list]
        return x.cos() + self.attr_list[0].sum()
