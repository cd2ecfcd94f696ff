"""ExportDB cases: sizes that vary, what code asks of them, and sizes that data decides."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from monograph.dims import Dim
from monograph.exportdb.registry import case


def _rows() -> tuple[Any, ...]:
    return ({0: Dim("rows")},)


def _three() -> tuple[Tensor]:
    return (torch.randn(3, 4),)


def _seven() -> tuple[Tensor]:
    return (torch.randn(7, 4),)


def _none() -> tuple[Tensor]:
    return (torch.randn(0, 4),)


@case(
    "torch.dynamic-shape",
    example=_three,
    extra=_seven,
    shapes=_rows,
    in_torch="dynamic_shape_constructor",
)
class DynamicShapeConstructor(nn.Module):
    """A new tensor whose size follows an input's."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.zeros(x.shape[0] * 2)


@case(
    "torch.dynamic-shape",
    example=_three,
    extra=_seven,
    shapes=_rows,
    in_torch="dynamic_shape_slicing",
)
class DynamicShapeSlicing(nn.Module):
    """Slices whose ends are computed from sizes."""

    def forward(self, x: Tensor) -> Tensor:
        return x[: x.shape[0] - 2, x.shape[1] - 1 :: 2]


@case(
    "torch.dynamic-shape",
    example=lambda: (torch.randn(10, 10),),
    extra=lambda: (torch.randn(20, 10),),
    shapes=lambda: ({0: Dim.AUTO},),
    in_torch="dynamic_shape_view",
)
class DynamicShapeView(nn.Module):
    """A view into other sizes; what it asks of them joins the contract."""

    def forward(self, x: Tensor) -> Tensor:
        return x.view(2, 5, -1).permute(2, 0, 1)


@case(
    "torch.dynamic-shape",
    "python.builtin",
    example=lambda: (torch.randn(4, 4),),
    extra=lambda: (torch.randn(9, 4),),
    shapes=_rows,
    in_torch="dynamic_shape_round",
)
class DynamicShapeRound(nn.Module):
    """`round` of half a size; torch.export has no such program."""

    def forward(self, x: Tensor) -> Tensor:
        return x[: round(x.shape[0] / 2)]


@case(
    "torch.dynamic-shape",
    "python.assert",
    example=_three,
    extra=_seven,
    shapes=lambda: ({0: Dim("rows", min=3)},),
    in_torch="dynamic_shape_assert",
)
class DynamicShapeAssert(nn.Module):
    """An assertion about a size is a condition of the contract."""

    def forward(self, x: Tensor) -> Tensor:
        assert x.shape[0] > 2, "more than two rows"
        assert x.shape[0] > 1
        return x


@case("torch.dynamic-shape", example=_three, extra=_none, shapes=_rows)
class NoRows(nn.Module):
    """Sizes of 0 and 1 are sizes as others are."""

    def forward(self, x: Tensor) -> Tensor:
        return x.softmax(1).sum(0)


@case(
    "torch.dynamic-shape",
    example=lambda: (torch.randn(4, 6),),
    extra=lambda: (torch.randn(10, 6),),
    shapes=lambda: ({0: 2 * Dim("half")},),
)
class EvenRows(nn.Module):
    """A size declared as a multiple."""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0] // 2, 2, 6).sum(1)


@case(
    "torch.dynamic-shape",
    example=lambda: (torch.randn(4, 6), torch.randn(5, 6)),
    extra=lambda: (torch.randn(1, 6), torch.randn(2, 6)),
    shapes=lambda: ({0: Dim("n")}, {0: Dim("n") + 1}),
)
class OneMore(nn.Module):
    """Two inputs whose sizes differ by one."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y[1:]


@case(
    "torch.dynamic-shape",
    example=lambda: (torch.randn(4, 3), torch.randn(4, 3)),
    extra=lambda: (torch.randn(9, 3), torch.randn(9, 3)),
    shapes=lambda: ({0: Dim("n")}, {0: Dim("n")}),
)
class EqualSizes(nn.Module):
    """One name for two sizes says that they are equal."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cat([x + y, x], dim=1)


