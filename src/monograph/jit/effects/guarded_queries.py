"""Queries that a guard makes again: whether a logger logs, whether a stream captures."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import torch

if TYPE_CHECKING:
    from types import FunctionType

    from monograph.jit.recording import SegmentRecorder

__all__ = ["is_asked_again"]

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
