"""Inlined higher-order operators: those that only say how a function is to be compiled.

Law: what eager code computes is recorded, operator by operator; no subgraph is left of the region,
so programs run, and are lowered and saved, as if nobody had marked it. `flex_attention` becomes the
matrix of scores that eager code makes, too, in place of a fused kernel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from monograph.capture.installation import OVERRIDES, listening
from monograph.host.higher_order import (
    COMPILE_REGIONS,
    FLEX_ATTENTION,
    HINTS_WRAPPER,
    attention_of_scores,
)

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


@OVERRIDES.override(type(HINTS_WRAPPER), "__call__")
def _hinted(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(op: Any, body_fn: Any, args: Any, kwargs: Any, hints: Any) -> Any:
        recorder = listening()
        if recorder is None:
            return original(op, body_fn, args, kwargs, hints)
        return recorder.scopes.run(body_fn, *args, **kwargs)

    return call


@OVERRIDES.override(type(FLEX_ATTENTION), "__call__")
def _attention(original: Callable[..., Any]) -> Callable[..., Any]:
    def call(op: Any, *args: Any, **kwargs: Any) -> Any:
        if listening() is None:
            return original(op, *args, **kwargs)
        return attention_of_scores(*args, **kwargs)

    return call
