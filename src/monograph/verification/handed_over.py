"""Handed-over programs as functions: files of other systems, sessions, and callables."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.archive import load
from monograph.host.trees import leaves_of
from monograph.interop.compiling import load_package
from monograph.interop.extras import need
from monograph.lazy_imports import resolved

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def as_function(made: Any) -> Callable[..., Any]:
    """A function of what the program takes: of a session, of the name of a file, or itself.

    Files are told apart by how their names end: `.onnx`, `.xml` (OpenVINO), `.pte` (ExecuTorch) and
    `.pt2` (a program, or machine code of AOTInductor, which is run: give files that you trust).

    Raises: extra-not-installed; TypeError, for what cannot be called; ValueError, for other files;
    what reading a file raises.
    """
    if isinstance(made, str | os.PathLike):
        file = Path(made)
        if file.suffix not in _READERS:
            said = f"a file that ends in {', '.join(_READERS)} is called"
            raise ValueError(f"{said}; not {file.name}")
        return _READERS[file.suffix](os.fspath(file))
    if hasattr(made, "get_inputs") and hasattr(made, "run"):
        return _of_session(made)
    if not callable(made):
        raise TypeError(f"a callable, a session, or a file; not {type(made).__name__}")
    return made


def _of_onnx(file: str) -> Callable[..., Any]:
    need("onnx", "onnxruntime")
    session = resolved("onnxruntime:InferenceSession")
    return _of_session(session(file, providers=["CPUExecutionProvider"]))


def _of_session(session: Any) -> Callable[..., Any]:
    names = [each.name for each in session.get_inputs()]
    return _TensorFunction(
        len(names), lambda arrays: session.run(None, dict(zip(names, arrays, strict=True)))
    )


def _of_openvino(file: str) -> Callable[..., Any]:
    need("openvino", "openvino")
    # Where a processor has bfloat16, that is what it would compute in.
    exact = {"INFERENCE_PRECISION_HINT": "f32"}
    model = resolved("openvino:compile_model")(file, "CPU", exact)
    return _TensorFunction(len(model.inputs), lambda arrays: [*model(arrays).values()])


def _of_executorch(file: str) -> Callable[..., Any]:
    need("executorch", "executorch")
    runtime = resolved("executorch.runtime:Runtime").get()
    method = runtime.load_program(file).load_method("forward")
    count = method.metadata.num_inputs()
    return _TensorFunction(
        count, lambda arrays: method.execute([torch.from_numpy(each) for each in arrays])
    )


def _of_pt2(file: str) -> Callable[..., Any]:
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as members:
            if any("/data/aotinductor/" in name for name in members.namelist()):
                return load_package(file)
    return load(file).module()


_READERS: Final[Mapping[str, Callable[[str], Callable[..., Any]]]] = MappingProxyType(
    {".onnx": _of_onnx, ".pt2": _of_pt2, ".xml": _of_openvino, ".pte": _of_executorch}
)


class _TensorFunction:
    """Calls a function of arrays with the tensors that it is given, in their order."""

    def __init__(self, count: int, run: Callable[[list[Any]], Any]) -> None:
        self._count, self._run = count, run

    def __call__(self, *args: Any, **kwargs: Any) -> list[Any]:
        """What the function gives, as tensors.

        Raises: ValueError, where it takes another number of tensors.
        """
        given = [each for each in leaves_of((args, kwargs)) if isinstance(each, torch.Tensor)]
        if len(given) != self._count:
            raise ValueError(f"it takes {self._count} tensors, and was given {len(given)}")
        arrays = [each.detach().contiguous().resolve_neg().numpy() for each in given]
        return [torch.as_tensor(each) for each in self._run(arrays)]


__all__ = ["as_function"]
