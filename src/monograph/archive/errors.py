"""Parse errors of archives: each names the file's member and what is wrong with it.

`Refused` travels inside the folder, where the reader of a value does not know which member it is
in; `reading` turns it, and whatever hostile bytes make Python raise, into a diagnostic.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from collections.abc import Generator


class Refused(Exception):  # noqa: N818  (never seen outside)
    """What is wrong with the bytes being read; `name` is that of the diagnostic."""

    def __init__(self, reason: str, name: str = "archive-invalid") -> None:
        super().__init__(reason)
        self.reason = reason
        self.name = name


@contextmanager
def reading(member: str) -> Generator[None]:
    """Refuse, with the member's name, whatever cannot be read below.

    Raises: archive-invalid, archive-damaged, archive-unsafe.
    """
    try:
        yield
    except Refused as refused:
        raise problem(refused.name, member=member, reason=refused.reason) from None
    except MonographError:
        raise
    except RecursionError:
        raise problem("archive-invalid", member=member, reason="it is nested too deeply") from None
    except UNEXPECTED as error:
        reason = f"{type(error).__name__}: {_short(error)}"
        raise problem("archive-invalid", member=member, reason=reason) from error


UNEXPECTED = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
)
"""What Python and torch raise for values that make no sense together."""


def _short(error: BaseException) -> str:
    text = (str(error).splitlines() or [""])[0]
    return text if len(text) <= 120 else f"{text[:117]}..."


__all__ = ["Refused", "reading"]
