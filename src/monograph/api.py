"""What users call, as a table of contents in code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from monograph.archive import load, save
from monograph.capture import Request, capture, check_declarations
from monograph.dims import AdditionalInputs
from monograph.host.trees import pytree
from monograph.program.from_capture import program_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import torch

    from monograph.program import ExportedProgram


def export(
    module: torch.nn.Module,
    args: tuple[Any, ...] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = True,
    side_effects: Literal["refuse", "ignore"] = "refuse",
    preserve_module_call_signature: Sequence[str] = (),
) -> ExportedProgram:
    """Capture a module as one graph of ATen operators that vouches for what it accepts.

    `args` and `kwargs` are example inputs: their structure, dtypes and static sizes become the
    contract; only sizes and numbers declared in `dynamic_shapes` may vary, which is nested like the
    inputs, or one line (`"x: batch, seq; mask: batch, seq; seq <= 512"`), or a ShapesCollection, or
    AdditionalInputs, whose inputs the program then accepts too. The module comes back untouched.
    The modules named in `preserve_module_call_signature` keep their call's arguments and result
    when the program is unflattened.

    `strict` interprets the module's Python instruction by instruction, so that writes that outlive
    the call, clocks, random numbers and whatever else a program could not repeat are refused with
    their line, and sizes stay symbolic in `len`, `int`, `max` and their like; `strict=False` runs
    it as plain Python. `side_effects="ignore"` reports such writes (`program.report.side_effects`)
    instead of refusing them.

    Shapes: any pytree of tensors and constants → any pytree.
    Raises: SpecError (the declaration), ConstraintViolation (it contradicts the code),
        DataDependentError (a question whose answer is in a tensor), UnsupportedError,
        SideEffectError (a write that outlives the call).
    """
    captured = capture(
        Request(
            module,
            args,
            kwargs,
            dynamic_shapes,
            kept_calls=tuple(preserve_module_call_signature),
            strict=strict,
            ignores_side_effects=side_effects == "ignore",
        )
    )
    check_declarations(captured.inputs, captured.facts)
    program = program_of(captured)
    if isinstance(dynamic_shapes, AdditionalInputs):
        dynamic_shapes.verify(program)
    return program


def register_dataclass(cls: type, *, serialized_type_name: str | None = None) -> None:
    """Let a dataclass be an input or an output: its fields are the children, by name.

    The same registration serves torch.export. Use as a function or a class decorator's body.
    """
    pytree.register_dataclass(cls, serialized_type_name=serialized_type_name)


__all__ = ["export", "load", "register_dataclass", "save"]
