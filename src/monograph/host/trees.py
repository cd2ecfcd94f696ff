"""Pytrees: torch's own, where users register their classes, and objects by their attributes.

The public `torch.utils.pytree` of 2.13 has neither key paths nor the registry of node types. What
it takes for a leaf and is an object of a class written in Python is a node (`host/objects.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch
from torch.utils import _pytree as pytree
from torch.utils._pytree import TreeSpec

from monograph.host.objects import (
    ObjectNode,
    SharedNode,
    attributes_of,
    is_object,
    made,
    sparse_kind,
    steps,
    taken_apart,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_BUILTIN: Final = frozenset(pytree.BUILTIN_TYPES)
_LEAF: Final = pytree.treespec_leaf()
_STRIDED: Final = torch.strided


class CyclicTreeError(Exception):
    """A container holds itself: the ways from the root to where it is again, and where it was."""

    def __init__(self, path: str, holder: str, kind: type) -> None:
        super().__init__(path)
        self.path, self.holder, self.kind = path, holder, kind


# --- taking apart ------------------------------------------------------------------------------
def flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, and its structure. An object that is there twice is a node once.

    Raises: CyclicTreeError.
    """
    kind: Any = type(tree)
    if issubclass(kind, torch.Tensor) and (kind is not torch.Tensor or tree.layout is _STRIDED):
        return [tree], _LEAF
    flattening = _Flattening(is_leaf)
    spec = flattening.spec_of(tree)
    return flattening.leaves, spec


def leaves_of(tree: Any) -> list[Any]:
    """The leaves of a tree.

    Raises: CyclicTreeError.
    """
    return flatten(tree)[0]


class _Flattening:
    """One walk over a tree."""

    def __init__(self, is_leaf: Callable[[Any], bool] | None) -> None:
        self.leaves: list[Any] = []
        self.is_leaf = is_leaf
        self.above: list[Any] = []
        self.numbers: dict[int, int] = {}
        self.kept: list[Any] = []  # what was numbered by identity stays alive

    def spec_of(self, tree: Any) -> TreeSpec:
        """The structure of a tree, whose leaves are added to the others."""
        kind: Any = type(tree)
        is_plain = kind is not torch.Tensor or tree.layout is _STRIDED
        if (issubclass(kind, torch.Tensor) and (is_plain or sparse_kind(tree) is None)) or (
            self.is_leaf is not None and self.is_leaf(tree)
        ):
            self.leaves.append(tree)
            return _LEAF
        kind = node_type(tree)
        if kind is not ObjectNode and kind not in pytree.SUPPORTED_NODES:
            self.leaves.append(tree)
            return _LEAF
        for i, each in enumerate(self.above):
            if each is tree:
                path = _path([*self.above[1:], tree], self.above[0])
                inner = _path([*self.above[1 : i + 1]], self.above[0])
                raise CyclicTreeError(path, inner, type(tree))
        if kind is ObjectNode:
            if id(tree) in self.numbers:
                return TreeSpec(SharedNode, self.numbers[id(tree)], [])
            self.numbers[id(tree)] = len(self.numbers)
            self.kept.append(tree)
        children, context = parts_of(tree, kind)
        self.above.append(tree)
        specs = [self.spec_of(child) for child in children]
        self.above.pop()
        return TreeSpec(kind, context, specs)


def _path(way: list[Any], root: Any) -> str:
    """How a user writes the way from a root through these values; arguments by their number."""
    path, owner = "", root
    for value in way:
        path += next((step for step, child in children_of(owner) if child is value), "")
        owner = value
    return path


def node_type(value: object) -> Any:
    """The type of the node that a value is; a leaf's is its own.

    All named tuples are one (`namedtuple`), all objects that are taken by attributes another.
    """
    kind = pytree._get_node_type(value)
    if kind in _BUILTIN:
        return kind
    if kind in pytree.SUPPORTED_NODES:
        return ObjectNode if _loses_parts(value, kind) else kind
    return ObjectNode if is_object(value) else kind


def _loses_parts(value: Any, kind: Any) -> bool:
    """Whether a registration leaves out tensors and numbers of objects that the value holds.

    A cache whose layers count is one; one that it refuses loses all. What the value itself holds
    beside is its author's affair.
    """
    if kind in pytree.CONSTANT_NODES or not is_object(value):
        return False
    held = [each for each in _objects_in(attributes_of(value).values()) if not _is_known(each)]
    if not held:
        return False
    try:
        children, _ = parts_of(value, kind)
    except Exception:  # noqa: BLE001  (the author's code, which knows some of its class alone)
        return True
    known = {id(leaf) for leaf in flatten(children)[0]}
    leaves = (leaf for each in held for leaf in flatten(each)[0])
    return any(
        isinstance(leaf, torch.Tensor | int | float) and id(leaf) not in known for leaf in leaves
    )


def _objects_in(values: Iterable[Any]) -> Iterator[Any]:
    """The objects among some values and what lists, tuples and dicts among them hold."""
    for value in values:
        if type(value) in {list, tuple}:
            yield from _objects_in(value)
        elif type(value) is dict:
            yield from _objects_in(value.values())
        elif is_object(value):
            yield value


def _is_known(value: Any) -> bool:
    return pytree._get_node_type(value) in pytree.SUPPORTED_NODES


