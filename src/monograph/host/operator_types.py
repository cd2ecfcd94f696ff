"""The classes of operators, which have no public name."""

from __future__ import annotations

from torch._ops import HigherOrderOperator, OpOverload

__all__ = ["HigherOrderOperator", "OpOverload"]
