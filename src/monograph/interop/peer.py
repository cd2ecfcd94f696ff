"""The peer: what torch.export captures of a module with the same declaration, for comparisons."""

from __future__ import annotations

from typing import Any

import torch

from monograph.dims import Dim
from monograph.dims.arguments import bound_arguments
from monograph.dims.dim import DerivedDim, DimHint
from monograph.dims.one_line import read_line


def captured_by_torch(
    module: torch.nn.Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None,
    dynamic_shapes: Any,
) -> torch.export.ExportedProgram:
    """Capture with `torch.export.export` as it does by default; sizes are left to it (`Dim.AUTO`).

    Raises: what torch.export raises; spec-text-unreadable, spec-unknown-argument.
    """
    if isinstance(dynamic_shapes, str):
        arguments = bound_arguments(module, args, kwargs or {})
        spec, _ = read_line(dynamic_shapes, arguments.by_name)
        dynamic_shapes = {name: spec.get(name) for name in arguments.in_signature}
    return torch.export.export(module, args, kwargs, dynamic_shapes=_theirs(dynamic_shapes))


def _theirs(spec: Any) -> Any:
    """A declaration with torch's hints in the place of our sizes."""
    if isinstance(spec, dict):
        return {name: _theirs(each) for name, each in spec.items()}
    if isinstance(spec, list | tuple):
        return type(spec)([_theirs(each) for each in spec])
    if isinstance(spec, DimHint):
        return getattr(torch.export.Dim, spec.mode)
    return torch.export.Dim.AUTO if isinstance(spec, Dim | DerivedDim) else spec


__all__ = ["captured_by_torch"]
