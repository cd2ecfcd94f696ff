"""Structures of inputs and outputs: torch's own pytrees, where users register their classes.

The public `torch.utils.pytree` of 2.13 has neither key paths nor the registry of node types.
"""

from __future__ import annotations

from torch.utils import _pytree as pytree
from torch.utils._pytree import TreeSpec

__all__ = ["TreeSpec", "pytree"]
