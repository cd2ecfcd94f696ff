"""Containers of inputs, one level at a time, and declarations nested as the inputs are.

Lists, tuples, named tuples and dicts have a declaration of their own type; a registered class has
the list of its children's declarations, as in torch.export, because it may hold tensors only.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from typing import TYPE_CHECKING, Any

import torch

from monograph.dims.dim import DerivedDim, Dim, DimHint
from monograph.host.trees import children_of, pytree, unflatten

if TYPE_CHECKING:
    from collections.abc import Callable

_OWN_TYPE = (dict, list, OrderedDict, defaultdict, deque)


def children(value: Any) -> list[tuple[str, Any]] | None:
    """(how the key is written, child) of one level of a container, None for a leaf.

    >>> children({"k": [1, 2]}), children((7,)), children(7)
    ([("['k']", [1, 2])], [('[0]', 7)], None)
    """
    if isinstance(value, torch.Tensor | Dim | DerivedDim | DimHint) or pytree.tree_is_leaf(value):
        return None
    return children_of(value)


def nested(value: Any, declare: Callable[[str, Any], Any], path: str = "") -> Any:
    """A declaration nested as `value`: at each leaf what `declare(path, leaf)` says.

    >>> nested({"k": [1, 2]}, lambda path, leaf: path, "x")
    {'k': ["x['k'][0]", "x['k'][1]"]}
    """
    found = children(value)
    if found is None:
        return declare(path, value)
    declared = [nested(child, declare, path + key) for key, child in found]
    if isinstance(value, _OWN_TYPE) or type(value) is tuple or hasattr(value, "_fields"):
        _, spec = pytree.tree_flatten(value, is_leaf=lambda item: item is not value)
        return unflatten(declared, spec)
    return declared


def child_named(found: list[tuple[str, Any]], key: object) -> int | None:
    """The place of the child that a person calls `key`: an index, a dict's key, or a field.

    >>> child_named([("['k']", 1), (".mask", 2)], "mask"), child_named([("[0]", 1)], 0)
    (1, 0)
    """
    written = {f"[{key!r}]", f".{key}"}
    return next((place for place, (name, _) in enumerate(found) if name in written), None)


__all__ = ["child_named", "children", "nested"]
