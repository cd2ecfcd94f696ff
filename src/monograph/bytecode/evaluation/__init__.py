"""The evaluation of frames: the loop, calls, generators, tracebacks, and copies of frames."""
