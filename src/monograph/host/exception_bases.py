"""Torch's exception classes that code catches around an export, as bases of ours.

Verified against torch 2.13.0: `torch.export` raises `UserError` for most programs it refuses,
`Unsupported` for Python that Dynamo does not trace, the two of `symbolic_shapes` for sizes, and
`SpecViolationError` for a program that is not well formed.
They are private, and no public class is what such code names. Nothing is imported for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.diagnostics import (
    BugError,
    ConstraintViolation,
    DataDependentError,
    ExportError,
    MonographError,
    SideEffectError,
    SpecError,
    UnsupportedError,
    also_caught_as,
)

if TYPE_CHECKING:
    from collections.abc import Callable

DYNAMO = "torch._dynamo.exc"
VERIFIER = "torch._export.verifier"
SHAPES = "torch.fx.experimental.symbolic_shapes"


def _of_users(error_type: str) -> Callable[[Any], dict[str, Any]]:
    def attributes(module: Any) -> dict[str, Any]:
        return {**_of_dynamo(module), "error_type": module.UserErrorType[error_type]}

    return attributes


def _of_dynamo(_: Any) -> dict[str, Any]:
    names = ("_torch_dynamo_tracer_output", "frame_exec_strategy", "real_stack", "category")
    return {**dict.fromkeys(names), "skip_frame": False, "logged": False, "gb_type": ""}


def _of_shapes(_: Any) -> dict[str, Any]:
    return {"cond": None}


ERROR_TYPES: dict[type[MonographError], str] = {
    SpecError: "INVALID_INPUT",
    ConstraintViolation: "CONSTRAINT_VIOLATION",
    ExportError: "ANTI_PATTERN",
}


def register_bases() -> None:
    """Enter all of them; a class is looked for when something is raised."""
    for kind, error_type in ERROR_TYPES.items():
        also_caught_as(kind, f"{DYNAMO}:UserError", _of_users(error_type))
    for kind in (UnsupportedError, SideEffectError):
        also_caught_as(kind, f"{DYNAMO}:Unsupported", _of_dynamo)
    also_caught_as(BugError, f"{VERIFIER}:SpecViolationError", lambda _: {})
    also_caught_as(ConstraintViolation, f"{SHAPES}:ConstraintViolationError", _of_shapes)
    also_caught_as(DataDependentError, f"{SHAPES}:GuardOnDataDependentSymNode", _of_shapes)


__all__ = ["register_bases"]
