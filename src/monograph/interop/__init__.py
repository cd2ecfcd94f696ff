"""Programs at home: to and from the objects of torch.export, and to what takes those over.

Nothing of those systems is imported before it is asked for.
"""

from __future__ import annotations

from monograph.interop.compiling import Packaged, compiled, load_package, package
from monograph.interop.onnx import to_onnx
from monograph.interop.replacement import as_torch_export
from monograph.interop.torch_export import from_torch, to_torch

__all__ = [
    "Packaged",
    "as_torch_export",
    "compiled",
    "from_torch",
    "load_package",
    "package",
    "to_onnx",
    "to_torch",
]
