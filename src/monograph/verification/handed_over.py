"""Handed-over programs as functions: sessions of ONNX Runtime, ONNX files, and callables."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import torch

from monograph.host.trees import leaves_of
from monograph.interop.extras import need
from monograph.lazy_imports import resolved

if TYPE_CHECKING:
    from collections.abc import Callable


def as_function(made: Any) -> Callable[..., Any]:
    """A function of what the program takes: of a session, of the name of an ONNX file, or itself.

    Raises: extra-not-installed; TypeError, for what cannot be called.
    """
    if isinstance(made, str | os.PathLike):
        need("onnx", "onnxruntime")
        session = resolved("onnxruntime:InferenceSession")
        made = session(os.fspath(made), providers=["CPUExecutionProvider"])
    if hasattr(made, "get_inputs") and hasattr(made, "run"):
        return _SessionFunction(made)
    if not callable(made):
        raise TypeError(f"a callable, a session, or an ONNX file; not {type(made).__name__}")
    return made


class _SessionFunction:
    """Calls a session with tensors in the order of its inputs."""

    def __init__(self, session: Any) -> None:
        self._session = session
        self._names = [each.name for each in session.get_inputs()]

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """What the session gives, as tensors.

        Raises: ValueError, where it takes another number of tensors.
        """
        given = [each for each in leaves_of((args, kwargs)) if isinstance(each, torch.Tensor)]
        if len(given) != len(self._names):
            raise ValueError(f"it takes {len(self._names)} tensors, and was given {len(given)}")
        arrays = [each.detach().contiguous().resolve_neg().numpy() for each in given]
        found = self._session.run(None, dict(zip(self._names, arrays, strict=True)))
        return [torch.as_tensor(each) for each in found]


__all__ = ["as_function"]
