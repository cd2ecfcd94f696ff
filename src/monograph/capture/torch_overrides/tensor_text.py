"""The text of a tensor, which holds its values: nobody but people may read what stands for it.

What is printed, logged or warned about decides nothing, so it shows the type of the tensor, and so
do messages that installed packages write beforehand, for a check that may fail. Any other text of a
tensor is refused: a program would decide by the text of something without values.
"""

from __future__ import annotations

import builtins
import functools
import io
import logging
import sys
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

from monograph.abstract.symbols import is_shown, showing
from monograph.capture.installation import OVERRIDES, THREAD, heard_by, listening, terminals
from monograph.capture.internal_errors import is_written_by_user
from monograph.diagnostics.code_origin import is_installed

if TYPE_CHECKING:
    from collections.abc import Generator

    from monograph.abstract.tensor import AbstractTensor
    from monograph.capture.recording.recorder import Recorder


def refuse_text(recorder: Recorder, tensor: AbstractTensor) -> None:
    """Refuse the text of a tensor to user code.

    Raises: value-read.
    """
    if listening() is not recorder or is_shown():
        return
    known = recorder.scopes.filter
    file = known.asker(sys._getframe())
    if not known.is_library(file) and not is_installed(file):
        recorder.read_data(tensor, "str()")


@OVERRIDES.override(builtins, "print")
def _print(original: Any) -> Any:
    @functools.wraps(original)
    def print_types(*args: Any, **kwargs: Any) -> None:
        """Print for people: tensors by what they are, without values, and no number is fixed."""
        with for_people(is_read_by_people(kwargs.get("file"))):
            original(*args, **kwargs)

    return print_types


@OVERRIDES.override(logging.Logger, "handle")
def _log(original: Any) -> Any:
    @functools.wraps(original)
    def log_types(logger: logging.Logger, record: logging.LogRecord) -> None:
        with for_people(_is_log_for_people(logger)):
            original(logger, record)

    return log_types


@contextmanager
def for_people(shown: bool = True) -> Generator[None]:  # noqa: FBT001, FBT002 - it is what it says
    """What is asked inside is asked for people, who decide nothing; or not, if code may read it."""
    if not shown:
        yield
        return
    with heard_by(None), showing():
        yield


def is_read_by_people(file: Any) -> bool:
    """Whether code cannot read what is written to a file; None is where `print` writes to."""
    file = sys.stdout if file is None else file
    known = (*THREAD.terminals[:2], sys.__stdout__, sys.__stderr__)
    return file is None or any(file is each for each in known)


def are_warnings_for_people() -> bool:
    """Whether user code has begun to record neither warnings nor what is printed."""
    return THREAD.terminals == terminals()


def _is_log_for_people(logger: logging.Logger | None) -> bool:
    """Whether what a logger writes is read by no code: by none of users', and not from memory."""
    while logger is not None:
        if not all(map(_is_for_people, [*logger.filters, *logger.handlers])):
            return False
        logger = logger.parent if logger.propagate else None
    return True


def _is_for_people(part: Any) -> bool:
    code = getattr(type(part), "emit", None) or getattr(type(part), "filter", None)
    is_in_memory = type(part) is logging.StreamHandler and isinstance(part.stream, io.StringIO)
    if is_in_memory or hasattr(part, "buffer") or hasattr(part, "queue"):
        return False
    return isinstance(code, FunctionType) and not is_written_by_user(code.__code__.co_filename)


__all__ = [
    "are_warnings_for_people",
    "for_people",
    "is_read_by_people",
    "refuse_text",
]
