"""Strict capture: user code is interpreted, so that every read, write and call is seen."""
