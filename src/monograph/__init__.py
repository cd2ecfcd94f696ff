"""Capture a PyTorch program as one graph: ahead of time, with symbolic sizes, right or refused."""

__all__ = ["__version__"]

__version__ = "0.1.0"
