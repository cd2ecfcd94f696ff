"""The names of `torch.export.exported_program`, for code that changes only its import."""

from monograph.program import ExportedProgram, ModuleCallEntry, ModuleCallSignature

__all__ = ["ExportedProgram", "ModuleCallEntry", "ModuleCallSignature"]
