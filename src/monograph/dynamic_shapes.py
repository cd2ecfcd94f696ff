"""The names of `torch.export.dynamic_shapes`, for code that changes only its import."""

from monograph.dims import (
    AdditionalInputs,
    Constraint,
    Dim,
    IntInput,
    ShapesCollection,
    dims,
    refine_dynamic_shapes_from_suggested_fixes,
)

__all__ = [
    "AdditionalInputs",
    "Constraint",
    "Dim",
    "IntInput",
    "ShapesCollection",
    "dims",
    "refine_dynamic_shapes_from_suggested_fixes",
]

_IntWrapper = IntInput
"""What torch calls it."""
