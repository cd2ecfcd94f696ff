"""Straight-line code: a program as one function of its flat inputs, for calls without gradients.

The state is bound once, and what converts a tensor to the type that it has is left out. The
contract is checked by whoever calls. Nothing else of the program changes, nor what it writes to.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from monograph.abstract.tensor import AbstractTensor
from monograph.host.fast_calls import fast_call
from monograph.host.fx_modules import found_at
from monograph.host.overloads import aten
from monograph.program.python_source.graph_functions import graph_function
from monograph.program.stateful_module import make_module

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx.node import Node

    from monograph.program import ExportedProgram


def compiled_step(program: ExportedProgram) -> Callable[..., tuple[Any, ...]]:
    """The function: flat inputs → flat results."""
    module = make_module(program, check=False)
    return graph_function(
        module.graph,
        "step",
        found_at=partial(found_at, module),
        called=fast_call,
        source_of=_converted,
    )


def _converted(node: Node) -> Any:
    """The very tensor that a node gives back: it converts to the type that that has."""
    if node.target is not aten.to.dtype or len(node.args) != 2 or node.kwargs:
        return None
    source: Any = node.args[0]
    value = source.meta.get("val")
    is_same = isinstance(value, AbstractTensor) and value.tensor_type.dtype == node.args[1]
    return source if is_same else None


__all__ = ["compiled_step"]
