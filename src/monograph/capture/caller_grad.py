"""Grad-mode polymorphism: a run that asked for the caller's grad mode and only handed it on.

`with torch.set_grad_enabled(torch.is_grad_enabled()):` decides nothing, nor does an object that
notes the mode it was made in. Such a run is made again in the other mode. If both recorded one
graph, but for regions that have the caller's mode in either, those regions follow the caller, and
no call is held to the mode of the example.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

# As it is, not as user code is watched asking it.
from torch import is_grad_enabled, set_grad_enabled

from monograph.capture.captured import GRAD_MODE, account, nodes_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx.node import Node

    from monograph.capture.captured import Capture
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.recording.scopes import State


def follow_caller(captured: Capture, again: Callable[[], Capture | None]) -> None:
    """Ask nothing of the caller's grad mode, where `again` records the same in the other one."""
    recorder = captured.recorder
    mode = is_grad_enabled()
    try:
        with set_grad_enabled(not mode):
            other = again()
    except Exception:  # noqa: BLE001 - whatever it is, the run in the caller's mode stands
        return
    if other is None or account(captured) != account(other):
        return
    left = recorder.scopes.grad
    if left is not None and left is other.recorder.scopes.grad:
        return  # a mode of its own is left, in either
    states = _followed(recorder, other.recorder, mode)
    if states is not None:
        recorder.scopes.states = states
        del recorder.answers_noted.answers[GRAD_MODE]


def _followed(one: Recorder, other: Recorder, mode: bool) -> dict[Node, State] | None:  # noqa: FBT001 - the caller's
    """The regions of a run without those that have the caller's mode; None where others differ."""
    found: dict[Node, State] = {}
    for node, twin in zip(nodes_of(one), nodes_of(other), strict=True):
        state, against = one.scopes.states.get(node, ()), other.scopes.states.get(twin, ())
        if len(state) != len(against):
            return None
        kept = [region for region, same in zip(state, against, strict=True) if region == same]
        differ = [pair for pair in zip(state, against, strict=True) if pair[0] != pair[1]]
        if any(not _is_callers(*pair, mode) for pair in differ):
            return None
        if differ and any(region.kind == "grad" for region in kept):
            return None
        if kept:
            found[node] = tuple(kept)
    return found


def _is_callers(region: Any, other: Any, mode: bool) -> bool:  # noqa: FBT001 - as above
    return (
        (region.kind, other.kind) == ("grad", "grad")
        and (region.settings, other.settings) == ((mode,), (not mode,))
        and region.owner == other.owner
    )


__all__ = ["follow_caller"]
