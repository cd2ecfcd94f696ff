"""Dynamic context: what is in force where a frame stands, and is no part of the frame.

The exception that is being handled, the grad mode and autocast. A side of a branch may leave a
`with` or an `except` that was entered before it (`return`, `break`): each side begins in the
context of the branch, and goes on in the one that it has ended in.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from torch import is_grad_enabled, set_grad_enabled

from monograph.capture.installation import heard_by
from monograph.host.execution_modes import AUTOCAST_STATE, restore_autocast

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from monograph.abstract.tensor import AbstractTensor
    from monograph.bytecode import InterpreterFrame
    from monograph.bytecode.branches.branch_execution import End
    from monograph.capture.recording.recorder import Recorder
    from monograph.capture.recording.scopes import State

__all__ = ["DynamicContext", "context_of", "enter_context", "keeping_history", "within_context"]


class DynamicContext(NamedTuple):
    """A context, and what contexts in progress will set when they end (`outer_grads`)."""

    outer_grads: dict[int, bool | None]
    error: BaseException | None
    grad: bool
    forward_grad: bool | None
    casts: State
    autocast: tuple[Any, ...]

    def is_like(self, other: DynamicContext) -> bool:
        """Whether the same is in force."""
        return self.error is other.error and self[2:5] == other[2:5]


def context_of(recorder: Recorder, frame: InterpreterFrame) -> DynamicContext:
    """What is in force now."""
    scopes = recorder.scopes
    return DynamicContext(
        dict(scopes.outer_grads),
        frame.interpreter.handling.error,
        is_grad_enabled(),
        scopes.grad,
        scopes.autocast,
        AUTOCAST_STATE() if scopes.autocast else (),
    )


def enter_context(recorder: Recorder, frame: InterpreterFrame, context: DynamicContext) -> None:
    """Let this be in force."""
    scopes = recorder.scopes
    frame.interpreter.handling.error = context.error
    scopes.grad, scopes.outer_grads = context.forward_grad, dict(context.outer_grads)
    if is_grad_enabled() is not context.grad:
        with heard_by(None):
            set_grad_enabled(context.grad)
    if scopes.autocast != context.casts:
        scopes.autocast = context.casts
        restore_autocast(context.autocast or scopes.without_casts)


@contextmanager
def keeping_history(tensor: AbstractTensor) -> Generator[None]:
    """Let autograd follow what stands in for this tensor, as it did what made it."""
    with heard_by(None), set_grad_enabled(is_grad_enabled() or tensor.tensor_type.requires_grad):
        yield


def within_context(recorder: Recorder, frame: InterpreterFrame, run: Callable[[], End]) -> End:
    """Run a copy of the frame; what is in force stays, and the end says what was at last."""
    before = context_of(recorder, frame)
    try:
        return replace(run(), context=context_of(recorder, frame))
    finally:
        enter_context(recorder, frame, before)
