"""Autograd's engine, and the transforms of `torch.func` that stand around it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch
import torch.utils.checkpoint

from monograph.host.dispatch import modes

if TYPE_CHECKING:
    from collections.abc import Mapping

ENGINES: Final[tuple[tuple[Any, str], ...]] = (
    (torch.autograd, "_engine_run_backward"),
    (torch.autograd.graph, "_engine_run_backward"),
)
"""Where `torch.autograd.grad` and `backward` look for what runs the engine."""

BACKWARD_HOOKS: Final[Mapping[str, Any]] = MappingProxyType(
    {"_get_backward_hooks": ([], []), "_get_backward_pre_hooks": []}
)
"""The methods of modules that `__call__` asks for backward hooks, and what they say of none."""


RecomputationEnds: type[Exception] = torch.utils.checkpoint._StopRecomputationError
"""What a hook of a checkpoint raises where what it runs again has made all that is needed."""


def context_class(function: Any) -> Any:
    """The class of the `ctx` that an `autograd.Function` is given; its metaclass makes one each."""
    return function._backward_cls


def are_transforms_active() -> bool:
    """Whether this thread is inside `torch.func.grad`, `vmap` or a relative of theirs."""
    return torch._C._are_functorch_transforms_active()


_is_wrapped: Any = getattr(torch._C, "_functorch").is_functorch_wrapped_tensor  # noqa: B009 - the stubs do not list it


def is_wrapped(tensor: torch.Tensor) -> bool:
    """Whether a tensor is what a transform of `torch.func` gives to its function."""
    return _is_wrapped(tensor)


def indexes_by_numbers() -> bool:
    """Whether a number that is mapped is an index, as `flex_attention` has it of its functions.

    It enters the mode `TransformGetItemToIndex`, in a file that imports Dynamo.
    """
    return any(type(mode).__name__ == "TransformGetItemToIndex" for mode in modes())
