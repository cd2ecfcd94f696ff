"""Conditions on sizes, where C++ wants a bool: `keepdim=x.shape[0] > 2`, `is_causal=n > 1`.

A comparison of sizes gives a `torch.SymBool`, which Python decides when it branches; C++ takes none
for a bool, and says so with an error that no hook comes before. A run that ends so is made again
with comparisons decided at once, each with a guard and the user's line, as a branch would be.
Conditions on values that depend on data stay open: `torch._check` is for them.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.symbols import SymbolNode

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")
_METHODS = (
    *((kind, name) for kind in (torch.SymInt, torch.SymFloat) for name in _COMPARISONS),
    *((torch.SymBool, name) for name in ("__and__", "__or__", "__rand__", "__ror__")),
)


def wants_bool(error: Exception) -> bool:
    """Whether C++ was given a condition where it takes a bool.

    >>> wants_bool(TypeError("amax(): argument 'keepdim' must be bool, not SymBool"))
    True
    """
    return isinstance(error, TypeError | RuntimeError) and "SymBool" in str(error)


@contextmanager
def deciding(*, at_once: bool) -> Generator[None]:
    """While user code runs, comparisons of sizes give bools, if `at_once` says so."""
    if not at_once:
        yield
        return
    before = {(kind, name): getattr(kind, name) for kind, name in _METHODS if hasattr(kind, name)}
    for (kind, name), method in before.items():
        setattr(kind, name, _decided(method))
    try:
        yield
    finally:
        for (kind, name), method in before.items():
            setattr(kind, name, method)


def _decided(method: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def compare(self: Any, other: Any) -> Any:
        condition = method(self, other)
        if not isinstance(condition, torch.SymBool):
            return condition
        node = condition.node
        is_open = isinstance(node, SymbolNode) and not node.has_hint()
        return condition if is_open else bool(condition)

    return compare


__all__ = ["deciding", "wants_bool"]
