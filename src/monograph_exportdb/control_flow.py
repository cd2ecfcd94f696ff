"""ExportDB cases: branches and loops of Python, and those of torch's control-flow operators."""

from __future__ import annotations

from typing import Any

import torch
from functorch.experimental import control_flow
from torch import Tensor, nn

from monograph.dims import Dim
from monograph.exportdb.registry import case

_map: Any = control_flow.map


def _square() -> tuple[Tensor]:
    return (torch.randn(3, 3),)


def _negative() -> tuple[Tensor]:
    return (-torch.ones(3, 3),)


def _positive() -> tuple[Tensor]:
    return (torch.ones(3, 3),)


def _rows() -> tuple[Any, ...]:
    return ({0: Dim("rows")},)


@case("python.control-flow", example=_square, extra=_negative, in_torch="static_if")
class StaticIf(nn.Module):
    """A branch on what never changes, such as the rank of an input, is decided at the export."""

    def forward(self, x: Tensor) -> Tensor:
        if x.dim() == 2:
            return x + torch.ones(1, 1)
        return x


@case("python.control-flow", example=_square, extra=_negative, in_torch="static_for_loop")
class StaticForLoop(nn.Module):
    """A loop over a constant range is unrolled."""

    def forward(self, x: Tensor) -> list[Tensor]:
        return [i + x for i in range(5)]


@case("python.control-flow", "torch.dynamic-value", example=_positive, extra=_negative)
class IfOnData(nn.Module):
    """Python's own `if` on the value of a tensor: both sides are captured."""

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x.sin()
        return x.cos()


@case("python.control-flow", "torch.dynamic-value", example=_positive, extra=_negative)
class EarlyReturnOnData(nn.Module):
    """What follows an early return belongs to the other side of the branch."""

    def forward(self, x: Tensor) -> Tensor:
        if x.max() < 0:
            return x
        y = x / x.max()
        return y.sqrt()


@case("python.control-flow", "torch.dynamic-value", example=_positive, extra=_negative)
class NestedIfOnData(nn.Module):
    """A branch within a side of a branch."""

    def forward(self, x: Tensor) -> Tensor:
        y = x
        if x.sum() > 0:
            if x[0, 0] > 0.5:
                y = y * 2
            y = y + 1
        return y


@case(
    "python.control-flow",
    "torch.dynamic-value",
    example=lambda: (torch.tensor([3.0, 5.0]),),
    extra=lambda: (torch.tensor([100.0, -7.0]),),
)
class WhileOnData(nn.Module):
    """Python's own `while` on the value of a tensor goes on as often as the data says."""

    def forward(self, x: Tensor) -> Tensor:
        while x.abs().max() > 1:
            x = x / 2
        return x


@case(
    "python.control-flow",
    "torch.dynamic-shape",
    example=_square,
    extra=lambda: (torch.randn(7, 3),),
    shapes=_rows,
)
class ForOverRows(nn.Module):
    """A loop over the rows of a tensor whose number varies."""

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(3)
        for row in x:
            total = total * 0.5 + row
        return total


@case(
    "python.control-flow",
    "torch.dynamic-value",
    example=lambda: (torch.arange(4.0), torch.tensor([1, 0, 1, 0])),
    extra=lambda: (torch.arange(4.0), torch.tensor([0, 0, 0, 1])),
)
class ForOverWhatIsNotZero(nn.Module):
    """A loop over as many values as the data has, with `continue`."""

    def forward(self, x: Tensor, chosen: Tensor) -> Tensor:
        total = torch.zeros(())
        for place in chosen.nonzero():
            if x[place[0]] > 2:
                continue
            total = total + x[place[0]]
        return total


@case(
    "python.control-flow",
    "torch.dynamic-value",
    example=lambda: (torch.arange(6.0),),
    extra=lambda: (torch.arange(6.0).flip(0),),
)
class BreakOnData(nn.Module):
    """A loop that data leaves."""

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(())
        for i in range(6):
            if total > 5:
                break
            total = total + x[i]
        return total


@case(
    "python.control-flow",
    "torch.dynamic-shape",
    example=_square,
    extra=lambda: (torch.randn(8, 3),),
    shapes=_rows,
    in_torch="dynamic_shape_if_guard",
)
class DynamicShapeIfGuard(nn.Module):
    """A branch on a size: where both sides can be captured, the program decides at each call."""

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[0] > 5:
            return x.cos()
        return x.sin()


class CondMethods(nn.Module):
    """The sides of a condition are methods."""

    def subm(self, x: Tensor) -> Tensor:
        """Negate."""
        return -x


