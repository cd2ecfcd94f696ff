"""What tools look for on what we generate: structured arguments, and code that is not compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from torch.fx.graph import _PyTreeCodeGen as PyTreeCodeGen
from torch.fx.graph import _PyTreeInfo as PyTreeInfo

if TYPE_CHECKING:
    from collections.abc import Callable

Function = TypeVar("Function", bound="Callable[..., Any]")


def kept_out_of_dynamo(function: Function) -> Function:
    """A function that torch.compile runs as it is, and compiles what stands around it.

    `torch.compiler.disable` would import Dynamo and wrap the function; it sets this mark, too.
    """
    function.__dict__["_torchdynamo_disable"] = True
    return function


__all__ = ["PyTreeCodeGen", "PyTreeInfo", "kept_out_of_dynamo"]
