"""Autocast: entered and left within a graph, as nodes that set the mode.

What an `autocast` object keeps to be left again are plain values, so a graph may end within it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.execution_modes import AUTOCAST_STATE, enter_autocast, leave_autocast
from monograph.host.flags import autocast_settings
from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from collections.abc import Callable

    from monograph.jit.recording import SegmentRecorder

__all__ = ["AUTOCAST", "SWITCHES", "check_autocast", "record_autocast"]

AUTOCAST: Final = torch.autocast
SWITCHES: Final = (AUTOCAST.__enter__, AUTOCAST.__exit__)
_CALLEES: Final = frozenset({id(AUTOCAST), id(AUTOCAST.__init__), *map(id, SWITCHES)})
_DTYPES: Final = (None, torch.bfloat16, torch.float16)


def check_autocast(segment: SegmentRecorder, callee: Any, args: list[Any], kwargs: Any) -> bool:
    """Whether a call makes, enters or leaves an `autocast`. Raises: NotRecordable."""
    if id(callee) not in _CALLEES:
        return False
    is_switch = callee in SWITCHES
    if not segment.takes_numbers or (is_switch and segment.guards.is_known(args[0])):
        raise NotRecordable("an `autocast` from outside")
    if not is_switch:
        args = args if callee is AUTOCAST else args[1:]
        given = [*args, *kwargs.values()]
        device, dtype = args[:1] or [kwargs.get("device_type")], given[1:2] or [None]
        is_there = device[0] == "cpu" or (device[0] == "cuda" and torch.cuda.is_available())
        is_plain = all(type(each) in (str, bool) or each in _DTYPES for each in given)
        if not is_there or not is_plain or kwargs.get("dtype", dtype[0]) is torch.float32:
            raise NotRecordable("an `autocast` of another kind")
    if not segment.sets_autocast:
        state, found = segment.guards.constant(AUTOCAST_STATE), AUTOCAST_STATE()
        fails = f"{state}() != {segment.guards.constant(found)}"
        segment.guards.check(fails, "autocast", found, f"{state}()")
    return True


def record_autocast(
    segment: SegmentRecorder, function: Callable[..., Any], /, owner: Any, *error: Any
) -> Any:
    """Enter or leave an `autocast` now, and in each replay."""
    segment.sets_autocast = True
    result = function(owner, *error)
    made: Any
    if function is AUTOCAST.__enter__:
        device, dtype, enabled, cache = autocast_settings(owner)
        made = (device, enabled, dtype, cache)
        target = enter_autocast
    else:
        made = (owner.device, owner.prev, owner.prev_fastdtype, owner.prev_cache_enabled)
        target = leave_autocast
    segment.graph.call_function(target, made)
    segment.n_calls += 1
    return result
