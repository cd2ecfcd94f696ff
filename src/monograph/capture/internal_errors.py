"""Internal errors: exceptions of our own, told from those of user code.

Law: where a way of the program ends by an exception, that is the program's. What the machinery
around ways raises by mistake is no end of any way; it would become an assertion otherwise.
"""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from monograph.diagnostics import MonographError, problem

if TYPE_CHECKING:
    from collections.abc import Generator

_HERE: Final = f"{Path(__file__).parents[1]}/"
_PASS: Final = (MonographError, RecursionError, MemoryError)


@contextmanager
def no_mistake(what: str) -> Generator[None]:
    """Whatever is raised inside, beside refusals, is ours: user code's does not come this far.

    Raises: bug.
    """
    try:
        yield
    except _PASS:
        raise
    except Exception as error:
        traceback, place = error.__traceback__, ""
        while traceback is not None:
            file = traceback.tb_frame.f_code.co_filename
            if file.startswith(_HERE):
                place = f" at {file.removeprefix(_HERE)}:{traceback.tb_lineno}"
            traceback = traceback.tb_next
        reason = f"{what} failed{place} ({type(error).__name__}: {error})"
        raise problem("bug", reason=reason) from error


__all__ = ["no_mistake"]
