"""The names of `torch.export.dynamic_shapes`, for code that changes only its import."""

from monograph.dims import Dim, dims

__all__ = ["Dim", "dims"]
