"""The interpreter: its state, with the instructions, polyfills and hooks it runs with.

`interpret` is the short way in, with nobody watching.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.frame import Handling, ThreadState
from monograph.bytecode.evaluation.hooks import Hooks
from monograph.bytecode.evaluation.loop import run
from monograph.bytecode.evaluation.profiling import runner
from monograph.bytecode.evaluation.tracebacks import show_users_frames
from monograph.bytecode.evaluation.tracing import begin as begin_tracing
from monograph.bytecode.evaluation.tracing import end as end_tracing
from monograph.bytecode.linking import link
from monograph.bytecode.polyfills import METHOD_NAMES, POLYFILLS
from monograph.diagnostics import BugError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Interpreter", "interpret"]

_OPTIONAL: Final = (
    "alike",
    "compared",
    "enters",
    "fork",
    "inverted",
    "iterated",
    "natively",
    "read_attribute",
    "read_cell",
    "read_global",
    "repeat",
    "replacement",
    "text",
    "truth",
    "written",
)
"""Hooks that cost nothing where they are not overridden."""
_CALLED: Final = (
    "aside",
    "chosen_item",
    "island",
    "raised",
    "strange_call",
    "strange_item",
    "strange_truth",
    "strange_use",
)


class Interpreter(ThreadState):
    """Runs Python functions by their bytecode."""

    __slots__ = ()

    def __init__(self, hooks: Hooks | None = None) -> None:
        """Fetch the hooks."""
        hooks = Hooks() if hooks is None else hooks
        kind, own = type(hooks), vars(hooks)
        for name in _OPTIONAL:
            # None where the method is the one that does nothing: it is not even called.
            does_nothing = getattr(kind, name) is getattr(Hooks, name) and name not in own
            setattr(self, name, None if does_nothing else getattr(hooks, name))
        for name in _CALLED:
            setattr(self, name, getattr(hooks, name))
        self.uncatchable = (*hooks.uncatchable, BugError)
        self.strange, self.clones, self.stale = {}, {}, {}
        self.body = link
        self.polyfills = POLYFILLS
        self.polyfilled_methods = METHOD_NAMES
        self.verdicts = {}
        self.has_room = False
        self.run = run
        self.current = self.caller = None
        self.handling = Handling()
        self.passing = self.clean = self.told = None

    def call(self, callee: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call, interpreting whatever is Python and the hooks enter."""
        if self.current is not None:
            return call(self, callee, list(args), kwargs)
        begin_tracing()
        self.run = runner()
        self.caller = sys._getframe(1)
        try:
            return call(self, callee, list(args), kwargs)
        except BaseException as error:
            show_users_frames(error)
            raise
        finally:
            self.passing = self.clean = self.caller = None
            end_tracing()


def interpret(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function by interpreting its bytecode, and that of all Python it calls."""
    return Interpreter().call(function, *args, **kwargs)
