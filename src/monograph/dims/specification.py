"""Reads `dynamic_shapes`: which dimension of which input may vary, and as what.

The declaration mirrors the inputs: by argument name or by position, then nested like the argument
itself; a tensor's entry is a dict from dimension to size, a list of one entry per dimension, or
None. All mistakes are collected and reported together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from monograph.diagnostics import MonographError, problem, together
from monograph.dims.dim import DerivedDim, Dim, DimHint, from_torch

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Entry = Dim | DerivedDim | DimHint | None
"""One dimension's declaration after normalisation; None means static."""


@dataclass(frozen=True, slots=True)
class Declared:
    """The entries of one tensor input, by its place among the flattened inputs."""

    leaf: int
    path: str
    entries: tuple[Entry, ...]


class _Reader:
    def __init__(self) -> None:
        self.problems: list[MonographError] = []
        self.declared: list[Declared] = []
        self.leaf = 0
        self.named: dict[str, tuple[Dim, str]] = {}
        self.sizes: dict[str, tuple[int, str]] = {}

    def refuse(self, name: str, **facts: Any) -> None:
        self.problems.append(problem(name, **facts))

    # --- walking inputs and declaration side by side ----------------------------------------

    def walk(self, value: Any, spec: Any, tensor: str, path: str) -> None:
        """`tensor` is how the input is written (`x[0]`), `path` how its declaration is."""
        children = _children(value)
        if children is not None:
            self._walk_container(value, children, spec, tensor, path)
            return
        leaf, self.leaf = self.leaf, self.leaf + 1
        if isinstance(value, torch.Tensor):
            entries = self._entries(value, spec, tensor, path)
            if any(entry is not None for entry in entries):
                self.declared.append(Declared(leaf, tensor, entries))
        elif spec is not None and not _says_static(spec, value):
            self.refuse("spec-on-non-tensor", path=path, given=spec, value=value)

    def _walk_container(
        self, value: Any, children: list[tuple[str, Any]], spec: Any, tensor: str, path: str
    ) -> None:
        specs = self._match(value, children, spec, path)
        for (key, child), child_spec in zip(children, specs, strict=True):
            self.walk(child, child_spec, tensor + key, path + key)

    def _match(
        self, value: Any, children: list[tuple[str, Any]], spec: Any, path: str
    ) -> list[Any]:
        """One declaration per child; all None where the structures differ."""
        if spec is None:
            return [None] * len(children)
        if isinstance(value, dict) and isinstance(spec, dict):
            if set(spec) == set(value):
                return [spec[key] for key in value]
        else:
            found = _children(spec)
            if found is not None and len(found) == len(children) and not isinstance(value, dict):
                return [child for _, child in found]
        self.refuse(
            "spec-structure-differs",
            path=path,
            expected=_describe(value, children),
            given=_describe(spec, _children(spec) or []),
            skeleton=_skeleton(value),
        )
        return [None] * len(children)

    # --- one tensor --------------------------------------------------------------------------

    def _entries(
        self, value: torch.Tensor, spec: Any, tensor: str, path: str
    ) -> tuple[Entry, ...]:
        rank = value.dim()
        listed: list[Any] = [None] * rank
        if isinstance(spec, dict):
            for dim, entry in spec.items():
                if not isinstance(dim, int) or not -rank <= dim < rank:
                    self.refuse("spec-wrong-rank", path=path, tensor=tensor, rank=rank, given=_above(dim))
                    return ()
                listed[dim % rank] = entry
        elif isinstance(spec, list | tuple):
            if len(spec) != rank:
                self.refuse("spec-wrong-rank", path=path, tensor=tensor, rank=rank, given=len(spec))
                return ()
            listed = list(spec)
        elif spec is not None:
            skeleton = _skeleton(value)
            self.refuse(
                "spec-structure-differs",
                path=path,
                expected=f"a tensor of {rank} dimensions",
                given=repr(spec),
                skeleton=skeleton,
            )
        return tuple(
            self._entry(from_torch(entry), value.shape[dim], tensor, dim, f"{path}[{dim}]")
            for dim, entry in enumerate(listed)
        )

    def _entry(self, entry: Any, size: int, tensor: str, axis: int, path: str) -> Entry:
        if entry is None:
            return None
        if isinstance(entry, DimHint):
            if entry.mode == "STATIC":
                return None
            self._check_size(repr(entry), entry.min or 0, entry.max, size, tensor, axis, path)
            return entry
        if isinstance(entry, Dim | DerivedDim):
            self._check_named(entry, size, tensor, axis, path)
            return entry
        if type(entry) is int:
            if entry != size:
                self.refuse(
                    "spec-static-size-differs",
                    path=path,
                    tensor=tensor,
                    axis=axis,
                    declared=entry,
                    size=size,
                )
            return None
        self.refuse("spec-not-a-dim", path=path, given=entry)
        return None

    def _check_named(
        self, entry: Dim | DerivedDim, size: int, tensor: str, axis: int, path: str
    ) -> None:
        root = entry if isinstance(entry, Dim) else entry.root
        before, first_path = self.named.setdefault(root.__name__, (root, path))
        if (before.min, before.max) != (root.min, root.max):
            self.refuse(
                "spec-dim-conflict",
                dim=root.__name__,
                first=_range_text(before),
                second=_range_text(root),
                first_path=first_path,
                second_path=path,
            )
            return
        root_size = size
        if isinstance(entry, DerivedDim):
            if not entry.coefficient or (size - entry.offset) % entry.coefficient:
                self.refuse(
                    "spec-derived-unsolvable",
                    path=path,
                    expression=repr(entry),
                    dim=root.__name__,
                    size=size,
                )
                return
            root_size = (size - entry.offset) // entry.coefficient
        known, known_path = self.sizes.setdefault(root.__name__, (root_size, f"{tensor}.shape[{axis}]"))
        if known != root_size:
            self.refuse(
                "spec-dim-sizes-differ",
                dim=root.__name__,
                first_path=known_path,
                first_size=known,
                second_path=f"{tensor}.shape[{axis}]",
                second_size=root_size,
            )
            return
        self._check_size(root.__name__, root.min, root.max, root_size, tensor, axis, path)

    def _check_size(  # noqa: PLR0913 - one fact of the message each
        self, dim: str, lower: int, upper: int | None, size: int, tensor: str, axis: int, path: str
    ) -> None:
        if size < lower or (upper is not None and size > upper):
            self.refuse(
                "spec-size-outside-range",
                path=path,
                tensor=tensor,
                axis=axis,
                dim=dim,
                size=size,
                lower=lower,
                upper=upper,
            )


