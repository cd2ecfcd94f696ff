"""Scripts: a failure as a program of its own, with the versions that it was seen on."""

from __future__ import annotations

import importlib
import platform
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final

import torch
from torch.fx import Node

from monograph.program.python_source.graph_functions import expression

if TYPE_CHECKING:
    from monograph.jit.minifying.failures import ReducibleFailure
    from monograph.jit.minifying.graphs import GraphCase

__all__ = ["header", "script_of_graph", "text_of"]

_SPACES: Final = (
    *("torch", "torch.nn.functional", "operator", "builtins", "torch._C._nn", "torch._C._linalg"),
    *("torch._C._fft", "torch._C._special", "torch._C", "math"),
)


def header(failure: ReducibleFailure) -> list[str]:
    """What fails, and on which versions."""
    lines = [f"# {failure.kind}: {failure.text}"]
    lines.append(f"# {platform.platform()}, Python {platform.python_version()}")
    lines.append(f"# PyTorch {torch.__version__}, monograph {sys.modules['monograph'].__version__}")
    return [*lines, "import importlib.util", "import torch", "import monograph"]


def script_of_graph(case: GraphCase, backend: Any, failure: ReducibleFailure) -> str:
    """A script that builds a graph, hands it to the backend, and fails."""
    spaces = ["operator", "math"]
    lines = [*header(failure), *(f"import {each}" for each in spaces), ""]
    lines += ["graph = torch.fx.Graph()"]
    for node in case.graph.graph.nodes:
        lines.append(_line(node))
    lines += ["module = torch.fx.GraphModule(torch.nn.Module(), graph)", "torch.manual_seed(0)"]
    lines += ["", "", "def made():", '    """Make the inputs."""', "    return ["]
    lines += [f"        {text_of(each)}," for each in case.inputs]
    lines += ["    ]", "", "", *_backend_lines(backend), "inputs = made()"]
    lines += _GRADIENTS if failure.is_backward else []
    run = "gradients" if failure.is_backward else ""
    if failure.kind == "numbers":
        lines += [f"expected = {_called(run, 'module', 'made()')}", "torch.manual_seed(0)"]
        lines += [f"found = {_called(run, 'backend(module, made())', 'inputs')}"]
        lines += ["print(expected, found)"]
        lines.append(
            "torch.testing.assert_close(tuple(found), tuple(expected), rtol=1e-3, atol=1e-3)"
        )
    else:
        lines.append(_called(run, "backend(module, made())", "inputs"))
    return "\n".join([*lines, ""])


_GRADIENTS: Final = [
    *("", "", "def gradients(call, inputs):"),
    '    """Give the gradients of the sum of all results."""',
    "    def trained(values):",
    "        return [v for v in values if isinstance(v, torch.Tensor) and v.requires_grad]",
    "",
    "    results, leaves = trained(call(*inputs)), trained(inputs)",
    "    ones = [torch.ones_like(each) for each in results]",
    "    return torch.autograd.grad(results, leaves, ones, materialize_grads=True)",
    *("", ""),
]


def _called(run: str, function: str, inputs: str) -> str:
    """The call of a function with inputs, or of what runs it with them."""
    return f"{run}({function}, {inputs})" if run else f"{function}(*{inputs})"


def _line(node: Node) -> str:
    if node.op == "placeholder":
        return f"{node.name} = graph.placeholder({node.name!r})"
    if node.op == "output":
        return f"graph.output({text_of(node.args[0])})"
    target = repr(node.target) if node.op == "call_method" else _path(node.target)
    kwargs = text_of(dict(node.kwargs))
    return f"{node.name} = graph.{node.op}({target}, {text_of(tuple(node.args))}, {kwargs})"


def _path(target: Any) -> str:
    """The expression of a function."""
    if isinstance(target, type(torch.ops.aten.add.Tensor)):
        return f"torch.ops.{target}"
    name = getattr(target, "__name__", "")
    for space in _SPACES:
        if getattr(importlib.import_module(space), name, None) is target:
            return name if space == "builtins" else f"{space}.{name}"
    if getattr(torch.Tensor, name, None) is target:
        return f"torch.Tensor.{name}"
    return f"{target.__module__}.{target.__qualname__}"


def text_of(value: Any) -> str:
    """A value as an expression of Python."""
    return expression(value, _leaf)


def _leaf(value: Any) -> str:
    if isinstance(value, Node):
        return value.name
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if isinstance(value, torch.device):
        return f"torch.device({str(value)!r})"
    if isinstance(value, float):
        return f"float({str(value)!r})"
    if isinstance(value, ModuleType | FunctionType):
        return value.__name__
    return repr(value)


def _tensor(value: torch.Tensor) -> str:
    how = f"dtype={value.dtype}"
    if not value.is_cpu:
        how += f", device={str(value.device)!r}"
    plain, shape = value.detach(), tuple(value.shape)
    for name, uniform in (("zeros", 0), ("ones", 1)):
        if bool((plain == uniform).all()):
            text = f"torch.{name}({shape}, {how})"
            break
    else:
        text = f"torch.tensor({_items(plain.tolist())}, {how}).reshape({shape})"
    if value.stride() != torch.empty(shape).stride() and all(value.stride()):
        order = sorted(range(value.dim()), key=lambda dim: -value.stride(dim))
        back = [order.index(dim) for dim in range(value.dim())]
        text += f".permute({order}).contiguous().permute({back})"
    return f"{text}.requires_grad_()" if value.requires_grad else text


def _items(items: Any) -> str:
    return text_of(items) if isinstance(items, list | float) else repr(items)


def _backend_lines(backend: Any) -> list[str]:
    if isinstance(backend, str):
        return ["from monograph.jit import find_backend", f"backend = find_backend({backend!r})"]
    name = getattr(backend, "__qualname__", "<locals>")
    module = getattr(backend, "__module__", None)
    if "<locals>" in name or module is None:
        return [f"backend = ...  # {name}: put the backend here"]
    file = getattr(importlib.import_module(module), "__file__", None)
    if file is None:
        return [f"from {module} import {name} as backend"]
    return [
        f"spec = importlib.util.spec_from_file_location({module!r}, {str(Path(file))!r})",
        "holder = importlib.util.module_from_spec(spec)",
        "spec.loader.exec_module(holder)",
        f"backend = holder.{name}",
    ]
