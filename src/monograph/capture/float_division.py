"""`//` of symbolic numbers as Python divides floats.

torch.SymFloat computes `a // b` as floor(a / b), which rounds twice: 1.0 // 0.1 is 9.0 in Python,
and floor(1.0 / 0.1) is 10. While user code runs, the operator is Python's.
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
    for (kind, name), method in before.items():
        setattr(kind, name, _divided(method, is_reflected=name == "__rfloordiv__"))
    try:
        yield
    finally:
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


__all__ = ["python_division"]
