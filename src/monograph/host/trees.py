"""Structures of inputs and outputs: torch's own pytrees, where users register their classes.

The public `torch.utils.pytree` of 2.13 has neither key paths nor the registry of node types.
"""

from __future__ import annotations

from typing import Any

from torch.utils import _pytree as pytree
from torch.utils._pytree import TreeSpec


def node_type(value: object) -> Any:
    """The type under which a container is registered; all named tuples are one (`namedtuple`)."""
    return pytree._get_node_type(value)


def children_of(value: Any) -> list[tuple[str, Any]]:
    """The children of a container, each with how a user writes the step to it: `[0]`, `.keys`.

    Those of a class that was registered without keys are numbered.
    """
    node = pytree.SUPPORTED_NODES[node_type(value)]
    if node.flatten_with_keys_fn is None:
        return [(f"[{i}]", child) for i, child in enumerate(node.flatten_fn(value)[0])]
    return [(str(key), child) for key, child in node.flatten_with_keys_fn(value)[0]]


__all__ = ["TreeSpec", "children_of", "node_type", "pytree"]
