"""Exception handling in user code: refusals it caught, after which it rests on no answer.

An interpreted `except` does not match them. Plain Python knows no such exceptions, and C functions
catch what they like, so every refusal is noted when it is made, and once user code has returned,
the tracebacks tell which of them had reached it: an exception that leaves a function, or is caught
in it, has the function's frame in its traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from monograph.capture.code_policy import is_users

if TYPE_CHECKING:
    from collections.abc import Iterable

    from monograph.diagnostics import MonographError


def raise_swallowed(notes: Iterable[MonographError]) -> None:
    """Raise the first refusal that reached user code. Raises: whatever user code caught."""
    for error in notes:
        if _reached_user_code(error):
            raise error


def answered(error: MonographError) -> None:
    """A refusal was met by going another way: what user code does next does not rest on it."""
    error.__traceback__ = None


def _reached_user_code(error: MonographError) -> bool:
    entry = error.__traceback__
    while entry is not None:
        if is_users(entry.tb_frame.f_code.co_filename):
            return True
        entry = entry.tb_next
    return False
