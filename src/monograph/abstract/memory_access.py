"""Memory access: what of a tensor leads to its bytes, its address, its storage or a copy of it.

An abstract tensor owns no memory: its storage has no bytes, and PyTorch raises where its address is
asked for. What is listed here does not come that far: whoever records the tensor answers.
"""

from __future__ import annotations

from typing import Any, Final

import torch

METHODS: Final = (
    *("numpy", "__array__", "__dlpack__", "tolist"),
    *("data_ptr", "const_data_ptr", "untyped_storage", "storage", "_typed_storage"),
    *("__copy__", "__deepcopy__", "__reduce_ex__", "_reduce_ex_internal", "as_subclass"),
    *("share_memory_", "apply_", "map_", "map2_"),
)
PROPERTIES: Final = ("_cdata", "_grad", "_grad_fn")


class MemoryAccess(torch.Tensor):
    """The part of an abstract tensor that is about memory."""

    recorder: Any


def _method(name: str) -> Any:
    def access(self: MemoryAccess, *args: Any, **kwargs: Any) -> Any:
        return self.recorder.access_memory(self, name, args, kwargs)

    access.__name__ = name
    return access


for _name in METHODS:
    setattr(MemoryAccess, _name, _method(_name))
for _name in PROPERTIES:
    setattr(MemoryAccess, _name, property(_method(_name)))

__all__ = ["METHODS", "PROPERTIES", "MemoryAccess"]
