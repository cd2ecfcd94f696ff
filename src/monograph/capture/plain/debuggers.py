"""Debuggers during capture: what people look at there is no part of the program.

A number is shown as its expression, and decides nothing; what is computed at a prompt is dropped
from the graph, as nothing of the program uses it.
"""

from __future__ import annotations

import cmd
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from monograph.capture.installation import OVERRIDES, heard_by, listening
from monograph.integers import active, use

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["aside"]


@contextmanager
def aside() -> Generator[None]:
    """Let what is asked from here on be no question of the program's."""
    facts = active().copy()
    facts.outer = None
    with use(facts), heard_by(None):
        yield


@OVERRIDES.override(cmd.Cmd, "cmdloop")
def _cmdloop(original: Any) -> Any:
    """A debugger that stops in code which runs natively waits for commands."""

    def cmdloop(*args: Any, **kwargs: Any) -> None:
        with nullcontext() if listening() is None else aside():
            original(*args, **kwargs)

    return cmdloop
