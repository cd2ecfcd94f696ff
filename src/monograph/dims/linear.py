"""`coefficient*name + offset`: a size of the one-line form before it is a Dim, and its ranges."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monograph.dims.dim import DerivedDim, Dim

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class Range:
    """The sizes a name may have; None is open."""

    lower: int | None = None
    upper: int | None = None

    def meet(self, other: Range) -> Range:
        """The sizes in both.

        >>> Range(2, 8).meet(Range(None, 4))
        Range(lower=2, upper=4)
        """
        lowers = [end for end in (self.lower, other.lower) if end is not None]
        uppers = [end for end in (self.upper, other.upper) if end is not None]
        return Range(max(lowers, default=None), min(uppers, default=None))


@dataclass(frozen=True, slots=True)
class Linear:
    """`coefficient*name + offset`."""

    name: str
    coefficient: int = 1
    offset: int = 0

    @property
    def is_name(self) -> bool:
        """Whether it is a name and nothing else."""
        return self.coefficient == 1 and not self.offset

    def scaled(self, factor: int, offset: int) -> Linear | int:
        """`factor * self + offset`."""
        if not factor:
            return offset
        return Linear(self.name, self.coefficient * factor, self.offset * factor + offset)

    def bound(self, kind: str, end: int) -> Range | None:
        """The range of the name for which `self < end`, ... holds, None if it is no range.

        >>> Linear("n", 2).bound("Lt", 8), Linear("n").bound("Eq", 8)
        (Range(lower=None, upper=3), None)
        """
        room = end - self.offset
        match kind:
            case "LtE":
                return Range(upper=room // self.coefficient)
            case "Lt":
                return Range(upper=(room - 1) // self.coefficient)
            case "GtE":
                return Range(lower=-(-room // self.coefficient))
            case "Gt":
                return Range(lower=room // self.coefficient + 1)
            case _:
                return None

    def dim(self, span: Range) -> Dim | DerivedDim:
        """It as a Dim whose root has this range.

        Raises: spec-range-empty.
        """
        root = Dim(self.name, min=span.lower, max=span.upper)
        return root if self.is_name else DerivedDim(root, self.coefficient, self.offset)

    def __str__(self) -> str:
        return repr(self.dim(Range()))


def linear(node: ast.expr) -> Linear | int | None:
    """An expression as a multiple of one name, a number, or None if it is neither.

    >>> linear(ast.parse("2*(n + 1) - 3", mode="eval").body)
    Linear(name='n', coefficient=2, offset=-1)
    """
    match node:
        case ast.Constant(value=int(value)) if not isinstance(value, bool):
            return value
        case ast.Name(id=name):
            return Linear(name)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _times(linear(operand), -1)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _plus(linear(left), linear(right))
        case ast.BinOp(left=left, op=ast.Sub(), right=right):
            return _plus(linear(left), _times(linear(right), -1))
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _times(linear(left), linear(right))
        case _:
            return None


def _plus(a: Any, b: Any) -> Linear | int | None:
    if a is None or b is None:
        return None
    if isinstance(a, Linear) and isinstance(b, Linear):
        if a.name != b.name:
            return None
        coefficient, offset = a.coefficient + b.coefficient, a.offset + b.offset
        return Linear(a.name, coefficient, offset) if coefficient else offset
    if isinstance(a, Linear):
        return a.scaled(1, b)
    return b.scaled(1, a) if isinstance(b, Linear) else a + b


def _times(a: Any, b: Any) -> Linear | int | None:
    if a is None or b is None:
        return None
    if isinstance(a, Linear):
        return None if isinstance(b, Linear) else a.scaled(b, 0)
    return b.scaled(a, 0) if isinstance(b, Linear) else a * b


def substituted(size: Linear, equal: Mapping[str, Linear | int]) -> Linear | int:
    """A size with what its name equals in the place of the name.

    >>> substituted(Linear("kv", 1, 1), {"kv": Linear("t", 4)})
    Linear(name='t', coefficient=4, offset=1)
    """
    value = equal.get(size.name)
    if value is None:
        return size
    if isinstance(value, int):
        return size.coefficient * value + size.offset
    return value.scaled(size.coefficient, size.offset)


__all__ = ["Linear", "Range", "linear", "substituted"]
