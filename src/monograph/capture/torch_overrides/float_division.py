"""`//` and `**` of symbolic numbers as Python computes them for floats.

torch.SymFloat computes `a // b` as floor(a / b), which rounds twice: 1.0 // 0.1 is 9.0 in Python,
and floor(1.0 / 0.1) is 10. It takes no powers of negative numbers, which are real where the
exponent is whole. While user code runs, the operators are Python's.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import SymbolNode, to_python, to_sym
from monograph.integers import call

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_NUMBERS = (int, float, torch.SymInt, torch.SymFloat)


@contextmanager
def python_division() -> Generator[None]:
    """Divide as Python does where one side is a float."""
    before = {
        (kind, name): getattr(kind, name)
        for kind in (torch.SymInt, torch.SymFloat)
        for name in ("__floordiv__", "__rfloordiv__")
    }
    power: Any = torch.SymFloat.__pow__
    for (kind, name), method in before.items():
        setattr(kind, name, _divided(method, is_reflected=name == "__rfloordiv__"))
    torch.SymFloat.__pow__ = _powers(power)  # pyright: ignore[reportAttributeAccessIssue] - put back below
    try:
        yield
    finally:
        torch.SymFloat.__pow__ = power
        for (kind, name), method in before.items():
            setattr(kind, name, method)


def _divided(method: Callable[[Any, Any], Any], *, is_reflected: bool) -> Callable[[Any, Any], Any]:
    def floordiv(self: Any, other: Any) -> Any:
        node = self.node
        is_float = node.is_float() or isinstance(other, float | torch.SymFloat)
        if not (is_float and isinstance(node, SymbolNode) and isinstance(other, _NUMBERS)):
            return method(self, other)
        left, right = to_python(self), to_python(other)
        if is_reflected:
            left, right = right, left
        return to_sym(call("floordiv", left, right), node.facts)

    return floordiv


def _powers(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def power(self: Any, exponent: Any) -> Any:
        node = self.node
        is_whole = isinstance(exponent, int | float) and float(exponent).is_integer()
        if not (is_whole and isinstance(node, SymbolNode)):
            return method(self, exponent)
        return to_sym(call("pow", to_python(self), exponent), node.facts)

    return power


__all__ = ["python_division"]
