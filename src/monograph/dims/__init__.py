"""What the user says about sizes, read and checked against the example inputs."""

from monograph.dims.dim import DerivedDim, Dim, DimHint, dims
from monograph.dims.specification import Declared, Entry, read_specification

__all__ = ["Declared", "DerivedDim", "Dim", "DimHint", "Entry", "dims", "read_specification"]
