"""ExportedProgram: a graph with its signature, state and contract, and the ways to call it.

`build` makes one from what a capture leaves behind; `program.module()` makes it callable.
"""

from __future__ import annotations

import typing

from monograph import lazy_imports
from monograph.program.assemble import build, ranges_of
from monograph.program.conditions import Condition, Conditions, Explanation
from monograph.program.contract import (
    Contract,
    FloatClause,
    InputClause,
    ModesClause,
    NumberClause,
    SymbolRange,
    TensorClause,
    ValueClause,
)
from monograph.program.export_report import (
    Assumed,
    Because,
    IgnoredEffect,
    LeftOut,
    NativeIsland,
    Problem,
    Report,
    Specialization,
)
from monograph.program.graph_module import GraphModule
from monograph.program.printing import dtype_text, readable, type_text
from monograph.program.program import (
    CallSpec,
    ExportedProgram,
    ModuleCallEntry,
    ModuleCallSignature,
    ValueRange,
)
from monograph.program.signature import (
    ArgumentSpec,
    CallNames,
    ConstantArgument,
    CustomObjArgument,
    ExportBackwardSignature,
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
    TokenArgument,
    call_names,
)
from monograph.program.structure import input_paths
from monograph.program.verifier import verify

if typing.TYPE_CHECKING:
    from monograph.program.calling.checks import compile_checks
    from monograph.program.calling.program_module import CheckInputs, ProgramModule
    from monograph.program.unflattening.flat_args import FlatArgsAdapter
    from monograph.program.unflattening.module_calls import (
        UnflattenedCall,
        UnflattenedCalls,
        UnflattenedModule,
    )
    from monograph.program.unflattening.unflatten import unflatten
else:
    __getattr__, __dir__ = lazy_imports.attributes(
        __name__,
        {
            "CheckInputs": "monograph.program.calling.program_module",
            "FlatArgsAdapter": "monograph.program.unflattening.flat_args",
            "ProgramModule": "monograph.program.calling.program_module",
            "UnflattenedCall": "monograph.program.unflattening.module_calls",
            "UnflattenedCalls": "monograph.program.unflattening.module_calls",
            "UnflattenedModule": "monograph.program.unflattening.module_calls",
            "compile_checks": "monograph.program.calling.checks",
            "unflatten": "monograph.program.unflattening.unflatten",
        },
    )

__all__ = [
    "ArgumentSpec",
    "Assumed",
    "Because",
    "CallNames",
    "CallSpec",
    "CheckInputs",
    "Condition",
    "Conditions",
    "ConstantArgument",
    "Contract",
    "CustomObjArgument",
    "Explanation",
    "ExportBackwardSignature",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "FloatClause",
    "GraphModule",
    "IgnoredEffect",
    "InputClause",
    "InputKind",
    "InputSpec",
    "LeftOut",
    "ModesClause",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "NativeIsland",
    "NumberClause",
    "OutputKind",
    "OutputSpec",
    "Problem",
    "ProgramModule",
    "Report",
    "Specialization",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "SymbolRange",
    "TensorArgument",
    "TensorClause",
    "TokenArgument",
    "UnflattenedCall",
    "UnflattenedCalls",
    "UnflattenedModule",
    "ValueClause",
    "ValueRange",
    "build",
    "call_names",
    "compile_checks",
    "dtype_text",
    "input_paths",
    "ranges_of",
    "readable",
    "type_text",
    "unflatten",
    "verify",
]
