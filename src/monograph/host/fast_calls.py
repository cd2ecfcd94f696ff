"""Fast entry points: for an overload, the function of torch that parses arguments in C.

An overload is called through Python and a generic boxed call; torch's own functions are not. A
function stands here only for overloads whose schema its parameters follow, in order and by name.
Verified with 2.13.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.host.overloads import aten

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_FUNCTIONS: Final[Mapping[Any, Callable[..., Any]]] = MappingProxyType(
    {
        aten.add.Tensor: torch.add,
        aten.cat.default: torch.cat,
        aten.cos.default: torch.cos,
        aten.div.Tensor: torch.div,
        aten.embedding.default: torch.embedding,
        aten.index_copy_.default: torch.Tensor.index_copy_,
        aten.linear.default: torch.nn.functional.linear,
        aten.matmul.default: torch.matmul,
        aten.mean.dim: torch.mean,
        aten.mul.Tensor: torch.mul,
        aten.neg.default: torch.neg,
        aten.pow.Tensor_Scalar: torch.pow,
        aten.reshape.default: torch.reshape,
        aten.rsqrt.default: torch.rsqrt,
        aten.scaled_dot_product_attention.default: (
            torch.nn.functional.scaled_dot_product_attention
        ),
        aten.sin.default: torch.sin,
        aten.sub.Tensor: torch.sub,
        aten.tanh.default: torch.tanh,
        aten.transpose.int: torch.transpose,
        aten.unsqueeze.default: torch.unsqueeze,
        aten.view.default: torch.Tensor.view,
    }
)


def fast_call(target: Any) -> Callable[..., Any]:
    """What computes the same as an overload called without symbols, in less time."""
    if isinstance(target, torch._ops.OpOverload):
        return _FUNCTIONS.get(target) or target._op
    return target


__all__ = ["fast_call"]
