"""Capture a PyTorch program as one graph: ahead of time, with symbolic sizes, right or refused."""

import os

from monograph import dynamic_shapes, exported_program, graph_signature, logs, passes, report, rules
from monograph.api import (
    check_custom_op,
    draft_export,
    export,
    from_torch,
    load,
    load_package,
    register_dataclass,
    save,
)
from monograph.diagnostics import (
    ArchiveError,
    BugError,
    ConstraintViolation,
    ContractError,
    DataDependentError,
    ExportError,
    ExportErrors,
    HandOverError,
    MonographError,
    SideEffectError,
    SpecError,
    UnsupportedError,
    explain,
)
from monograph.dims import (
    AdditionalInputs,
    Dim,
    ShapesCollection,
    dims,
    infer_dynamic_shapes,
    refine_dynamic_shapes,
)
from monograph.logs import set_logs
from monograph.passes import DecompositionTable, default_decompositions
from monograph.passes.decomposition.table import decompose
from monograph.program import (
    ExportedProgram,
    ExportGraphSignature,
    UnflattenedModule,
    unflatten,
)

__all__ = [
    "AdditionalInputs",
    "ArchiveError",
    "BugError",
    "ConstraintViolation",
    "ContractError",
    "DataDependentError",
    "DecompositionTable",
    "Dim",
    "ExportError",
    "ExportErrors",
    "ExportGraphSignature",
    "ExportedProgram",
    "HandOverError",
    "MonographError",
    "ShapesCollection",
    "SideEffectError",
    "SpecError",
    "UnflattenedModule",
    "UnsupportedError",
    "__version__",
    "check_custom_op",
    "decompose",
    "default_decompositions",
    "dims",
    "draft_export",
    "dynamic_shapes",
    "explain",
    "export",
    "exported_program",
    "from_torch",
    "graph_signature",
    "infer_dynamic_shapes",
    "load",
    "load_package",
    "passes",
    "refine_dynamic_shapes",
    "register_dataclass",
    "report",
    "rules",
    "save",
    "set_logs",
    "unflatten",
]

__version__ = "0.1.0"

logs.configure_from_environment(os.environ)
