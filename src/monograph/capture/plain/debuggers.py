"""Debuggers while user code is captured: what people look at there is no part of the program.

A number is shown as its expression, and decides nothing; what is computed at a prompt is dropped
from the graph, as nothing of the program uses it.
"""

from __future__ import annotations

import cmd
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from monograph.capture.queries.noted_answers import heard_by
from monograph.integers import active, use

if TYPE_CHECKING:
    from collections.abc import Generator

__all__ = ["aside", "prompts_aside"]


@contextmanager
def aside() -> Generator[None]:
    """Let what is asked from here on be no question of the program's."""
    facts = active().copy()
    facts.outer = None
    with use(facts), heard_by(None):
        yield


@contextmanager
def prompts_aside() -> Generator[None]:
    """Do so while a debugger that stops in code which runs natively waits for commands."""
    loop: Any = cmd.Cmd.cmdloop

    def cmdloop(*args: Any, **kwargs: Any) -> None:
        with aside():
            loop(*args, **kwargs)

    cmd.Cmd.cmdloop = cmdloop
    try:
        yield
    finally:
        cmd.Cmd.cmdloop = loop
