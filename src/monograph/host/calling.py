"""What tracing tools look for: structured arguments, and functions that they do not enter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeVar

import torch
from torch.fx import Proxy
from torch.fx.graph import _PyTreeCodeGen as PyTreeCodeGen
from torch.fx.graph import _PyTreeInfo as PyTreeInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

BUILTINS: Final = frozenset({*dir(torch), *dir(torch.nn.functional)})
"""The operators that are functions of PyTorch; others are methods of tensors (`torch_fn`)."""

Function = TypeVar("Function", bound="Callable[..., Any]")


def kept_out_of_dynamo(reason: str) -> Callable[[Function], Function]:
    """A function that torch.compile runs as it is, and compiles what stands around it.

    `torch.compiler.disable` would import Dynamo and wrap the function; it sets these marks, too.
    """

    def marked(function: Function) -> Function:
        function.__dict__["_torchdynamo_disable"] = True
        function.__dict__["_torchdynamo_disable_msg"] = reason
        return function

    return marked


def is_read_by_dynamo() -> bool:
    """Whether Dynamo is reading this, rather than Python running it."""
    return torch.compiler.is_dynamo_compiling()


def recorded_by_fx(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """The call as one node of a graph, where `torch.fx.symbolic_trace` gives the arguments.

    None where they are values. `function` is a module or a function; modules among the arguments
    are those of the module that is traced.
    """
    proxies = [each for each in args if isinstance(each, Proxy)]
    for each in args:
        inside = each.values() if isinstance(each, dict) else each
        if isinstance(each, list | tuple | dict):
            proxies += [inner for inner in inside if isinstance(inner, Proxy)]
    if not proxies:
        return None
    tracer: Any = proxies[0].tracer
    given = tuple(
        [
            tracer.create_proxy("get_attr", tracer.path_of_module(each), (), {})
            if isinstance(each, torch.nn.Module)
            else each
            for each in args
        ]
    )
    if isinstance(function, torch.nn.Module):
        return tracer.create_proxy("call_module", tracer.path_of_module(function), given, {})
    return tracer.create_proxy("call_function", function, given, {})


__all__ = [
    "BUILTINS",
    "Proxy",
    "PyTreeCodeGen",
    "PyTreeInfo",
    "is_read_by_dynamo",
    "kept_out_of_dynamo",
    "recorded_by_fx",
]