@case(
    "torch.dynamic-shape",
    example=lambda: (torch.randn(2, 5, 8),),
    extra=lambda: (torch.randn(3, 11, 8),),
    shapes=lambda: ({0: Dim("batch"), 1: Dim("time")},),
)
class CausalMask(nn.Module):
    """A mask that is computed from a size."""

    def forward(self, x: Tensor) -> Tensor:
        length = x.shape[1]
        mask = torch.full((length, length), float("-inf")).triu(1)
        return (x @ x.transpose(1, 2) + mask).softmax(-1) @ x


@case("torch.dynamic-shape", "python.builtin", example=_three, extra=_seven, shapes=_rows)
class SizesInPython(nn.Module):
    """Arithmetic, `min`, `max`, `len` and `divmod` of sizes."""

    def forward(self, x: Tensor) -> Tensor:
        half, rest = divmod(len(x), 2)
        return x[: max(1, min(half, 3))] * (rest + x.numel())


@case("torch.dynamic-shape", "python.builtin", example=_three, extra=_seven, shapes=_rows)
class SizesInText(nn.Module):
    """Sizes in an f-string whose text nobody compares."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        label = f"{x.dim()} dimensions"
        return {label: x}


@case(
    "torch.dynamic-value",
    "torch.dynamic-shape",
    example=lambda: (torch.tensor([1.0, 0.0, 2.0]),),
    extra=lambda: (torch.tensor([0.0, 0.0, 0.0]),),
)
class SizeOfData(nn.Module):
    """How many results there are is data; what follows works on as many as there are."""

    def forward(self, x: Tensor) -> Tensor:
        return x[x > 0] * 2


@case(
    "torch.dynamic-value",
    "torch.escape-hatch",
    example=lambda: (torch.tensor(4), torch.randn(5, 5)),
    extra=lambda: (torch.tensor(2), torch.randn(5, 5)),
    in_torch="constrain_as_value_example",
)
class ConstrainAsValueExample(nn.Module):
    """A number that is data, and what is known of it."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        a = x.item()
        torch._check(a >= 0)
        torch._check(a <= 5)
        if a < 6:
            return y.sin()
        return y.cos()


@case(
    "torch.dynamic-value",
    "torch.escape-hatch",
    example=lambda: (torch.tensor(4),),
    extra=lambda: (torch.tensor(2),),
    in_torch="constrain_as_size_example",
)
class ConstrainAsSizeExample(nn.Module):
    """A size that is data."""

    def forward(self, x: Tensor) -> Tensor:
        a = x.item()
        torch._check(a >= 0)
        torch._check(a <= 5)
        return torch.zeros((int(a), 5))


@case(
    "torch.dynamic-value",
    example=lambda: (torch.tensor([0.5, -2.0]), torch.arange(6.0)),
    extra=lambda: (torch.tensor([0.5, 3.0]), torch.arange(6.0)),
)
class IndexOfData(nn.Module):
    """A place that data decides."""

    def forward(self, x: Tensor, table: Tensor) -> Tensor:
        return table[int(x.argmax())]


@case("torch.dynamic-shape", example=_three, extra=_seven, shapes=_rows, in_torch="scalar_output")
class ScalarOutput(nn.Module):
    """A size may be a result."""

    def forward(self, x: Tensor) -> int:
        return x.shape[0] + 1


@case(
    "torch.dynamic-value",
    "python.builtin",
    example=lambda: (torch.tensor([1.0, 2.0]), 3),
    extra=lambda: (torch.tensor([1.0, 2.0]), 3),
)
class NumberInput(nn.Module):
    """A number is part of the call and fixed, unless it is declared to vary."""

    def forward(self, x: Tensor, n: int) -> Tensor:
        return x.repeat(n)


class _AskedAsNumbers(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(x.shape[0], -1)


@case(
    "torch.dynamic-shape",
    "python.standard-library",
    example=_three,
    shapes=_rows,
    error="dim-specialised",
    rewrite=_AskedAsNumbers,
)
class SizeThroughText(nn.Module):
    """A size that goes through text and comes back as a number is lost on the way."""

    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(int(str(x.shape[0])), -1)