def read_specification(dynamic_shapes: Any, arguments: Mapping[str, Any]) -> list[Declared]:
    """The declared dimensions of every tensor input that has one.

    `arguments` are the example inputs by parameter name, in the order they are flattened.

    Raises: SpecError, with every mistake found.
    """
    reader = _Reader()
    for name, spec in _by_argument(dynamic_shapes, arguments, reader).items():
        reader.walk(arguments[name], spec, name, f'dynamic_shapes["{name}"]')
    if reader.problems:
        raise together(reader.problems)
    return reader.declared


def _by_argument(spec: Any, arguments: Mapping[str, Any], reader: _Reader) -> dict[str, Any]:
    """The declaration of each argument, None where it says nothing."""
    found: dict[str, Any] = dict.fromkeys(arguments)
    if isinstance(spec, dict):
        for name, entry in spec.items():
            if name in found:
                found[name] = entry
            elif name == "kwargs" and isinstance(entry, dict) and set(entry) <= set(found):
                found.update(entry)
            else:
                reader.refuse("spec-unknown-argument", argument=str(name), arguments=arguments)
    elif isinstance(spec, list | tuple):
        if len(spec) > len(found):
            reader.refuse(
                "spec-structure-differs",
                path="dynamic_shapes",
                expected=f"{len(found)} arguments",
                given=f"a {type(spec).__name__} of {len(spec)}",
                skeleton={name: _skeleton(value) for name, value in arguments.items()},
            )
        found.update(zip(found, spec, strict=False))
    elif spec is not None:
        reader.refuse("spec-not-a-dim", path="dynamic_shapes", given=spec)
    return found


def _children(value: Any) -> list[tuple[str, Any]] | None:
    """(how the key is written, child) of one level of a container, None for a leaf."""
    if isinstance(value, torch.Tensor | Dim | DerivedDim | DimHint):
        return None
    pairs, spec = pytree.tree_flatten_with_path(value, is_leaf=lambda item: item is not value)
    if spec.is_leaf() and pairs and not pairs[0][0]:
        return None
    return [(pytree.keystr(path), child) for path, child in pairs]


def _says_static(spec: Any, value: Any) -> bool:
    """Whether a non-tensor's declaration merely repeats that it is fixed."""
    entry = from_torch(spec)
    if isinstance(entry, DimHint):
        return entry.mode != "DYNAMIC"
    return isinstance(entry, list | tuple | dict) and not entry or entry is value


def _above(dim: Any) -> int:
    return abs(dim) + 1 if isinstance(dim, int) else 0


def _range_text(dim: Dim) -> str:
    return f"{dim.min} … {'' if dim.max is None else dim.max}".strip()


def _describe(value: Any, children: Sequence[tuple[str, Any]]) -> str:
    if isinstance(value, dict):
        keys = ", ".join(f"`{key}`" for key in value)
        return f"a dict with keys {keys}" if keys else "an empty dict"
    if isinstance(value, list | tuple):
        return f"a {type(value).__name__} of {len(value)}"
    if children:
        return f"a {type(value).__name__} of {len(children)}"
    return repr(value) if not isinstance(value, torch.Tensor) else "a tensor"


def _skeleton(value: Any) -> Any:
    """A declaration of the right structure in which everything is fixed."""
    if isinstance(value, dict):
        return {key: _skeleton(child) for key, child in value.items()}
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return type(value)(_skeleton(child) for child in value)
    children = _children(value)
    return None if children is None else [_skeleton(child) for _, child in children]
