"""ExportDB cases: operators, their gradients, random numbers, and ways out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from monograph.exportdb.registry import case


def _square() -> tuple[Tensor]:
    return (torch.randn(3, 3),)


def _other() -> tuple[Tensor]:
    return (torch.ones(3, 3) * 7,)


class Clip(torch.autograd.Function):
    """A function with a backward of its own."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """One more."""
        del ctx
        return x.clone() + 1

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        """One more, too."""
        del ctx
        return grads[0] + 1


@case("torch.operator", example=_square, extra=_other, in_torch="autograd_function")
class AutogradFunction(nn.Module):
    """A `torch.autograd.Function` without gradients: its forward is captured."""

    def forward(self, x: Tensor) -> Tensor:
        return Clip.apply(x)  # pyright: ignore[reportReturnType]  (untyped in torch)


@case("torch.operator", example=_square, extra=_other)
class CustomOperator(nn.Module):
    """An operator of `torch.library` is one node, whatever its kernel does."""

    def forward(self, x: Tensor) -> Tensor:
        return exportdb_twice(x)


@torch.library.custom_op("exportdb::twice", mutates_args=())
def exportdb_twice(x: Tensor) -> Tensor:
    """Two of it, by code that no compiler sees."""
    return torch.from_numpy(x.numpy() * 2)


@exportdb_twice.register_fake
def _(x: Tensor) -> Tensor:
    return torch.empty_like(x)


@case("torch.operator", example=_square)
class Dropout(nn.Module):
    """Random numbers are drawn anew at each call."""

    def __init__(self) -> None:
        super().__init__()
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        return self.dropout(x)


@case("torch.operator", example=_square, extra=_other)
class Einsum(nn.Module):
    """`torch.einsum` and other functions that are made of operators."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.einsum("ij,jk->ik", x, x) + torch.tensordot(x, x, 1)


@case("torch.operator", example=_square, extra=_other)
class FunctionTransforms(nn.Module):
    """`torch.vmap` over a function of users."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.vmap(lambda row: row * row.sum())(x)


@case("torch.operator", example=_square, extra=_other)
class Attention(nn.Module):
    """Scaled dot-product attention is one operator, until it is lowered."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(x[None], x[None], x[None])


@case(
    "torch.operator",
    "torch.dynamic-value",
    example=_square,
    extra=_other,
    in_torch="unsupported_operator",
)
class TorchSymMin(nn.Module):
    """`torch.sym_min` of numbers; torch.export refuses it."""

    def forward(self, x: Tensor) -> Tensor:
        return x.sum() + torch.sym_min(x.size(0), 100)


@case(
    "torch.escape-hatch",
    "python.assert",
    example=lambda: (torch.ones(3),),
    extra=lambda: (torch.ones(3) * 2,),
)
class RuntimeAssertion(nn.Module):
    """`torch._check` and `assert` on data are asserted at each call."""

    def forward(self, x: Tensor) -> Tensor:
        assert x.sum() > 0
        torch._check(x.max().item() > 0)
        return x.log()


@case("torch.escape-hatch", "torch.operator", example=_square)
class ComplexNumbers(nn.Module):
    """Complex tensors, and the Fourier transform."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.rfft(x).abs()


@case("torch.operator", example=lambda: (torch.randn(3, 3), torch.tensor([0, 2])))
class Embeddings(nn.Module):
    """Indices of tables."""

    def forward(self, table: Tensor, ids: Tensor) -> Tensor:
        return nn.functional.embedding(ids, table) + table.gather(0, ids[:, None].expand(2, 3))


@case("torch.operator", example=_square, extra=_other)
class SeveralResults(nn.Module):
    """Operators with several results, some of which nobody uses."""

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        values, _ = x.max(dim=1)
        q, r = torch.linalg.qr(x + 3 * torch.eye(3))
        return values, q @ r


@case("torch.operator", example=lambda: (torch.randn(2, 5, 4), torch.randn(1, 2, 8)))
class RecurrentNetwork(nn.Module):
    """Recurrent layers of PyTorch."""

    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(4, 8, batch_first=True)

    def forward(self, x: Tensor, state: Tensor) -> Any:
        return self.gru(x, state)


@case("torch.operator", example=_square, extra=_other)
class Convolution(nn.Module):
    """A convolution, its norm, and a pool."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 2, 2), nn.BatchNorm2d(2), nn.AdaptiveAvgPool2d(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.layers(x[None, None])


@case("torch.operator", example=lambda: (torch.randn(3, 3).to(torch.bfloat16),))
class LowPrecision(nn.Module):
    """Types that are promoted as PyTorch promotes them."""

    def forward(self, x: Tensor) -> Tensor:
        return x * 2 + torch.ones(3) / 3


@case(
    "torch.operator",
    "torch.dynamic-value",
    example=lambda: (torch.tensor([3.0, 1.0, 3.0]),),
    extra=lambda: (torch.tensor([1.0, 2.0, 3.0]),),
)
class UniqueValues(nn.Module):
    """How many different values there are is data."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.unique(x) * 2


@case(
    "torch.operator",
    "torch.dynamic-value",
    example=lambda: (torch.tensor([3.0, 1.0, 3.0]),),
    extra=lambda: (torch.tensor([1.0, 2.0, 3.0]),),
)
class Where(nn.Module):
    """A choice for each element needs no branch."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.where(x > 2, x, -x).cumsum(0)


@case("torch.operator", example=_square, extra=_other)
class StridedViews(nn.Module):
    """Views by strides, windows and diagonals."""

    def forward(self, x: Tensor) -> Tensor:
        return x.unfold(1, 2, 1).sum(-1) + x.diagonal()[:, None] + x.as_strided((3, 2), (1, 3))


@case("torch.operator", example=_square, extra=_other)
class Constants(nn.Module):
    """Tensors that are made in the call are constants of the graph."""

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.tensor([1.0, 2.0, 3.0]) + torch.eye(3) + torch.arange(3)
