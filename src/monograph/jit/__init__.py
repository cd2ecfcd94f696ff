"""Just-in-time compilation: any Python at once, with graphs of what can be captured.

`optimizing` is the way in. A call (`optimized_calls`) replays compiled segments from program point
to program point, or interprets on and records one more (`call_recording`, decision 0043).
"""

from __future__ import annotations

from monograph.jit.backends import find_backend
from monograph.jit.graphs.sizes import mark_dynamic
from monograph.jit.minifying import minify
from monograph.jit.optimizing import Optimizer, optimize
from monograph.jit.reporting import CompilationProfiler, explain_call

__all__ = [
    "CompilationProfiler",
    "Optimizer",
    "explain_call",
    "find_backend",
    "mark_dynamic",
    "minify",
    "optimize",
]
