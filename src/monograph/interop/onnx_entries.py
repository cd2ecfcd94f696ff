"""ONNX export of several entries: a model each, and one external file of weights for all."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.interop.onnx import to_onnx
from monograph.lazy_imports import resolved
from monograph.programs import entry

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping
    from typing import IO

    from monograph.program import ExportedProgram

WEIGHTS: Final = "weights.bin"
GRAIN: Final = 64
INSIDE: Final = 1024
"""Tensors of fewer bytes stay in the model: shapes are inferred from some of them."""


def all_to_onnx(
    programs: Mapping[str, ExportedProgram], folder: str | os.PathLike[str], **options: Any
) -> dict[str, Path]:
    """Write `<entry>.onnx` for each, and the weights of all of them once, into `weights.bin`.

    Nothing is written where one entry cannot be translated.

    Raises: as `to_onnx`, with the name of the entry.
    """
    models: dict[str, Any] = {}
    for name, program in programs.items():
        with entry(name):
            models[name] = to_onnx(program, **options).model
    where = Path(folder)
    where.mkdir(parents=True, exist_ok=True)
    with (where / WEIGHTS).open("wb") as file:
        _write_weights(models.values(), file, where)
    files = {name: where / f"{name}.onnx" for name in models}
    for name, model in models.items():
        resolved("onnx_ir:save")(model, files[name])
    return files


def _write_weights(models: Any, file: IO[bytes], folder: Path) -> None:
    """Put each tensor into the file, unless its bytes are there; the models name their place."""
    external = resolved("onnx_ir:ExternalTensor")
    places: dict[bytes, int] = {}
    for model in models:
        for value in model.graph.initializers.values():
            tensor = value.const_value
            if tensor is None or tensor.nbytes < INSIDE:
                continue
            data = tensor.tobytes()
            key = hashlib.sha256(data).digest()
            if key not in places:
                file.write(b"\0" * (-file.tell() % GRAIN))
                places[key] = file.tell()
                file.write(data)
            value.const_value = external(
                WEIGHTS,
                places[key],
                len(data),
                tensor.dtype,
                shape=tensor.shape,
                name=value.name,
                base_dir=folder,
            )


__all__ = ["all_to_onnx"]
