"""The float functions a Real can be built of, by name, as Python computes them."""

import math
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

__all__ = ["FLOAT_FUNCTIONS"]


def _itself(x: float) -> float:
    return x


def _power(x: float, y: float) -> float:
    result: object = x**y
    if not isinstance(result, float):
        raise ValueError(f"{x} ** {y} is not a real number")  # noqa: TRY004  # a matter of value
    return result


def _larger(x: float, y: float) -> float:
    return max(x, y)


def _smaller(x: float, y: float) -> float:
    return min(x, y)


FLOAT_FUNCTIONS: Final[Mapping[str, Callable[..., float]]] = MappingProxyType(
    {
        "abs": float.__abs__,
        "acos": math.acos,
        "add": float.__add__,
        "asin": math.asin,
        "atan": math.atan,
        "atan2": math.atan2,
        "cos": math.cos,
        "cosh": math.cosh,
        "exp": math.exp,
        "float": float,
        "floordiv": float.__floordiv__,
        "input": _itself,
        "log": math.log,
        "log10": math.log10,
        "log2": math.log2,
        "max": _larger,
        "min": _smaller,
        "mod": float.__mod__,
        "mul": float.__mul__,
        "neg": float.__neg__,
        "pow": _power,
        "sin": math.sin,
        "sinh": math.sinh,
        "sqrt": math.sqrt,
        "sub": float.__sub__,
        "tan": math.tan,
        "tanh": math.tanh,
        "truediv": float.__truediv__,
    }
)
"""What each `kind` of Real computes from the values of its arguments ("ratio" is n / d)."""
