"""Source of values: constants, and arithmetic of sizes."""

from __future__ import annotations

import dataclasses
import json
import math
import operator
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.symbols import to_python
from monograph.diagnostics import problem
from monograph.program.calling.subgraph_calls import BOUNDED
from monograph.program.python_source.layout import Bracketed, one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from monograph.program.python_source.layout import Text

# How tightly an expression binds, as in Python.
_OR, _AND, _NOT, _COMPARE, _BITS, _SUM, _PRODUCT, _UNARY, _POWER, ATOM = range(10)

Source = tuple[Any, int]
"""An expression and how tightly it binds."""

_INFIX: Final[Mapping[Any, tuple[str, int]]] = MappingProxyType(
    {
        operator.add: ("+", _SUM),
        operator.sub: ("-", _SUM),
        operator.mul: ("*", _PRODUCT),
        operator.floordiv: ("//", _PRODUCT),
        operator.truediv: ("/", _PRODUCT),
        operator.mod: ("%", _PRODUCT),
        operator.lt: ("<", _COMPARE),
        operator.le: ("<=", _COMPARE),
        operator.eq: ("==", _COMPARE),
        operator.ne: ("!=", _COMPARE),
        operator.ge: (">=", _COMPARE),
        operator.gt: (">", _COMPARE),
    }
)
_BITWISE: Final = MappingProxyType(
    {
        operator.and_: "&",
        operator.or_: "|",
        operator.xor: "^",
        operator.lshift: "<<",
        operator.rshift: ">>",
    }
)
_NAMED: Final[Mapping[Any, str]] = MappingProxyType(
    {
        operator.abs: "abs",
        math.ceil: "math.ceil",
        math.floor: "math.floor",
        math.trunc: "math.trunc",
        round: "round",
        torch.sym_float: "float",
        torch.sym_int: "int",
        torch.sym_ite: "torch.sym_ite",
        torch.sym_sqrt: "torch.sym_sqrt",
        torch.sym_sum: "sum",
    }
)
_UNBOUNDED: Final = MappingProxyType({bounded: plain for plain, bounded in BOUNDED.items()})
"""What the functions that bound a number's digits compute, in subgraphs that hold them."""


def arithmetic(target: Any, args: Sequence[Source], *, is_integral: bool) -> Source | None:
    """The expression of a call of a plain function, None where it is something else."""
    target = _UNBOUNDED.get(target, target)
    if target in _INFIX and len(args) == 2:
        sign, level = _INFIX[target]
        right = level if sign in "+*" and is_integral and sign == "+" else level + 1
        left = level + 1 if level == _COMPARE else level
        return f"{_inside(args[0], left)} {sign} {_inside(args[1], right)}", level
    if target in _BITWISE:
        sides = f" {_BITWISE[target]} ".join([_inside(arg, ATOM) for arg in args])
        return sides, _BITS
    if target is operator.pow:
        return f"{_inside(args[0], ATOM)} ** {_inside(args[1], _UNARY)}", _POWER
    if target is operator.neg or target is operator.pos:
        sign = "-" if target is operator.neg else "+"
        return f"{sign}{_inside(args[0], _UNARY)}", _UNARY
    if target is operator.not_ or target is torch.sym_not:
        return f"not {_inside(args[0], _NOT)}", _NOT
    if target is operator.invert:
        return f"~{_inside(args[0], _UNARY)}", _UNARY
    if target in {torch.sym_max, torch.sym_min}:
        name = target.__name__
        name = name.removeprefix("sym_") if is_integral else f"torch.{name}"
        return Bracketed(name, tuple(text for text, _ in args)), ATOM
    if target in _NAMED:
        return Bracketed(_NAMED[target], tuple(text for text, _ in args)), ATOM
    return None


def _inside(source: Source, tightness: int) -> str:
    text, level = source
    return f"({one_line(text)})" if level < tightness else one_line(text)


# -------------------------------------------------------------------------------------- constants
def constant(value: Any) -> Source:
    """A constant argument.

    Raises: program-not-spelt.
    """
    value = to_python(value)
    if isinstance(value, bool) or value is None:
        return repr(value), ATOM
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False), ATOM
    if isinstance(value, int | float):
        shown = f'float("{value}")' if not math.isfinite(value) else repr(value)
        return shown, _UNARY if shown.startswith("-") else ATOM
    if isinstance(value, torch.device):
        return f'torch.device("{value}")', ATOM
    if isinstance(value, complex):
        parts = (constant(value.real)[0], constant(value.imag)[0])
        return Bracketed("complex", parts), ATOM
    if isinstance(value, slice):
        parts = (constant(each)[0] for each in (value.start, value.stop, value.step))
        return Bracketed("slice", tuple(parts)), ATOM
    if isinstance(value, torch.dtype | torch.layout | torch.memory_format):
        return repr(value), ATOM
    raise problem("program-not-spelt", what=f"a constant of type {type(value).__qualname__}")


def sequence(value: list[Any] | tuple[Any, ...], items: Sequence[Text]) -> Text:
    """A list or a tuple of what is spelt already."""
    if isinstance(value, tuple):
        return Bracketed("", tuple(items), "()", is_tuple=True)
    return Bracketed("", tuple(items), "[]")


def named(name: str, value: Text) -> Text:
    """An argument given by name."""
    if isinstance(value, str):
        return f"{name}={value}"
    return dataclasses.replace(value, before=f"{name}={value.before}")


__all__ = [
    "ATOM",
    "Source",
    "arithmetic",
    "constant",
    "named",
    "sequence",
]