def is_container(value: Any) -> bool:
    """Whether a value is a node of a tree, and no leaf."""
    kind: Any = type(value)
    if issubclass(kind, torch.Tensor):
        is_plain = kind is not torch.Tensor or value.layout is _STRIDED
        return not is_plain and sparse_kind(value) is not None
    kind = node_type(value)
    return kind is ObjectNode or kind in pytree.SUPPORTED_NODES


def parts_of(value: Any, kind: Any) -> tuple[list[Any], Any]:
    """The children and the context of a node of this type."""
    if kind is ObjectNode:
        return taken_apart(value)
    return pytree.SUPPORTED_NODES[kind].flatten_fn(value)


def children_of(value: Any) -> list[tuple[str, Any]]:
    """The children of a container, each with how a user writes the step to it: `[0]`, `.keys`.

    Those of a class that was registered without keys are numbered.
    """
    kind = node_type(value)
    if kind is ObjectNode:
        children, state = taken_apart(value)
        return list(zip(steps(state), children, strict=True))
    node = pytree.SUPPORTED_NODES[kind]
    if node.flatten_with_keys_fn is None:
        return [(f"[{i}]", child) for i, child in enumerate(node.flatten_fn(value)[0])]
    return [(str(key), child) for key, child in node.flatten_with_keys_fn(value)[0]]


# --- putting together --------------------------------------------------------------------------
def unflatten(leaves: Iterable[Any], spec: TreeSpec) -> Any:
    """Build what was flattened, with its classes: torch's own gives a `torch.Size` as a tuple.

    Where leaves that no size can be stand for others, it is a tuple.
    """
    if not is_special(spec):
        return pytree.tree_unflatten(leaves, spec)
    return _Unflattening(iter(leaves)).built(spec)


def placeholders(ranks: Sequence[int | None]) -> Iterator[list[Any]]:
    """Leaves to make a structure of for its keys alone, given the rank of those that are tensors.

    No values first; then tensors without data, which some classes want (a cache updates itself).
    """
    yield [object()] * len(ranks)
    yield [None if rank is None else torch.empty((1,) * rank, device="meta") for rank in ranks]


_SPECIAL: Final = frozenset({torch.Size, ObjectNode, SharedNode})


def has_objects(spec: TreeSpec) -> bool:
    """Whether there are objects in a structure that no pytree knows."""
    return spec.type is ObjectNode or any(map(has_objects, spec.children()))


def is_special(spec: TreeSpec) -> bool:
    """Whether there is something in a structure that torch's own pytrees do not build."""
    waiting = [spec]
    while waiting:
        each = waiting.pop()
        if each.type in _SPECIAL:
            return True
        waiting += each._children
    return False


class _Unflattening:
    """One tree that is being built, object after object."""

    def __init__(self, leaves: Iterator[Any]) -> None:
        self.leaves = leaves
        self.made: list[Any] = []

    def built(self, spec: TreeSpec) -> Any:
        """The value of a node."""
        if spec.is_leaf():
            return next(self.leaves)
        if spec.type is SharedNode:
            return self.made[spec.context]
        if spec.type is ObjectNode:
            return self._object(spec)
        children = [self.built(child) for child in spec._children]
        if spec.type is torch.Size:
            try:
                return torch.Size(children)
            except TypeError:
                return tuple(children)
        return pytree.SUPPORTED_NODES[spec.type].unflatten_fn(children, spec.context)

    def _object(self, spec: TreeSpec) -> Any:
        self.made.append(None)
        number = len(self.made) - 1
        self.made[number] = made(spec.context, [self.built(child) for child in spec._children])
        return self.made[number]


class Visits:
    """Which objects a walk over a tree has come to: it takes each apart once."""

    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}
        self.paths: set[str] = set()
        """Where they are."""

    def has_met(self, value: Any) -> bool:
        """Whether a value is one of them."""
        return id(value) in self._seen

    def is_again(self, value: Any, path: str = "") -> bool:
        """Whether a value is an object that the walk has come to before."""
        if node_type(value) is not ObjectNode:
            return False
        is_known = id(value) in self._seen
        self._seen[id(value)] = value
        self.paths.add(path)
        return is_known


def leaf_paths(path: str, value: Any, visits: Visits) -> Iterator[str]:
    """Where each leaf is, as a user writes it: `x[0]`, `cache.layers[0].keys`."""
    if not is_container(value):
        yield path
    elif not visits.is_again(value, path):
        for step, child in children_of(value):
            yield from leaf_paths(path + step, child, visits)


def tree_map(
    function: Callable[[Any], Any], tree: Any, is_leaf: Callable[[Any], bool] | None = None
) -> Any:
    """The tree with other leaves.

    Raises: CyclicTreeError.
    """
    leaves, spec = flatten(tree, is_leaf)
    return unflatten([function(leaf) for leaf in leaves], spec)


__all__ = [
    "CyclicTreeError",
    "ObjectNode",
    "SharedNode",
    "TreeSpec",
    "Visits",
    "children_of",
    "flatten",
    "has_objects",
    "is_container",
    "is_special",
    "leaf_paths",
    "leaves_of",
    "node_type",
    "parts_of",
    "placeholders",
    "pytree",
    "tree_map",
    "unflatten",
]
