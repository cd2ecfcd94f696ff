"""Random operators: which calls draw numbers from a generator.

PyTorch tags operators that may; what of their arguments makes a call draw nothing stands here.
Law, held in `tests/laws/test_draws.py`: a call draws where this says so and it has elements.
"""

from __future__ import annotations

import functools
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.aliasing import aliasing_of
from monograph.host.dispatch import schema_of
from monograph.host.operator_types import OpOverload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from torch.fx.node import Node


def _is_sure(p: Any) -> bool:
    """Whether a probability leaves nothing to chance."""
    return p in {0, 1}


def _dropout(given: Mapping[str, Any]) -> bool:
    return given.get("train") is not False and not _is_sure(given.get("p"))


def _native_dropout(given: Mapping[str, Any]) -> bool:
    return given.get("train") is not False


def _rrelu(given: Mapping[str, Any]) -> bool:
    return bool(given.get("training", False))


def _attention(given: Mapping[str, Any]) -> bool:
    return not _is_sure(given.get("dropout_p", 0.0))


def _layers(given: Mapping[str, Any]) -> bool:
    return bool(given["train"]) and given["num_layers"] != 1 and not _is_sure(given["dropout"])


def _never(_given: Mapping[str, Any]) -> bool:
    return False


_DROPOUTS: Final = ("dropout", "alpha_dropout", "feature_dropout", "feature_alpha_dropout")
_RRELUS: Final = ("rrelu", "rrelu_with_noise", "rrelu_with_noise_functional")
_ATTENTION: Final = ("scaled_dot_product_attention", "_scaled_dot_product_attention_math")
_LAYERED: Final = ("gru", "lstm", "rnn_relu", "rnn_tanh")
_NEVER: Final = ("_fused_sdp_choice", "_scaled_dot_product_flash_attention_for_cpu")

_WHEN: Final[Mapping[str, Callable[[Mapping[str, Any]], bool]]] = MappingProxyType(
    {
        **dict.fromkeys(_DROPOUTS, _dropout),
        "native_dropout": _native_dropout,
        **dict.fromkeys(_RRELUS, _rrelu),
        **dict.fromkeys(_ATTENTION, _attention),
        **dict.fromkeys(_LAYERED, _layers),
        **dict.fromkeys(_NEVER, _never),
    }
)
"""By the operator's name, in place or not. Others draw whenever they are called."""


def draws(target: Any, args: Any, kwargs: Mapping[str, Any]) -> bool:
    """Whether a call of an operator on tensors with elements draws random numbers."""
    if not isinstance(target, OpOverload) or not is_random(target):
        return False
    when = _WHEN.get(schema_of(target).name.removeprefix("aten::").removesuffix("_"))
    return when is None or when(aliasing_of(target).bound(args, kwargs))


def draws_often(target: Any) -> bool:
    """Whether a call draws as often as it has layers, and not once."""
    return schema_of(target).name.removeprefix("aten::") in _LAYERED


@functools.cache
def is_random(overload: OpOverload) -> bool:
    """Whether an operator may draw random numbers."""
    return torch.Tag.nondeterministic_seeded in overload.tags


def draws_something(graph: torch.fx.Graph) -> bool:
    """Whether a graph has a call that draws."""
    return any(drawn(node) for node in graph.nodes)


def drawn(node: Node) -> bool:
    """Whether a node draws."""
    return node.op == "call_function" and draws(node.target, node.args, node.kwargs)


__all__ = ["drawn", "draws", "draws_something", "is_random"]
