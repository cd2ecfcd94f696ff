"""The trust boundary of programs from files: what fails in one, or takes too long, is a diagnostic.

Law: a program that nobody vouches for raises nothing but `MonographError` when it is called,
lowered, printed or written as text. An error of its operators keeps its type beside that, so that
callers who catch what eager code raises still do.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import ArchiveError, BugError, MonographError, problem
from monograph.integers import MeteredPool

if TYPE_CHECKING:
    from collections.abc import Generator

    from monograph.integers import Facts

STEPS: Final = 1_000_000
"""What the arithmetic of sizes may take while a program is rewritten: some seconds."""
STEPS_OF_A_NODE: Final = 2_000


def is_from_file(facts: Facts | None) -> bool:
    """Whether the program of these facts was read from a file, or made of one that was."""
    return facts is not None and isinstance(facts.pool, MeteredPool)


@contextmanager
def boundary(facts: Facts | None, size: int, what: str) -> Generator[None]:
    """Let nothing but diagnostics out of what is done with a program, of `size` nodes, from a file.

    Raises: archive-run-failed.
    """
    pool: Any = None if facts is None else facts.pool
    if not isinstance(pool, MeteredPool):
        yield
        return
    left = STEPS + STEPS_OF_A_NODE * size
    outer = pool.charge

    def charge(steps: int) -> None:
        nonlocal left
        left -= steps
        if left < 0:
            raise problem("archive-run-failed", what=what, reason="its sizes take too much work")

    pool.charge = charge
    try:
        yield
    except Exception as error:
        refuse(error, what)
        raise
    finally:
        pool.charge = outer


def refuse(error: Exception, what: str) -> None:
    """Raise what a failure is to whoever uses a program from a file, unless it is a diagnostic.

    Raises: archive-run-failed.
    """
    if isinstance(error, MonographError) and not isinstance(error, BugError):
        return
    words = error.diagnostic.headline if isinstance(error, MonographError) else str(error)
    reason = f"{type(error).__name__}: {words}" if words else type(error).__name__
    refusal = problem("archive-run-failed", what=what, reason=reason)
    kind = Exception if isinstance(error, MonographError) else type(error)
    with suppress(TypeError):  # it lies otherwise in memory, as a SyntaxError does
        refusal.__class__ = type("ArchiveError", (ArchiveError, kind), {})
    raise refusal from error


__all__ = ["boundary", "is_from_file", "refuse"]
