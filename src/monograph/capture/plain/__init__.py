"""Non-strict capture: user code runs as plain Python, and a profiler is told of its calls."""
