"""Structures of inputs and outputs: torch's own pytrees, where users register their classes.

The public `torch.utils.pytree` of 2.13 has neither key paths nor the registry of node types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._pytree import TreeSpec

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


def unflatten(leaves: Iterable[Any], spec: TreeSpec) -> Any:
    """Build what was flattened, with its classes: torch's own gives a `torch.Size` as a tuple.

    Where leaves that no size can be stand for others, it is a tuple.
    """
    if not has_sizes(spec):
        return pytree.tree_unflatten(leaves, spec)
    return _built(iter(leaves), spec)


def has_sizes(spec: TreeSpec) -> bool:
    """Whether a `torch.Size` is in a structure."""
    waiting = [spec]
    while waiting:
        each = waiting.pop()
        if each.type is torch.Size:
            return True
        waiting += each._children
    return False


def _built(leaves: Iterator[Any], spec: TreeSpec) -> Any:
    if spec.is_leaf():
        return next(leaves)
    children = [_built(leaves, child) for child in spec.children()]
    if spec.type is torch.Size:
        try:
            return torch.Size(children)
        except TypeError:
            return tuple(children)
    return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)


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


__all__ = ["TreeSpec", "children_of", "has_sizes", "node_type", "pytree", "unflatten"]
