"""ExportDB cases: functions in functions, closures, decorators, generators, Python's library."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import operator
import re
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from monograph.exportdb.registry import case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _square() -> tuple[Tensor]:
    return (torch.randn(3, 3),)


def _other() -> tuple[Tensor]:
    return (torch.ones(3, 3) * 7,)


def _two() -> tuple[Tensor, Tensor]:
    return torch.randn(3, 2), torch.randn(2)


def plus_one(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Decorate a function whose result is increased."""

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Tensor:
        return function(*args, **kwargs) + 1

    return wrapper


@case("python.closure", example=_two, in_torch="nested_function")
class NestedFunction(nn.Module):
    """A function that reads and writes variables of the one around it."""

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        x = a + b
        z = a - b

        def closure(y: Tensor) -> Tensor:
            nonlocal x
            x = x + 1
            return x * y + z

        return closure(x)


@case("python.closure", example=_two, in_torch="decorator")
class Decorator(nn.Module):
    """A decorated method."""

    @plus_one
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


@case("python.closure", "python.standard-library", example=_square, extra=_other)
class Partial(nn.Module):
    """`functools.partial` and `reduce`, and functions as values."""

    def forward(self, x: Tensor) -> Tensor:
        scaled = functools.partial(torch.mul, other=2)
        return functools.reduce(operator.add, [scaled(x), x, x.t()])


@case("python.builtin", example=_square, extra=_other)
class Generator(nn.Module):
    """A generator of the model's own, driven by a loop."""

    def rows(self, x: Tensor) -> Iterator[Tensor]:
        """Every row, from the last."""
        for i in reversed(range(x.shape[0])):
            yield x[i]

    def forward(self, x: Tensor) -> Tensor:
        return torch.stack([row * 2 for row in self.rows(x)])


@case("python.builtin", example=_square, extra=_other)
class ZipAndEnumerate(nn.Module):
    """`zip`, `enumerate`, `map`, `filter`, `any` and `all`."""

    def forward(self, x: Tensor) -> Tensor:
        total = torch.zeros(3)
        for i, (row, column) in enumerate(zip(x, x.t(), strict=True)):
            total = total + row * column * i
        kept = list(filter(lambda n: n % 2, map(abs, [-1, 2, 3])))
        return total * len(kept) if any(kept) and all(kept) else total


@case("python.standard-library", example=_square, extra=_other)
class Mathematics(nn.Module):
    """`math` of numbers that are constants."""

    def forward(self, x: Tensor) -> Tensor:
        return x / math.sqrt(x.shape[-1]) + math.pi


@case("python.standard-library", example=_square, extra=_other)
class Itertools(nn.Module):
    """`itertools` over tensors and numbers."""

    def forward(self, x: Tensor) -> Tensor:
        pairs = itertools.combinations(range(3), 2)
        return torch.stack([x[i] - x[j] for i, j in itertools.chain(pairs, [(2, 0)])])


@case("python.standard-library", example=_square, extra=_other)
class RegularExpressions(nn.Module):
    """`re` over the names of parts."""

    def forward(self, x: Tensor) -> Tensor:
        chosen = [int(m[1]) for m in map(re.compile(r"row(\d)").match, ["row0", "x", "row2"]) if m]
        return x[chosen]


@case("python.builtin", example=_square, extra=_other)
class Recursion(nn.Module):
    """A function that calls itself."""

    def power(self, x: Tensor, n: int) -> Tensor:
        """The n-th power of a matrix."""
        if n == 0:
            return torch.eye(3)
        return x @ self.power(x, n - 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.power(x, 3)


@case("python.builtin", "torch.mutation", example=_square)
class PrintsWhatIsConstant(nn.Module):
    """`print` of what is known at the export is said there once, and left out of the program."""

    def forward(self, x: Tensor) -> Tensor:
        print("captured")  # noqa: T201
        return x * 2


@case("python.builtin", example=_square, extra=_other)
class Assignment(nn.Module):
    """Assignment expressions, chained comparisons, and conditional ones."""

    def forward(self, x: Tensor) -> Tensor:
        if (n := x.shape[0]) and 0 < n <= 3:
            return x * n
        return -x


@case("python.builtin", example=_square, extra=_other)
class StringsAndFormats(nn.Module):
    """Text that names what is computed."""

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        return {f"{name:>4}".strip().upper(): getattr(x, name)() for name in ("sin", "cos")}


@case("python.builtin", example=_square, extra=_other)
class FunctionsByName(nn.Module):
    """Functions found by name."""

    def forward(self, x: Tensor) -> Tensor:
        for name in ("sin", "missing"):
            found: Any = getattr(torch, name, None)
            if found is not None:
                x = found(x)
        return x


@case("python.closure", example=_square, extra=_other)
class LambdasInALoop(nn.Module):
    """Closures made in a loop share its variable, as Python says."""

    def forward(self, x: Tensor) -> Tensor:
        made = [lambda y: y * i for i in range(3)]  # noqa: B023
        return made[0](x)


@case("python.standard-library", example=_square, extra=_other)
class CopiesOfObjects(nn.Module):
    """`copy.copy` of containers of tensors."""

    def forward(self, x: Tensor) -> list[Tensor]:
        rows = list(x)
        others = copy.copy(rows)
        others[0] = others[0] * 2
        return [rows[0], others[0]]


@case("python.control-flow", "python.builtin", example=_square, extra=_other)
class ForElse(nn.Module):
    """The `else` of loops, `break` and `continue` on what is constant."""

    def forward(self, x: Tensor) -> Tensor:
        for i in range(4):
            if i == 1:
                continue
            if i == 9:
                break
            x = x + i
        else:
            x = x * 2
        return x


@case("python.builtin", "python.object-model", example=_square, extra=_other)
class RaisesAndCatches(nn.Module):
    """Exceptions of users, `finally`, and chains."""

    def forward(self, x: Tensor) -> Tensor:
        try:
            raise KeyError("rows")
        except LookupError as error:
            x = x * len(error.args)
        finally:
            x = x + 1
        return x
