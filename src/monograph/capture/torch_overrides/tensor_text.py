"""The text of a tensor, which holds its values: nobody but people may read what stands for it.

What is printed, logged or warned about decides nothing, so it shows the type of the tensor, and so
do messages that installed packages write beforehand, for a check that may fail. Any other text of a
tensor is refused: a program would decide by the text of something without values.
"""

from __future__ import annotations

import builtins
import functools
import sys
from typing import TYPE_CHECKING, Any

from monograph.capture.installation import OVERRIDES, heard_by, listening
from monograph.diagnostics.code_origin import is_installed

if TYPE_CHECKING:
    from monograph.abstract.tensor import AbstractTensor
    from monograph.capture.recording.recorder import Recorder


def refuse_text(recorder: Recorder, tensor: AbstractTensor) -> None:
    """Refuse the text of a tensor to user code.

    Raises: value-read.
    """
    if listening() is not recorder:
        return
    known = recorder.scopes.filter
    file = known.asker(sys._getframe())
    if not known.is_library(file) and not is_installed(file):
        recorder.read_data(tensor, "str()")


@OVERRIDES.override(builtins, "print")
def _print(original: Any) -> Any:
    @functools.wraps(original)
    def print_types(*args: Any, **kwargs: Any) -> None:
        """Print for people: tensors by what they are, without values."""
        with heard_by(None):
            original(*args, **kwargs)

    return print_types


__all__ = ["refuse_text"]
