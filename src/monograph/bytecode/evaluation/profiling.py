"""Profilers written in C: each interpreted frame runs below a native one of the same name.

They know native frames alone, and would tell of the interpreter what is the program's. While one of
them is active, the loop is called by a function with the file, name and first line of what it runs.
"""

from __future__ import annotations

import sys
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final

from monograph.bytecode.evaluation.loop import run
from monograph.bytecode.evaluation.native_frames import standing_at
from monograph.diagnostics import is_stand_in

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import InterpreterFrame, Mark

__all__ = ["runner"]


def runner() -> Any:
    """What runs frames: the loop, or the same in sight of the profiler that is active."""
    profile: Any = sys.getprofile()
    is_seen = _TOOLS is not None and _TOOLS.get_tool(_TOOLS.PROFILER_ID) is not None
    return _run_in_sight if is_seen or not (profile is None or callable(profile)) else run


def _run_in_sight(frame: InterpreterFrame, thrown: BaseException | None = None) -> Mark:
    body = frame.body
    if body.in_sight is None:
        code = standing_at(frame.code.co_firstlineno, frame.code, _named.__code__)
        body.in_sight = FunctionType(code, {"run": run, "__name__": frame.globals.get("__name__")})
    return body.in_sight(frame, thrown)


def _named(frame: InterpreterFrame, thrown: BaseException | None) -> Mark:
    """Stand in native stacks for the interpreted frame that runs above, for profilers."""
    return run(frame, thrown)


_TOOLS: Final[Any] = getattr(sys, "monitoring", None)
"""What tells profilers of calls from Python 3.12 on, `cProfile` among them."""

assert is_stand_in(_named.__code__), "messages leave it out"
