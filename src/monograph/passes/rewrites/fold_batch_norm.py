"""Batch-norm folding: a normalisation by fixed statistics goes into the layer before it.

For y = (w*x + b - m) / sqrt(v + eps) * g + h the layer's weight becomes w * s and its bias
(b - m) * s + h, with s = g / sqrt(v + eps) per output channel. The new weights are constants of an
inference: they get no gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.fx.node import Node

from monograph.abstract.tensor_type import type_of
from monograph.capture.recording.operators import OPERATORS
from monograph.host.operator_types import OpOverload
from monograph.host.overloads import aten
from monograph.passes.rewrites.program_copy import ProgramCopy, StateInput
from monograph.passes.rewrites.registry import rewrite
from monograph.passes.rewrites.type_inference import described

if TYPE_CHECKING:
    from collections.abc import Mapping

# Where the weight has its output channels; one that is grouped and transposed has them in parts.
_CHANNELS = {
    aten.conv1d.default: 0,
    aten.conv1d.padding: 0,
    aten.conv2d.default: 0,
    aten.conv2d.padding: 0,
    aten.conv3d.default: 0,
    aten.conv3d.padding: 0,
    aten.linear.default: 0,
}


@rewrite
def fold_batch_norm(edited: ProgramCopy) -> None:
    """Fold each batch normalisation in evaluation into the convolution or linear layer before it.

    The layer's result must go nowhere else, and nothing may write to the weights of either.
    """
    norms = [node for node in edited.graph.nodes if node.target is aten.batch_norm.default]
    statistics = [each for node in norms for each in node.all_input_nodes]
    for node in norms:
        _fold(edited, node)
    for node in dict.fromkeys(statistics):
        if node.op == "placeholder" and not node.users:
            edited.drop_state(node)


def _bound(node: Node) -> dict[str, Any]:
    target: Any = node.target
    assert isinstance(target, OpOverload), "an operator has named arguments"
    names = OPERATORS.of(target).argument_names
    return dict(zip(names, node.args, strict=False)) | dict(node.kwargs)


def _fold(edited: ProgramCopy, norm: Node) -> None:
    given = _bound(norm)
    layer = given["input"]
    if given["training"] is not False or layer.target not in _CHANNELS or len(layer.users) != 1:
        return
    if layer.target is aten.linear.default and len(layer.meta["val"].shape) != 2:
        return
    outer = _bound(layer)
    statistics = _tensors(edited, given, ("weight", "bias", "running_mean", "running_var"))
    own = _tensors(edited, outer, ("weight", "bias"))
    read = [each for each in (*norm.all_input_nodes, *layer.all_input_nodes) if each is not layer]
    if statistics is None or own is None or any(n.name in edited.written for n in read):
        return
    if statistics["running_mean"] is None or own["weight"] is None:
        return
    weight, bias = _folded(own, statistics, float(given["eps"]))
    names = [(edited.state_inputs[outer["weight"].name].target, weight, "weight")]
    home = names[0][0].rpartition(".")[0]
    names.append((f"{home}.bias" if home else "bias", bias, "bias"))
    new: dict[str, Node] = {}
    for name, tensor, argument in names:
        old = outer.get(argument)
        if isinstance(old, Node) and len(old.users) == 1:
            _set(edited, old, tensor)
            new[argument] = old
            continue
        free = name if name not in edited.tensors else edited.new_target(name)
        parameter = torch.nn.Parameter(tensor, requires_grad=False)
        val = described(type_of(parameter), edited.facts)
        new[argument] = edited.add_state(StateInput("parameter", free), parameter, val)
    layer.args = (layer.args[0], new["weight"], new["bias"], *layer.args[3:])
    layer.kwargs = {k: v for k, v in layer.kwargs.items() if k not in {"weight", "bias"}}
    layer.meta["val"] = norm.meta["val"]
    norm.replace_all_uses_with(layer)
    edited.graph.erase_node(norm)


def _tensors(
    edited: ProgramCopy, given: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, torch.Tensor | None] | None:
    """The state that arguments are, None where one is computed."""
    found: dict[str, torch.Tensor | None] = {}
    for name in names:
        value = given.get(name)
        tensor = edited.tensor_of(value) if isinstance(value, Node) else None
        if isinstance(value, Node) and tensor is None:
            return None
        found[name] = tensor
    return found


def _folded(
    own: Mapping[str, torch.Tensor | None], norm: Mapping[str, torch.Tensor | None], eps: float
) -> tuple[torch.Tensor, torch.Tensor]:
    """The weight and the bias that do both; computed in double precision, rounded once."""
    weight, mean, variance = own["weight"], norm["running_mean"], norm["running_var"]
    assert weight is not None, "the caller has looked"
    assert mean is not None, "the caller has looked"
    assert variance is not None, "statistics come in pairs"
    with torch.no_grad():
        scale = (variance.double() + eps).rsqrt()
        if norm["weight"] is not None:
            scale = scale * norm["weight"].double()
        shift = -mean.double() if own["bias"] is None else own["bias"].double() - mean.double()
        shift = shift * scale
        if norm["bias"] is not None:
            shift = shift + norm["bias"].double()
        shape = (-1, *[1] * (weight.dim() - 1))
        return (weight.double() * scale.view(shape)).to(weight.dtype), shift.to(weight.dtype)


def _set(edited: ProgramCopy, node: Node, tensor: torch.Tensor) -> None:
    """Another tensor under a name, as a parameter that gets no gradient."""
    old = edited.tensors[edited.state_inputs[node.name].target]
    parameter = torch.nn.Parameter(tensor, requires_grad=False)
    for name, each in list(edited.tensors.items()):
        if each is old:
            edited.tensors[name] = parameter
    node.meta["val"] = described(type_of(parameter), edited.facts)


__all__ = ["fold_batch_norm"]
