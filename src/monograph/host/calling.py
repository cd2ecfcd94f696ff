"""What tools look for to know that a graph takes structured arguments."""

from __future__ import annotations

from torch.fx.graph import _PyTreeCodeGen as PyTreeCodeGen
from torch.fx.graph import _PyTreeInfo as PyTreeInfo

__all__ = ["PyTreeCodeGen", "PyTreeInfo"]
