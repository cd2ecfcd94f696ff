"""The interpreter as a thing: what it has linked, what it is running, and who watches.

One interpreter serves one thread. `interpret` is the short way in, with nobody watching.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call
from monograph.bytecode.evaluation.frame import Handling
from monograph.bytecode.evaluation.hooks import Watcher
from monograph.bytecode.evaluation.tracebacks import show_users_frames
from monograph.bytecode.linking import link
from monograph.bytecode.polyfills import METHOD_NAMES, POLYFILLS
from monograph.diagnostics import BugError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import CodeType, FrameType, FunctionType, TracebackType

    from monograph.bytecode.evaluation.frame import Body, Frame

__all__ = ["Interpreter", "interpret"]


class Interpreter:
    """Runs Python functions by their bytecode."""

    __slots__ = (
        "__weakref__",
        "caller",
        "clean",
        "compared",
        "current",
        "enters",
        "fork",
        "handling",
        "inverted",
        "iterated",
        "memos",
        "natively",
        "passing",
        "polyfilled_methods",
        "polyfills",
        "read_attribute",
        "read_cell",
        "read_global",
        "repeat",
        "replacement",
        "strange",
        "tell_island",
        "told",
        "truth",
        "uncatchable",
        "verdicts",
        "watcher",
        "written",
    )

    current: Frame | None
    clean: TracebackType | None
    passing: BaseException | None
    told: BaseException | None

    def __init__(self, watcher: Watcher | None = None) -> None:
        """Fetch the hooks that the watcher overrides; the others are None and cost nothing."""
        watcher = Watcher() if watcher is None else watcher
        self.watcher = watcher
        self.enters = _overridden(watcher, "enters")
        self.replacement = _overridden(watcher, "replacement")
        self.natively = _overridden(watcher, "natively")
        self.read_global = _overridden(watcher, "read_global")
        self.read_attribute = _overridden(watcher, "read_attribute")
        self.read_cell = _overridden(watcher, "read_cell")
        self.written = _overridden(watcher, "written")
        self.truth = _overridden(watcher, "truth")
        self.fork = _overridden(watcher, "fork")
        self.inverted = _overridden(watcher, "inverted")
        self.compared = _overridden(watcher, "compared")
        self.iterated = _overridden(watcher, "iterated")
        self.repeat = _overridden(watcher, "repeat")
        self.tell_island: Callable[[FunctionType, str], None] = watcher.island
        self.uncatchable = (*watcher.uncatchable, BugError)
        # Lists that are not what they look like, by identity: the watcher answers for them.
        self.strange: dict[int, list[Any]] = {}
        self.polyfills = POLYFILLS
        self.polyfilled_methods = METHOD_NAMES
        self.memos: dict[int, Any] = {}
        # What the policy said of code, by its identity; the code is kept, so that it stays that.
        self.verdicts: dict[int, tuple[bool, CodeType]] = {}
        self.current = None
        # The native frame that the outermost call came from.
        self.caller: FrameType | None = None
        self.handling = Handling()
        # Of the exception that is leaving frames: itself, and the entries that are clean already.
        self.passing = None
        self.clean = None
        # The exception that native code was told is being handled.
        self.told = None

    def call(self, callee: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Call, interpreting whatever is Python and the watcher enters."""
        if self.current is not None:
            return call(self, callee, list(args), kwargs)
        self.caller = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]  (documented)
        try:
            return call(self, callee, list(args), kwargs)
        except BaseException as error:
            show_users_frames(error)
            raise
        finally:
            self.passing = self.clean = self.caller = None

    def stays_outside(self, function: FunctionType, reason: str) -> bool:
        """Whether the policy wants a function to run natively, which it is then told of once."""
        code = function.__code__
        known = self.verdicts.get(id(code))
        if known is None:
            outside = self.enters is not None and not self.enters(function)
            known = self.verdicts[id(code)] = (outside, code)
            if outside:
                self.tell_island(function, reason)
        return known[0]

    def body(self, code: CodeType) -> Body:
        """Return the linked body of a code object."""
        return link(code)


def interpret(function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    """Call a function by interpreting its bytecode, and that of all Python it calls."""
    return Interpreter().call(function, *args, **kwargs)


def _overridden(watcher: Watcher, name: str) -> Any:
    """Return the watcher's own method, or None if it is the one that does nothing."""
    if getattr(type(watcher), name) is getattr(Watcher, name) and name not in vars(watcher):
        return None
    return getattr(watcher, name)
