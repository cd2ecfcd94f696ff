"""Containers of inputs, one level at a time, and declarations nested as the inputs are.

Lists, tuples, named tuples and dicts have a declaration of their own type; a registered class has
the list of its children's declarations, as in torch.export, because it may hold tensors only.
"""

from __future__ import annotations

import ast
from collections import OrderedDict, defaultdict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monograph.dims.dim import DerivedDim, Dim, DimHint
from monograph.host.trees import (
    ObjectNode,
    Visits,
    children_of,
    flatten,
    is_container,
    node_type,
    unflatten,
)

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, eq=False, slots=True)
class IntInput:
    """An int, `val`, among the example inputs that a ShapesCollection can tell from others."""

    val: int


def is_int_input(value: object) -> bool:
    """Whether it stands for an int: an `IntInput`, or what torch.export has for it."""
    kind = type(value)
    is_torchs = kind.__module__ == "torch.export.dynamic_shapes" and kind.__name__ == "_IntWrapper"
    return is_torchs or isinstance(value, IntInput)


_LEAVES = (Dim, DerivedDim, DimHint)
_OWN_TYPE = (dict, list, OrderedDict, defaultdict, deque)


def children(value: Any) -> list[tuple[str, Any]] | None:
    """(how the key is written, child) of one level of a container, None for a leaf.

    >>> children({"k": [1, 2]}), children((7,)), children(7)
    ([("['k']", [1, 2])], [('[0]', 7)], None)
    """
    if isinstance(value, _LEAVES) or is_int_input(value) or not is_container(value):
        return None
    found = children_of(value)
    if found and not found[0][0]:  # the content of an object
        return [*children_of(found[0][1]), *found[1:]]
    return found


def nested(
    value: Any, declare: Callable[[str, Any], Any], path: str = "", visits: Visits | None = None
) -> Any:
    """A declaration nested as `value`: at each leaf what `declare(path, leaf)` says.

    Of an object, it names the attributes; where an object is there again, it says nothing.

    >>> nested({"k": [1, 2]}, lambda path, leaf: path, "x")
    {'k': ["x['k'][0]", "x['k'][1]"]}
    """
    found = children(value)
    if found is None:
        return declare(path, value)
    visits = visits or Visits()
    if visits.is_again(value):
        return None
    declared = [nested(child, declare, path + key, visits) for key, child in found]
    if node_type(value) is ObjectNode:
        return {_name(key): each for (key, _), each in zip(found, declared, strict=True)}
    if isinstance(value, _OWN_TYPE) or type(value) is tuple or hasattr(value, "_fields"):
        _, spec = flatten(value, is_leaf=lambda item: item is not value)
        return unflatten(declared, spec)
    return declared


def _name(step: str) -> Any:
    """What a person calls a child: `.mask` is "mask", `['k']` is "k", `[0]` is 0."""
    return step[1:] if step.startswith(".") else ast.literal_eval(step[1:-1])


def child_named(found: list[tuple[str, Any]], key: object) -> int | None:
    """The place of the child that a person calls `key`: an index, a dict's key, or a field.

    >>> child_named([("['k']", 1), (".mask", 2)], "mask"), child_named([("[0]", 1)], 0)
    (1, 0)
    """
    written = {f"[{key!r}]", f".{key}"}
    return next((place for place, (name, _) in enumerate(found) if name in written), None)


__all__ = ["IntInput", "child_named", "children", "is_int_input", "nested"]
