"""Tracing: each operator call of user code becomes a typed node of the graph that is written."""
