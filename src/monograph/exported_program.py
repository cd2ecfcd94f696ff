"""The names of `torch.export.exported_program`, for code that changes only its import."""

from monograph.graph_signature import (
    ArgumentSpec,
    ConstantArgument,
    CustomObjArgument,
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
)
from monograph.passes import DecompositionTable as CustomDecompTable
from monograph.passes import default_decompositions
from monograph.program import ExportedProgram, ModuleCallEntry, ModuleCallSignature

__all__ = [
    "ArgumentSpec",
    "ConstantArgument",
    "CustomDecompTable",
    "CustomObjArgument",
    "ExportGraphSignature",
    "ExportedProgram",
    "InputKind",
    "InputSpec",
    "ModuleCallEntry",
    "ModuleCallSignature",
    "OutputKind",
    "OutputSpec",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "TokenArgument",
    "default_decompositions",
]
