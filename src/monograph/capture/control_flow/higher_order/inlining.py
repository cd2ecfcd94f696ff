"""Inlined higher-order operators: those that only say how a function is to be compiled.

Law: what eager code computes is recorded, operator by operator; no subgraph is left of the region,
so programs run, and are lowered and saved, as if nobody had marked it. `flex_attention` becomes the
matrix of scores that eager code makes, too, in place of a fused kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.capture.installation import OVERRIDES, listening
from monograph.diagnostics import problem
from monograph.host.higher_order import (
    COMPILE_REGIONS,
    FLEX_ATTENTION,
    TRANSFORMED,
    attention_of_scores,
    eager_call,
)
from monograph.host.operator_types import HigherOrderOperator

if TYPE_CHECKING:
    from collections.abc import Callable


@OVERRIDES.override(*COMPILE_REGIONS)
def _region(original: Callable[..., Any]) -> Callable[..., Any]:
    """A function under `nested_compile_region`."""

    def call(func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        run = original if recorder is None else recorder.scopes.run
        given = (func, *args)
        return run(*given, **kwargs)

    return call


@OVERRIDES.override(HigherOrderOperator, "dispatch")
def _eagerly(original: Callable[..., Any]) -> Callable[..., Any]:
    """Whatever has no override of its own: what its kernel for eager code computes."""

    def dispatch(op: Any, key: Any, /, *args: Any, **kwargs: Any) -> Any:
        recorder = listening()
        if recorder is None or recorder.closed or key == TRANSFORMED:
            return original(op, key, *args, **kwargs)
        kernel, args, kwargs = eager_call(op, args, kwargs)
        if kernel is None:
            name = f"torch.ops.higher_order.{op.name()}"
            raise problem("unsupported-operator", op=name, reason="eager code cannot run it either")
        return recorder.scopes.run(kernel, *args, **kwargs)

    return dispatch


@OVERRIDES.override(type(FLEX_ATTENTION), "__call__")
def _attention(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(op: Any, *args: Any, **kwargs: Any) -> Any:
        if listening() is None:
            return original(op, *args, **kwargs)
        return attention_of_scores(*args, **kwargs)

    return call
