"""Exit statuses of the command line, and where its words go."""

from __future__ import annotations

import functools
import os
import shutil
import sys
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from monograph.diagnostics import MonographError, place
from monograph.factories import NotThereError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

RIGHT: Final = 0
WRONG: Final = 1
"""The program, the file or the model is not as it should be."""
MISSING: Final = 2
"""What was named is not there, or the command was not understood."""


_QUIET: Final = ContextVar("quiet", default=False)


def say(text: object) -> None:
    """Print a result."""
    print(text)  # noqa: T201  (what the command is for)


def complain(text: object) -> None:
    """Print why there is no result, beside results."""
    print(text, file=sys.stderr)  # noqa: T201  (to the terminal of whoever gave the command)


def colored_diff(text: str, stream: Any) -> str:
    """A unified diff, in colour where the stream is a terminal and `NO_COLOR` is not set."""
    if not has_color(stream):
        return text
    colors = {"+": "\x1b[32m", "-": "\x1b[31m", "@": "\x1b[36m"}
    lines = [(colors.get(line[:1], ""), line) for line in text.split("\n")]
    return "\n".join([f"{color}{line}\x1b[0m" if color else line for color, line in lines])


def has_color(stream: Any) -> bool:
    """Whether colour is wanted: in a terminal, unless `NO_COLOR` says no (no-color.org)."""
    return (
        bool(stream.isatty())
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


@contextmanager
def progress() -> Generator[Callable[[str], None]]:
    """What is being done now, on one line that is written over; in a terminal, unless quiet."""
    stream = sys.stderr
    if _QUIET.get() or not stream.isatty():
        yield lambda _: None
        return
    width = shutil.get_terminal_size().columns - 1

    def told(text: str) -> None:
        stream.write(f"\r\x1b[K{text[:width]}")
        stream.flush()

    try:
        yield told
    finally:
        stream.write("\r\x1b[K")
        stream.flush()


def quiet(asked: bool) -> None:  # noqa: FBT001  (the answer itself)
    """Whether results and errors alone are said from here on."""
    _QUIET.set(asked)


def is_quiet() -> bool:
    """Whether results and errors alone are said."""
    return _QUIET.get()


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


__all__ = [
    "MISSING",
    "RIGHT",
    "WRONG",
    "NotThereError",
    "colored_diff",
    "complain",
    "has_color",
    "is_quiet",
    "progress",
    "quiet",
    "say",
    "verb",
]
