"""C functions that start and stop trace functions: debuggers begin in the interpreted frame."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from monograph.bytecode.evaluation.calling import call_native
from monograph.bytecode.evaluation.tracing import (
    call_debugger,
    set_trace_function,
    trace_function,
)
from monograph.bytecode.polyfills.registry import polyfill

if TYPE_CHECKING:
    from monograph.bytecode.evaluation.frame import ThreadState


@polyfill(breakpoint)
def stopped(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Call the hook of `sys`, as the program does."""
    frame = interpreter.current
    if frame is None:
        return call_native(interpreter, breakpoint, args, kwargs)
    return call_debugger(frame, breakpoint, args, kwargs)


@polyfill(sys.settrace)
def set_trace(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Trace the calls that the program makes from now on."""
    if len(args) != 1 or kwargs or interpreter.current is None:
        return call_native(interpreter, sys.settrace, args, kwargs)
    set_trace_function(args[0])
    return None


@polyfill(sys.gettrace)
def get_trace(interpreter: ThreadState, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return what the program is traced by."""
    if args or kwargs or interpreter.current is None:
        return call_native(interpreter, sys.gettrace, args, kwargs)
    return trace_function()
