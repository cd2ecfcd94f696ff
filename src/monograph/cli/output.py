"""Exit statuses of the command line, and where its words go."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import MonographError, place

if TYPE_CHECKING:
    from collections.abc import Callable

RIGHT: Final = 0
WRONG: Final = 1
"""The program, the file or the model is not as it should be."""
MISSING: Final = 2
"""What was named is not there, or the command was not understood."""


class NotThereError(Exception):
    """What the command names is not there; the text says what."""


def say(text: object) -> None:
    """Print a result."""
    print(text)  # noqa: T201  (what the command is for)


def complain(text: object) -> None:
    """Print why there is no result, beside results."""
    print(text, file=sys.stderr)  # noqa: T201  (to the terminal of whoever gave the command)


def verb(function: Callable[..., int]) -> Callable[..., int]:
    """A command: what it raises on purpose becomes one message and an exit status."""

    @functools.wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> int:
        try:
            return function(*args, **kwargs)
        except NotThereError as error:
            complain(error)
            return MISSING
        except MonographError as error:
            complain(_shown(error))
            return WRONG
        except (OSError, ValueError) as error:
            complain(error)
            return WRONG

    return guarded


def _shown(error: MonographError) -> MonographError:
    """The message without the frames of typer: whoever types a command has no line of their own."""
    diagnostic = error.diagnostic
    kept = tuple([at for at in diagnostic.at if "typer" not in Path(place(at).file).parts])
    if kept == diagnostic.at or len(error.problems) > 1:
        return error
    return type(error)(replace(diagnostic, at=kept))


__all__ = ["MISSING", "RIGHT", "WRONG", "NotThereError", "complain", "say", "verb"]
