"""Capture a PyTorch program as one graph: ahead of time, with symbolic sizes, right or refused."""

from monograph.api import export
from monograph.dims import Dim, dims
from monograph.program import ExportedProgram

__all__ = ["Dim", "ExportedProgram", "__version__", "dims", "export"]

__version__ = "0.1.0"