@case("torch.cond", example=_square, extra=_negative, in_torch="cond_branch_class_method")
class CondBranchClassMethod(CondMethods):
    """The sides of `torch.cond` may be methods and call submodules."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() <= 2, self.subm, lambda x: x * 2, [x])


@case("torch.cond", example=_square, extra=_negative, in_torch="cond_branch_nested_function")
class CondBranchNestedFunction(nn.Module):
    """The sides of `torch.cond` may define functions of their own."""

    def forward(self, x: Tensor) -> Tensor:
        def true_fn(x: Tensor) -> Tensor:
            def inner(y: Tensor) -> Tensor:
                return x + y

            return inner(x)

        return torch.cond(x.sum() < 10, true_fn, lambda x: x - x, [x])


@case("torch.cond", example=_square, extra=_negative, in_torch="cond_branch_nonlocal_variables")
class CondBranchNonlocalVariables(nn.Module):
    """The sides of `torch.cond` may read variables of the function around them."""

    def forward(self, x: Tensor) -> Tensor:
        shift, scale = x + 100, 3.0
        return torch.cond(x.sum() < 10, lambda y: y + shift, lambda y: y * scale, [x])


@case(
    "torch.cond",
    "python.closure",
    example=_square,
    extra=_negative,
    in_torch="cond_closed_over_variable",
)
class CondClosedOverVariable(nn.Module):
    """The predicate decides between closures over `self`."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = 2.0

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.sum() > 0, lambda x: x * self.scale, lambda x: x + self.scale, [x])


@case(
    "torch.cond",
    "torch.dynamic-shape",
    example=lambda: (torch.randn(3, 2), torch.randn(2)),
    extra=lambda: (torch.randn(6, 2), torch.randn(2)),
    shapes=lambda: ({0: Dim("rows")}, None),
    in_torch="cond_operands",
)
class CondOperands(nn.Module):
    """The operands of `torch.cond` may have sizes that vary."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return torch.cond(x.shape[0] > 2, lambda x, y: x + y, lambda x, y: x - y, [x, y])


@case(
    "torch.cond", "torch.dynamic-shape", example=_square, extra=_negative, in_torch="cond_predicate"
)
class CondPredicate(nn.Module):
    """The predicate of `torch.cond` may be a constant of Python: it is decided at the export."""

    def forward(self, x: Tensor) -> Tensor:
        return torch.cond(x.dim() > 2, lambda x: x.cos(), lambda y: y.sin(), [x])


@case(
    "torch.map",
    "torch.dynamic-shape",
    example=lambda: (torch.randn(3, 2), torch.randn(2)),
    extra=lambda: (torch.randn(5, 2), torch.randn(2)),
    shapes=lambda: ({0: Dim("rows")}, None),
    in_torch="dynamic_shape_map",
)
class DynamicShapeMap(nn.Module):
    """One function over each row, however many there are."""

    def forward(self, xs: Tensor, y: Tensor) -> Tensor:
        return _map(lambda x, y: x + y, xs, y)


@case(
    "torch.operator",
    "python.control-flow",
    example=lambda: (torch.tensor(4), torch.randn(3)),
    extra=lambda: (torch.tensor(0), torch.randn(3)),
)
class WhileLoopOperator(nn.Module):
    """PyTorch's operator for loops whose number of rounds is data."""

    def forward(self, n: Tensor, x: Tensor) -> Any:
        return torch.while_loop(lambda n, _: n > 0, lambda n, x: (n - 1, x * 2), (n, x))


@case("python.control-flow", "python.object-model", example=_square, extra=_negative)
class TryAndExcept(nn.Module):
    """Exceptions that user code raises and catches, whatever the data is."""

    def forward(self, x: Tensor) -> Tensor:
        try:
            y = x.view(4, 4)
        except RuntimeError:
            y = x.view(9)
        return y * 2


@case("python.control-flow", example=_square, extra=_negative)
class MatchStatement(nn.Module):
    """Structural pattern matching on shapes and containers."""

    def forward(self, x: Tensor) -> Tensor:
        match tuple(x.shape):
            case (3, width):
                return x * width
            case _:
                return x


class _OfOneType(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.double() if x.sum() > 0 else x.exp().double()


@case(
    "python.control-flow",
    "torch.dynamic-value",
    example=_square,
    error="branches-disagree",
    rewrite=_OfOneType,
)
class BranchesOfTwoTypes(nn.Module):
    """The two sides of a branch on data give results of one dtype."""

    def forward(self, x: Tensor) -> Tensor:
        return x.double() if x.sum() > 0 else x.exp()
