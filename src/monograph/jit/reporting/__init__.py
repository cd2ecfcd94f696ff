"""What is told of runs: the recompilation profiler, and explanations of one call."""

from __future__ import annotations

from monograph.jit.reporting.profiler import CompilationProfiler, explain_call

__all__ = ["CompilationProfiler", "explain_call"]
