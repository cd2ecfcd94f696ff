"""Exception handling in user code: refusals it caught, after which it rests on no answer.

An interpreted `except` does not match them. Plain Python knows no such exceptions, and C functions
catch what they like, so every refusal is noted when it is made, and once user code has returned,
the tracebacks tell which of them had reached it: an exception that leaves a function, or is caught
in it, has the function's frame in its traceback.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from monograph.capture.code_policy import OURS, is_users
from monograph.capture.internal_errors import swallowed_at
from monograph.diagnostics import MonographError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import FrameType


_ASKED: Final = frozenset(
    {"__bool__", "__complex__", "__float__", "__index__", "__int__", "__len__"}
)


def raise_swallowed(notes: Iterable[MonographError]) -> None:
    """Raise the first refusal that reached user code. Raises: whatever user code caught."""
    for error in notes:
        if _reached_user_code(error):
            raise error


def raise_swallowed_before(error: Exception) -> None:
    """Raise the refusal in whose place C code raised something else, on the same line of users'.

    Or in whose place eager code's exception was raised, which nobody caught.
    """
    cause = error.__cause__
    refusal = cause if isinstance(cause, MonographError) else swallowed_at(error)
    if refusal is not None:
        raise refusal from error


def answered(error: MonographError) -> None:
    """A refusal was met by going another way: what user code does next does not rest on it."""
    error.__traceback__, error.is_asked = None, False


def _reached_user_code(error: MonographError) -> bool:
    entry = error.__traceback__
    if entry is None:
        return error.is_asked  # no `except` ever had it
    if _is_asked_by_users(entry.tb_frame):
        return True
    while entry is not None:
        if is_users(entry.tb_frame.f_code.co_filename):
            return True
        entry = entry.tb_next
    return False


def _is_asked_by_users(frame: FrameType) -> bool:
    """Whether C code asked a number or tensor for users' code, and caught what it was told.

    Such a method (`__float__`, `__index__`) catches nothing itself.
    """
    code, asker = frame.f_code, frame.f_back
    is_special = code.co_name in _ASKED and code.co_filename.startswith(f"{OURS}abstract")
    return is_special and asker is not None and is_users(asker.f_code.co_filename)
