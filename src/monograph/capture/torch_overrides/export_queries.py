"""Function overrides of `torch.compiler.is_compiling` and others that ask who runs this code.

Law: user code is told what it is told in eager code, or what `export(is_exporting=...)` says; the
report has the question either way. PyTorch's own code hears that somebody compiles, and installed
packages do where they cannot be captured else, and the program was seen to agree with the module.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.capture.code_policy import INTERPRETER, OURS, TORCH
from monograph.capture.installation import OVERRIDES, listening
from monograph.diagnostics.code_origin import is_installed
from monograph.host.dispatch import MODE_COUNT, MODE_ON_TOP, MODE_STACK

if TYPE_CHECKING:
    from types import FrameType

    from monograph.capture.recording.recorder import Recorder

_ASKING: Final = frozenset({"is_compiling", "is_exporting"})
"""Functions of PyTorch that only pass the question on."""
_ENCODER: Final = f"{TORCH}nn/modules/transformer.py"
_OPERATORS: Final = ("torch._higher_order_ops.", "torch.nn.attention.flex_attention")
_MARKS: Final = f"{TORCH}_dynamo/decorators.py"
"""What Dynamo is told of tensors, which asks whether Dynamo itself runs."""


@OVERRIDES.override_code(torch.compiler.is_compiling)
@OVERRIDES.override_code(torch.compiler.is_exporting)
def _is_compiling(original: Any) -> Any:
    def answer() -> bool:
        recorder = listening()
        if recorder is None:
            return original()
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_name in _ASKING:
            frame = frame.f_back
        file = recorder.scopes.filter.asker(frame)
        if file == _MARKS:
            return original()
        if file.startswith(TORCH):
            return file != _ENCODER or not _packs_rows(recorder)
        told, package = recorder.exporting, is_installed(file)
        told.is_asked_by_packages |= package
        said = told.user or (told.packages and package) or original()
        told.found.setdefault((f"torch.compiler.{original.__name__}()", said), recorder.origin())
        return said

    return answer


def _packs_rows(recorder: Recorder) -> bool:
    """Whether `nn.TransformerEncoder` takes the way by which padded rows become zeros.

    It does where no gradient is needed, so every call is held to the mode of the example.
    """
    if not recorder.scopes.decides("grad_mode", ""):
        recorder.answers_noted.note("grad_mode", recorder.origin())
    return not torch.is_grad_enabled() or not any(
        each.requires_grad for each in recorder.scopes.root.parameters()
    )


@OVERRIDES.override_code(torch.compiler.is_dynamo_compiling)
def _is_dynamo_compiling(original: Any) -> Any:
    """The front ends of higher-order operators compile their functions unless they hear this.

    Then they flatten their arguments, and call the operator below them.
    """

    def answer() -> bool:
        if listening() is None:
            return original()
        caller = sys._getframe(2).f_globals.get("__name__", "")
        return caller.startswith(_OPERATORS)

    return answer


# --- modes ---------------------------------------------------------------------------------------


def _is_users(recorder: Recorder) -> bool:
    """Whether user code called the override that asks, itself."""
    frame = sys._getframe(2)
    file = frame.f_code.co_filename
    if file.startswith((OURS, TORCH)) and not file.startswith(INTERPRETER):
        return False
    return not recorder.scopes.filter.asker(frame).startswith(TORCH)


@OVERRIDES.override(*MODE_STACK)
def _modes(original: Any) -> Any:
    def modes() -> list[Any]:
        found, recorder = original(), listening()
        if recorder is None or not _is_users(recorder):
            return found
        return [each for each in found if each is not recorder]

    return modes


@OVERRIDES.override(*MODE_ON_TOP)
def _mode(original: Any) -> Any:
    def mode() -> Any:
        found, recorder = original(), listening()
        return None if found is recorder and recorder and _is_users(recorder) else found

    return mode


@OVERRIDES.override(*MODE_COUNT)
def _n_modes(original: Any) -> Any:
    def count() -> int:
        recorder = listening()
        return original() - (recorder is not None and _is_users(recorder))

    return count
