"""Export to ONNX, through torch's translator; sizes that vary are dynamic axes.

What an ONNX model cannot say is refused: it has no state that outlives a call, and writes to no
input. It checks no condition beyond the rank and fixed sizes of its inputs: the others are logged.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import TYPE_CHECKING, Any

import torch

from monograph.archive import conditions
from monograph.diagnostics import problem
from monograph.interop.comparing import check_answers
from monograph.interop.extras import has, need
from monograph.interop.torch_export import report, said, unchecked
from monograph.program import OutputKind

if TYPE_CHECKING:
    import os

    from monograph.program import ExportedProgram

WRITTEN = (
    OutputKind.BUFFER_MUTATION,
    OutputKind.PARAMETER_MUTATION,
    OutputKind.USER_INPUT_MUTATION,
)


def to_onnx(
    program: ExportedProgram,
    file: str | os.PathLike[str] | None = None,
    *,
    verify: bool = True,
    **options: Any,
) -> torch.onnx.ONNXProgram:
    """Translate a program to ONNX, write it to a file if one is given, and return it.

    `options` are those of `torch.onnx.export`. Unless `verify` is False, and if onnxruntime is
    installed, the model answers the examples beside the program before anything is written.

    Raises: extra-not-installed, not-handed-over, wrong-after-handing-over, archive-cannot-hold.
    """
    written = _written(program)
    if written:
        reason = f"it writes to `{written}`, and an ONNX model keeps and changes nothing"
        raise problem("not-handed-over", system="ONNX", reason=reason)
    need("onnx", "onnx", "onnxscript")
    theirs = unchecked(program)
    report("an ONNX model", conditions(program))
    settings: dict[str, Any] = {"verbose": False, **options, "dynamo": True}
    try:
        # What the translator prints and warns of is about itself.
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            model = torch.onnx.export(theirs, **settings)
    except Exception as error:
        cause = error.__cause__ or error
        raise problem("not-handed-over", system="ONNX", reason=said(cause)) from error
    assert model is not None, "the translator returns what it made"
    if verify and has("onnxruntime"):
        check_answers(program, "ONNX", model)
    if file is not None:
        model.save(file)
    return model


def _written(program: ExportedProgram) -> str | None:
    signature = program.graph_signature
    found = [spec.target for spec in signature.output_specs if spec.kind in WRITTEN]
    found += list(signature.mutated_in_place.values())
    return next(filter(None, found), None)


__all__ = ["to_onnx"]
