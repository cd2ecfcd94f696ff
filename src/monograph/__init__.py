"""Capture a PyTorch program as one graph: ahead of time, with symbolic sizes, right or refused."""

from monograph import dynamic_shapes, exported_program, graph_signature
from monograph.api import export, register_dataclass
from monograph.diagnostics import (
    BugError,
    ConstraintViolation,
    ContractError,
    DataDependentError,
    ExportError,
    ExportErrors,
    MonographError,
    SideEffectError,
    SpecError,
    UnsupportedError,
    explain,
)
from monograph.dims import AdditionalInputs, Dim, ShapesCollection, dims, infer_dynamic_shapes
from monograph.program import ExportedProgram, ExportGraphSignature

__all__ = [
    "AdditionalInputs",
    "BugError",
    "ConstraintViolation",
    "ContractError",
    "DataDependentError",
    "Dim",
    "ExportError",
    "ExportErrors",
    "ExportGraphSignature",
    "ExportedProgram",
    "MonographError",
    "ShapesCollection",
    "SideEffectError",
    "SpecError",
    "UnsupportedError",
    "__version__",
    "dims",
    "dynamic_shapes",
    "explain",
    "export",
    "exported_program",
    "graph_signature",
    "infer_dynamic_shapes",
    "register_dataclass",
]

__version__ = "0.1.0"
