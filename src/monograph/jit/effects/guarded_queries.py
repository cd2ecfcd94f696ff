"""Calls that leave nothing behind: queries that a guard makes again, and the lock of a cache."""

from __future__ import annotations

import functools
import logging
import sys
import warnings
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.bytecode.evaluation.tracebacks import handled
from monograph.host.module_calls import TRACING_STATES

if TYPE_CHECKING:
    from types import FunctionType

    from monograph.bytecode import InterpreterFrame
    from monograph.jit.recording import SegmentRecorder

__all__ = [
    "filter_warnings",
    "filters_warnings",
    "is_asked_again",
    "is_lock_of_cache",
    "tells_no_error",
    "tells_no_tracing",
]

_LEVELS: Final = {
    getattr(logging.Logger, name.lower()): getattr(logging, name)
    for name in ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
}
_QUESTIONS: Final = (
    *(logging.Logger.isEnabledFor, torch.cuda.is_current_stream_capturing),
    torch.xpu.graphs.is_current_stream_capturing,
)


def is_asked_again(segment: SegmentRecorder, function: FunctionType, args: list[Any]) -> bool:
    """Whether a function only tells something, which a guard asks again.

    A logger's method that is not to log anything does nothing else.
    """
    if function in _LEVELS:
        asked, args = logging.Logger.isEnabledFor, [args[0], _LEVELS[function]]
    elif function in _QUESTIONS:
        asked = function
    else:
        return False
    guards = segment.guards
    if args and not (guards.is_known(args[0]) and type(args[0]) is logging.Logger):
        return False
    value = asked(*args)
    if function is not asked and value:
        return False
    given = [guards.names[id(each)] for each in args[:1]] + [repr(int(each)) for each in args[1:]]
    call = f"{guards.constant(asked)}({', '.join(given)})"
    guards.check(f"{call} is not {value}", f"{asked.__name__} of {args}", value, call)
    return True


def tells_no_tracing(segment: SegmentRecorder, function: Any) -> bool:
    """Whether `torch.jit.trace` is asked for, which is guarded not to look on."""
    if not any(function is each for each in TRACING_STATES):
        return False
    segment.guards.check(f"{segment.guards.constant(function)}()", "torch.jit", None)
    return not function()


def tells_no_error(segment: SegmentRecorder, frame: InterpreterFrame | None, callee: Any) -> bool:
    """Whether it is asked which exception is being handled where none is, which is guarded."""
    is_asked = callee is sys.exc_info or callee is sys.exception
    if not is_asked or frame is None or handled(frame.interpreter) is not None:
        return False
    asked = segment.guards.constant(sys.exception)
    segment.guards.check(f"{asked}() is not None", "the exception that is handled", None)
    return sys.exception() is None


_FILTERING: Final = (warnings.simplefilter, warnings.filterwarnings, warnings.resetwarnings)


def filters_warnings(function: Any, args: list[Any], kwargs: dict[str, Any]) -> bool:
    """Whether a function only changes which warnings are shown; see `filter_warnings`."""
    if function not in _FILTERING:
        return False
    values = (*args, *kwargs.values())
    return all(type(each) in (str, int, bool) or isinstance(each, type) for each in values)


def filter_warnings(segment: SegmentRecorder, function: Any, /, *args: Any, **kwargs: Any) -> None:
    """Change which warnings are shown, now and in each replay, behind all operators before."""
    function(*args, **kwargs)
    segment.sealed.add(id(warnings.filters))
    segment.filters_warnings = True
    given = [f"{{{index + 1}}}" for index in range(len(args) + len(kwargs))]
    given[len(args) :] = [f"{k}={v}" for k, v in zip(kwargs, given[len(args) :], strict=True)]
    segment.write(function, f"{{0}}({', '.join(given)})", *args, *kwargs.values())


_LOCK: Final = type(RLock())
_GETTING: Final = functools.cached_property.__get__.__code__


def is_lock_of_cache(frame: InterpreterFrame | None, callee: Any, args: list[Any]) -> bool:
    """Whether a call is of the lock of `functools.cached_property`: what it keeps is guarded.

    A replay sets the attribute if it was not there when it began, as Python 3.12 does.
    """
    if frame is None or frame.code is not _GETTING:
        return False
    return type(getattr(callee, "__self__", None)) is _LOCK or type(args[:1] and args[0]) is _LOCK
