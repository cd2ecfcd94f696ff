"""What the user says about sizes, read and checked against the example inputs."""

from monograph.dims.additional import AdditionalInputs
from monograph.dims.arguments import Arguments, bind, bound_arguments
from monograph.dims.collection import IntInput, ShapesCollection, unwrapped
from monograph.dims.dim import Constraint, DerivedDim, Dim, DimHint, dims
from monograph.dims.inference import InferredShapes, infer_dynamic_shapes
from monograph.dims.refining import (
    Fixes,
    Size,
    fixes_in,
    refine_dynamic_shapes,
    refine_dynamic_shapes_from_suggested_fixes,
    refined,
)
from monograph.dims.source import declaration_source
from monograph.dims.specification import (
    Declared,
    DeclaredNumber,
    Entry,
    Specification,
    read_specification,
)

__all__ = [
    "AdditionalInputs",
    "Arguments",
    "Constraint",
    "Declared",
    "DeclaredNumber",
    "DerivedDim",
    "Dim",
    "DimHint",
    "Entry",
    "Fixes",
    "InferredShapes",
    "IntInput",
    "ShapesCollection",
    "Size",
    "Specification",
    "bind",
    "bound_arguments",
    "declaration_source",
    "dims",
    "fixes_in",
    "infer_dynamic_shapes",
    "read_specification",
    "refine_dynamic_shapes",
    "refine_dynamic_shapes_from_suggested_fixes",
    "refined",
    "unwrapped",
]
