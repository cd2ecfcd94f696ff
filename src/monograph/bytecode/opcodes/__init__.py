"""What each canonical instruction does, in files by family; `HANDLERS` holds them all."""

from __future__ import annotations

from monograph.bytecode.opcodes import (
    attributes,
    calls,
    containers,
    exceptions,
    generators,
    imports,
    jumps,
    matching,
    operators,
    stack,
    text,
    type_parameters,
    variables,
)
from monograph.bytecode.opcodes.registry import HANDLERS, opcode

__all__ = [
    "HANDLERS",
    "attributes",
    "calls",
    "containers",
    "exceptions",
    "generators",
    "imports",
    "jumps",
    "matching",
    "opcode",
    "operators",
    "stack",
    "text",
    "type_parameters",
    "variables",
]
