"""Capture a PyTorch program as one graph: ahead of time, with symbolic sizes, right or refused."""

import os
import typing

from monograph import lazy_imports
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

if typing.TYPE_CHECKING:
    from monograph import (
        decomp_utils,
        dynamic_shapes,
        estimation,
        exportdb,
        exported_program,
        generation,
        graph_signature,
        passes,
        pt2_archive,
        report,
        rules,
        verification,
    )
    from monograph.api import check_custom_op, draft_export, export, register_dataclass
    from monograph.archive import load, save
    from monograph.dims import (
        AdditionalInputs,
        Constraint,
        Dim,
        ShapesCollection,
        dims,
        infer_dynamic_shapes,
        refine_dynamic_shapes,
    )
    from monograph.estimation import Device, Estimate, estimate
    from monograph.interop import as_torch_export, from_torch, load_package
    from monograph.jit import CompilationProfiler, mark_dynamic, minify, optimize
    from monograph.logs import set_logs
    from monograph.methods import call, export_methods
    from monograph.passes import DecompositionTable, default_decompositions
    from monograph.passes.decomposition.table import DecompositionTable as CustomDecompTable
    from monograph.passes.decomposition.table import decompose
    from monograph.program import (
        ExportBackwardSignature,
        ExportedProgram,
        ExportGraphSignature,
        FlatArgsAdapter,
        ModuleCallEntry,
        ModuleCallSignature,
        UnflattenedModule,
        unflatten,
    )
    from monograph.programs import Programs
    from monograph.sweep import sweep
    from monograph.verification import compare, verify
else:
    # A process that only loads a program needs no capture, and one that declares sizes needs none
    # of both: each is imported when its name is first used.
    __getattr__, __dir__ = lazy_imports.attributes(
        __name__,
        {
            "AdditionalInputs": "monograph.dims",
            "CompilationProfiler": "monograph.jit",
            "Constraint": "monograph.dims",
            "CustomDecompTable": "monograph.decomp_utils",
            "DecompositionTable": "monograph.passes",
            "Device": "monograph.estimation",
            "Dim": "monograph.dims",
            "Estimate": "monograph.estimation",
            "ExportBackwardSignature": "monograph.program",
            "ExportGraphSignature": "monograph.program",
            "ExportedProgram": "monograph.program",
            "FlatArgsAdapter": "monograph.program",
            "ModuleCallEntry": "monograph.program",
            "ModuleCallSignature": "monograph.program",
            "ShapesCollection": "monograph.dims",
            "Programs": "monograph.programs",
            "UnflattenedModule": "monograph.program",
            "as_torch_export": "monograph.interop",
            "call": "monograph.methods",
            "check_custom_op": "monograph.api",
            "compare": "monograph.verification",
            "decomp_utils": "monograph.decomp_utils:",
            "decompose": "monograph.passes.decomposition.table",
            "default_decompositions": "monograph.passes",
            "dims": "monograph.dims",
            "draft_export": "monograph.api",
            "dynamic_shapes": "monograph.dynamic_shapes:",
            "estimate": "monograph.estimation",
            "estimation": "monograph.estimation:",
            "export": "monograph.api",
            "export_methods": "monograph.methods",
            "exportdb": "monograph.exportdb:",
            "exported_program": "monograph.exported_program:",
            "from_torch": "monograph.interop",
            "generation": "monograph.generation:",
            "graph_signature": "monograph.graph_signature:",
            "infer_dynamic_shapes": "monograph.dims",
            "load": "monograph.archive",
            "load_package": "monograph.interop",
            "minify": "monograph.jit",
            "mark_dynamic": "monograph.jit",
            "optimize": "monograph.jit",
            "passes": "monograph.passes:",
            "pt2_archive": "monograph.pt2_archive:",
            "refine_dynamic_shapes": "monograph.dims",
            "register_dataclass": "monograph.api",
            "report": "monograph.report:",
            "rules": "monograph.rules:",
            "save": "monograph.archive",
            "set_logs": "monograph.logs",
            "sweep": "monograph.sweep",
            "unflatten": "monograph.program",
            "verification": "monograph.verification:",
            "verify": "monograph.verification",
        },
    )
    lazy_imports.keep_function(__name__, "dims", "monograph.dims:dims")
    lazy_imports.keep_function(__name__, "sweep", "monograph.sweep:sweep")
    lazy_imports.keep_function(__name__, "unflatten", "monograph.program:unflatten")

__all__ = [
    "AdditionalInputs",
    "ArchiveError",
    "BugError",
    "CompilationProfiler",
    "Constraint",
    "ConstraintViolation",
    "ContractError",
    "CustomDecompTable",
    "DataDependentError",
    "DecompositionTable",
    "Device",
    "Dim",
    "Estimate",
    "ExportBackwardSignature",
    "ExportError",
    "ExportErrors",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "HandOverError",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "MonographError",
    "Programs",
    "ShapesCollection",
    "SideEffectError",
    "SpecError",
    "UnflattenedModule",
    "UnsupportedError",
    "__version__",
    "as_torch_export",
    "call",
    "check_custom_op",
    "compare",
    "decomp_utils",
    "decompose",
    "default_decompositions",
    "dims",
    "draft_export",
    "dynamic_shapes",
    "estimate",
    "estimation",
    "explain",
    "export",
    "export_methods",
    "exportdb",
    "exported_program",
    "from_torch",
    "generation",
    "graph_signature",
    "infer_dynamic_shapes",
    "load",
    "load_package",
    "mark_dynamic",
    "minify",
    "optimize",
    "passes",
    "pt2_archive",
    "refine_dynamic_shapes",
    "register_dataclass",
    "report",
    "rules",
    "save",
    "set_logs",
    "sweep",
    "unflatten",
    "verification",
    "verify",
]

__version__ = "0.1.0"

if os.environ.get("MONOGRAPH_LOGS"):
    lazy_imports.resolved("monograph.logs:configure_from_environment")(os.environ)
