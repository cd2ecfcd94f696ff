"""Checks of data: branches one way of which only raises, as `assert` and `if bad: raise` have.

The way that was taken is assumed, and the graph gives the condition with its results. Where a
replay finds another one, nothing has happened yet, and the segment is interpreted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from monograph.jit.guard_code import storage_of

if TYPE_CHECKING:
    import torch

    from monograph.bytecode.evaluation.frame import Body
    from monograph.jit.recording import SegmentRecorder

__all__ = ["note_check"]

_JUMPS_IF: Final = {"POP_JUMP_IF_FALSE": False, "POP_JUMP_IF_TRUE": True}
_MOST_INSTRUCTIONS: Final = 80
_ENDING: Final = ("STORE_", "DELETE_", "JUMP", "POP_JUMP", "RETURN", "YIELD", "FOR_ITER", "RERAISE")


def note_check(recorder: Any, frame: Any, tensor: torch.Tensor, target: Any) -> bool:
    """Assume the way that a jump goes, if the other one only raises; whether that is so."""
    jumps_if = _JUMPS_IF.get(frame.body.names[frame.ip - 1])
    segment: SegmentRecorder = recorder.segment
    if jumps_if is None or tensor.numel() != 1 or segment.has_irrevocable or segment.side:
        return False
    value = recorder.truth_of(tensor)
    other = frame.ip if value is jumps_if else target
    if not _only_raises(frame.body, other):
        return False
    segment.rely_on_shape(tensor)
    segment.checks.append((tensor, value, recorder.here()))
    segment.shown.setdefault(storage_of(tensor), recorder.here())
    frame.stack[-1] = value
    return True


def _only_raises(body: Body, at: int) -> bool:
    for name in body.names[at : at + _MOST_INSTRUCTIONS]:
        if name == "RAISE_VARARGS":
            return True
        if name.startswith(_ENDING):
            return False
    return False
