"""The names of `torch.export.decomp_utils`, for code that changes only its import."""

from monograph.passes import DecompositionTable

CustomDecompTable = DecompositionTable
"""What torch calls it."""

__all__ = ["CustomDecompTable"]
