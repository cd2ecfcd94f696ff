"""Declarations of caches in the forms of transformers' recipes: by columns instead of by layers.

A cache holds layers, a layer holds `keys` and `values`. Recipes that were written for the
registered cache say all keys and then all values: `[[kv] * n, [kv] * n]`, the same in a dict with
`key_cache` and `value_cache`, `[(k, v)] * n` for each layer, or `[kv] * 2 * n` in a row.
"""

from __future__ import annotations

from typing import Any, Final

import torch

from monograph.dims.dim import DerivedDim, Dim, DimHint
from monograph.dims.nesting import children, nested
from monograph.host.trees import ObjectNode, node_type

_COLUMNS: Final = {"key_cache": "keys", "value_cache": "values"}
"""What the columns of a registered cache are called, and the attributes of its layers."""


def is_grouped(value: Any, spec: Any) -> bool:
    """Whether a declaration of an object is in one of these forms."""
    if node_type(value) is not ObjectNode:
        return False
    if isinstance(spec, dict):
        return bool(spec) and set(spec) <= set(_COLUMNS)
    return isinstance(spec, list | tuple)


def by_attributes(value: Any, spec: Any) -> Any:
    """The declaration, nested as the object is; as it was where it does not fit.

    Where a list of lists may be columns or layers, it is columns.
    """
    tensors = _tensors(value)
    columns = _columns(tensors)
    assigned = _assigned(columns, spec)
    if assigned is None:
        return spec
    return nested(value, lambda path, _: assigned.get(path))


def _tensors(value: Any) -> list[str]:
    """The paths of an object's tensors."""
    found: list[str] = []

    def note(path: str, leaf: Any) -> None:
        if isinstance(leaf, torch.Tensor):
            found.append(path)

    nested(value, note)
    return found


def _columns(paths: list[str]) -> dict[str, list[str]]:
    """The paths of the tensors that layers have in common, by the attribute's name."""
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(path.rpartition(".")[2], []).append(path)
    known = {name: found[name] for name in _COLUMNS.values() if name in found}
    return known or found


def _assigned(columns: dict[str, list[str]], spec: Any) -> dict[str, Any] | None:
    """The entry of each tensor by its path; None where there are others than in the declaration."""
    if isinstance(spec, dict):
        names = [_COLUMNS[name] for name in spec]
        listed = [columns.get(name, []) for name in names]
        return _paired(listed, list(spec.values()))
    own = list(columns.values())
    in_rows = [path for layer in zip(*own, strict=False) for path in layer]
    in_columns = [path for column in own for path in column]
    if all(isinstance(entry, list | tuple) and not _is_sizes(entry) for entry in spec):
        rows = [list(layer) for layer in zip(*own, strict=False)]
        return _paired(own, spec) or _paired(rows, spec)
    if len(spec) != len(in_columns):
        return None
    is_uniform = all(entry == spec[0] for entry in spec)
    return dict(zip(in_columns if is_uniform else in_rows, spec, strict=True))


def _is_sizes(entry: Any) -> bool:
    """Whether a list is about the dimensions of one tensor."""
    return any(isinstance(each, Dim | DerivedDim | DimHint | int) for each in entry)


def _paired(groups: list[list[str]], specs: Any) -> dict[str, Any] | None:
    """The entries of groups of paths; None where there are not as many."""
    found: dict[str, Any] = {}
    if len(groups) != len(specs):
        return None
    for paths, entries in zip(groups, specs, strict=True):
        inside = children(entries)
        if inside is None or len(inside) != len(paths):
            return None
        found.update(zip(paths, [child for _, child in inside], strict=True))
    return found


__all__ = ["by_attributes", "is_grouped"]
