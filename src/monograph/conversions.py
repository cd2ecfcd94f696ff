"""Conversions of programs to files of other systems, by the names of the systems.

Nothing of PyTorch or of those systems is imported before a conversion is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.lazy_imports import deferred, resolved

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.program import ExportedProgram

_save = deferred("monograph.archive:save")


def converted(
    program: ExportedProgram | Mapping[str, ExportedProgram], output: str, to: str
) -> None:
    """Write a program to a file as one of `TARGETS`; several by name as one of `OF_ENTRIES`.

    Raises: what the conversion raises; ImportError, where its package is not installed.
    """
    _CONVERSIONS[to](program, output)


def _to_python(program: ExportedProgram, output: str) -> None:
    Path(output).write_text(program.to_python(), encoding="utf-8")


def _to_openvino(program: ExportedProgram, output: str) -> None:
    """OpenVINO reads programs of torch.export; the weights lie beside the `.xml`, as they are."""
    given, kwargs = program.example_inputs or ((), {})
    example = kwargs or given
    converted = resolved("openvino:convert_model")(program.to_torch(), example_input=example)
    resolved("openvino:save_model")(converted, output, compress_to_fp16=False)


def _to_executorch(program: ExportedProgram | Mapping[str, ExportedProgram], output: str) -> None:
    """ExecuTorch lowers programs of torch.export to its edge dialect, and to a buffer.

    Several are methods of one buffer, which has the weights that they share once.

    Raises: ValueError, as memory is planned for the largest inputs: it would take the example's
    sizes for the largest where there is no bound.
    """
    several = isinstance(program, Mapping)
    programs = program if several else {"forward": program}
    free = [
        each.contract.names.get(symbol, str(symbol))
        for each in programs.values()
        for symbol, _, upper in each.contract.ranges
        if not isinstance(upper, int)
    ]
    if free:
        bounds = "; ".join(f"{name} <= 1024" for name in free)
        said = f"memory is planned for the largest inputs, and there is none of {', '.join(free)}"
        raise ValueError(f'{said}: export with bounds, as in --dynamic "...; {bounds}"')
    theirs = {name: each.to_torch() for name, each in programs.items()}
    lower = resolved("executorch.exir:to_edge_transform_and_lower")
    lowered = lower(theirs if several else theirs["forward"])
    Path(output).write_bytes(lowered.to_executorch().buffer)


_CONVERSIONS: Final[Mapping[str, Callable[[Any, str], object]]] = {
    "onnx": lambda program, output: program.to_onnx(output),
    "aoti": lambda program, output: program.package(output),
    "torch": _save,
    "python": _to_python,
    "openvino": _to_openvino,
    "executorch": _to_executorch,
}
TARGETS: Final = tuple(_CONVERSIONS)
OF_ENTRIES: Final = ("onnx", "executorch")
"""What several programs over one state become as a whole: a folder, or one file."""

PACKAGES: Final[Mapping[str, str]] = {"openvino": "openvino", "executorch": "executorch"}


__all__ = ["OF_ENTRIES", "PACKAGES", "TARGETS", "converted"]
