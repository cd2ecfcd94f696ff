"""Declarations of sparse matrices: as of a dense one, by rows and columns; entries always vary.

How many numbers a matrix holds is no size that anybody declares: it differs with the data.
"""

from __future__ import annotations

from typing import Any

from monograph.dims.dim import DerivedDim, Dim
from monograph.host.objects import sparse_kind

_SIZES = ("n_rows", "n_columns")


def by_parts(value: Any, spec: Any) -> Any:
    """The declaration of the parts of a matrix; as it was where it does not fit."""
    kind = sparse_kind(value)
    sizes = _sizes(spec)
    if kind is None or sizes is None:
        return spec
    declared: dict[str, Any] = {name: {dim: Dim.AUTO} for name, dim in kind.varying.items()}
    rows = sizes.get("n_rows")
    if "crow_indices" in kind.names and rows is not None:
        declared["crow_indices"] = {0: rows + 1 if isinstance(rows, Dim | DerivedDim) else Dim.AUTO}
    return declared | sizes


def _sizes(spec: Any) -> dict[str, Any] | None:
    """What is said of a matrix, by the names of its parts."""
    if isinstance(spec, list | tuple) and len(spec) == len(_SIZES):
        return dict(zip(_SIZES, spec, strict=True))
    if spec is None or (isinstance(spec, dict) and set(spec) <= {0, 1}):
        return {_SIZES[dim]: each for dim, each in (spec or {}).items()}
    return spec if isinstance(spec, dict) else None


__all__ = ["by_parts"]
