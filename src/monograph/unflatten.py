"""The names of `torch.export.unflatten`, for code that changes only its import.

`monograph.unflatten` is the function, as `torch.export.unflatten` is.
"""

from monograph.exported_program import (
    ConstantArgument,
    ExportedProgram,
    ExportGraphSignature,
    InputKind,
    ModuleCallSignature,
    SymBoolArgument,
    SymFloatArgument,
    SymIntArgument,
    TensorArgument,
)
from monograph.program import (
    FlatArgsAdapter,
    UnflattenedCall,
    UnflattenedCalls,
    UnflattenedModule,
    unflatten,
)

InterpreterModule = UnflattenedCall
"""What torch calls one module of the original."""
InterpreterModuleDispatcher = UnflattenedCalls
"""What torch calls a module whose calls differ."""

__all__ = [
    "ConstantArgument",
    "ExportGraphSignature",
    "ExportedProgram",
    "FlatArgsAdapter",
    "InputKind",
    "InterpreterModule",
    "InterpreterModuleDispatcher",
    "ModuleCallSignature",
    "SymBoolArgument",
    "SymFloatArgument",
    "SymIntArgument",
    "TensorArgument",
    "UnflattenedModule",
    "unflatten",
]
