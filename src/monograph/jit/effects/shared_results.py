"""Results that the replays of a segment share: signatures, and containers of modules.

Such a call is made while recording, and not again: what it depends on is guarded. What it gives may
be read, and is not left behind by the segment.
"""

from __future__ import annotations

import inspect
from contextvars import ContextVar
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.jit.effects.plain_data import is_plain_data
from monograph.jit.recording import NotRecordable

if TYPE_CHECKING:
    from monograph.jit.recording import SegmentRecorder

__all__ = ["check_cached", "check_signature", "gives_shared", "note_cached", "share"]

_MODULES: Final = (torch.nn.ModuleList, torch.nn.Sequential)


def gives_shared(segment: SegmentRecorder, callee: Any, args: list[Any], kwargs: Any) -> bool:
    """Whether a call is one of `inspect.signature`, or puts known modules into a container."""
    if callee is inspect.signature:
        return len(args) == 1 and not kwargs and type(args[0]) in (FunctionType, MethodType)
    if callee not in _MODULES or kwargs:
        return False
    given = args
    if len(args) == 1 and isinstance(args[0], list | tuple | dict):
        given = [*(args[0].values() if isinstance(args[0], dict) else args[0])]
    known = segment.guards.is_known
    return all(isinstance(each, torch.nn.Module) and known(each) for each in given)


def check_signature(segment: SegmentRecorder, function: Any) -> None:
    """Guard what the signature of a function says, beside its code and defaults.

    Raises: NotRecordable.
    """
    guards = segment.guards
    if {"__wrapped__", "__signature__"} & set(vars(function)):
        raise NotRecordable("the signature of a function that wraps another")
    name, label = guards.names[id(function)], function.__qualname__
    for each in ("__wrapped__", "__signature__"):
        guards.check(f"{each!r} in {name}.__dict__", f"{label}.{each}", "nothing")
    expected = guards.constant(dict(function.__annotations__))
    read = f"{name}.__annotations__"
    guards.check(f"{read} != {expected}", f"{label}.__annotations__", "as they were", read)


def share(segment: SegmentRecorder, callee: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Make the call, and know what it gives as a constant of the segment."""
    result = callee(*args, **kwargs)
    made = [result]
    if callee is inspect.signature:
        made += [result.parameters, *result.parameters.values()]
    for each in made:
        segment.guards.know(each, segment.guards.constant(each), type(result).__name__)
        segment.guards.shared.add(id(each))
    return result


def check_cached(segment: SegmentRecorder, function: Any, values: list[Any]) -> None:
    """Guard what a call of what `functools.lru_cache` gives is given. Raises: NotRecordable."""
    if not is_plain_data(values, compared=True) or function.cache_info().maxsize == 0:
        raise NotRecordable(f"a call of `{function.__qualname__}` with what is no plain data")
    if any(type(each.owner) is not ContextVar for each in segment.writes):
        raise NotRecordable("a cache is asked after something was written")
    segment.touch(values)


def note_cached(
    segment: SegmentRecorder, function: Any, args: tuple[Any, ...], kwargs: Any, result: Any
) -> None:
    """A guard asks a cache again."""
    guards = segment.guards
    given = [guards.constant(each) for each in args]
    given += [f"{name}={guards.constant(each)}" for name, each in kwargs.items()]
    call = f"{guards.constant(function)}({', '.join(given)})"
    guards.meet(result, call, f"{function.__qualname__}({', '.join(map(repr, args))})")
