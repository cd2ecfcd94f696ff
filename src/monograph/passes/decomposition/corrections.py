"""Corrected decompositions, for operators whose formula in PyTorch computes something else.

Layers of recurrent networks: PyTorch's formula drops nothing between them, whatever `dropout` says
(it compares the number of layers with the layer in the wrong order). Attention by the CPU's kernel:
the result lies as the query does, and PyTorch's formula has another order for batches. Copies with
given strides: the operator that formulas use has no derivative. Filling by an index: the gradient
of a tensor to fill with counts each place once, however often the index names it. Attention: the
gradient is not a number where a row is masked as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.layout import stride_order
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType
from monograph.host.decompositions import composite_formula
from monograph.host.overloads import aten, present, prims
from monograph.integers import eq, known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from monograph.host.operator_types import OpOverload


_BATCHES: tuple[OpOverload, ...] = (
    aten.lstm.input,
    aten.gru.input,
    aten.rnn_tanh.input,
    aten.rnn_relu.input,
)
_PACKED: tuple[OpOverload, ...] = (
    aten.lstm.data,
    aten.gru.data,
    aten.rnn_tanh.data,
    aten.rnn_relu.data,
)


def _part(states: Any, layer: int, directions: int) -> Any:
    """The states that one layer begins with; an LSTM has two."""
    if isinstance(states, list | tuple):
        return [_part(each, layer, directions) for each in states]
    return states.narrow(0, layer * directions, directions)


def _stacked(
    run: Callable[[Any, Any, Sequence[Tensor]], Sequence[Tensor]],
    data: Tensor,
    states: Any,
    params: Sequence[Tensor],
    layers: int,
    directions: int,
    dropout: float,
) -> tuple[Tensor, ...]:
    """One layer after the other, with dropout between them; the states that they end with."""
    size = len(params) // layers
    ends: list[Sequence[Tensor]] = []
    for layer in range(layers):
        own = params[layer * size : (layer + 1) * size]
        data, *end = run(data, _part(states, layer, directions), own)
        ends.append(end)
        if layer < layers - 1:
            data = torch.dropout(data, dropout, True)
    return data, *[torch.cat(list(each)) for each in zip(*ends, strict=True)]


def _of_batches(overload: OpOverload) -> Callable[..., Any]:
    whole = composite_formula(overload)

    def formula(
        input: Tensor,
        hx: Any,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> Any:
        if not (train and dropout and num_layers > 1):
            rest = (has_biases, num_layers, 0.0, train, bidirectional, batch_first)
            return whole(input, hx, params, *rest)

        def run(data: Any, states: Any, own: Sequence[Tensor]) -> Sequence[Tensor]:
            return whole(data, states, own, has_biases, 1, 0.0, train, bidirectional, False)

        data = input.transpose(0, 1) if batch_first else input
        directions = 2 if bidirectional else 1
        out, *ends = _stacked(run, data, hx, params, num_layers, directions, dropout)
        return out.transpose(0, 1) if batch_first else out, *ends

    return formula


def _of_packed(overload: OpOverload) -> Callable[..., Any]:
    whole = composite_formula(overload)

    def formula(
        data: Tensor,
        batch_sizes: Tensor,
        hx: Any,
        params: Sequence[Tensor],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> Any:
        if not (train and dropout and num_layers > 1):
            rest = (has_biases, num_layers, 0.0, train, bidirectional)
            return whole(data, batch_sizes, hx, params, *rest)

        def run(data: Any, states: Any, own: Sequence[Tensor]) -> Sequence[Tensor]:
            return whole(data, batch_sizes, states, own, has_biases, 1, 0.0, train, bidirectional)

        directions = 2 if bidirectional else 1
        return _stacked(run, data, hx, params, num_layers, directions, dropout)

    return formula


def _flash(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Tensor | None = None,
    scale: float | None = None,
) -> Any:
    """By products, whose result is contiguous; laid out as the query, without its gaps."""
    out, weights = aten._scaled_dot_product_attention_math.default(
        query,
        key,
        value,
        attn_mask=attn_mask,
        dropout_p=dropout_p,
        is_causal=is_causal,
        scale=scale,
        enable_gqa=query.size(1) != key.size(1),
    )
    if query.is_contiguous():
        return out, weights
    order = _slowest_first(_type_of(query))
    if order == [0, 2, 1, 3]:
        return out.transpose(1, 2).contiguous().transpose(1, 2), weights
    return _in_order(out, order), weights


def _copy_strided(a: Tensor, stride: Sequence[Any]) -> Any:
    """Dense strides, which are those of an elementwise result, as an order of dimensions."""
    given = _type_of(a)
    wanted = TensorType(given.shape, given.dtype, given.device, tuple(map(to_python, stride)))
    copied = _in_order(a, _slowest_first(wanted))
    is_dense = all(
        known(eq(*pair)) for pair in zip(_type_of(copied).stride(), wanted.stride(), strict=True)
    )
    return copied if is_dense else NotImplemented


def _index_fill(self: Tensor, dim: int, index: Tensor, value: Tensor) -> Any:
    """A choice between two tensors; the other one is first, so that the result lies like it."""
    if self.dim() == 0:
        return _index_fill(self.unsqueeze(0), 0, index, value).squeeze(0)
    size = self.shape[dim]
    filled = torch.zeros([size], dtype=torch.bool, device=self.device)
    filled = aten.index_fill.int_Scalar(filled, 0, index, True)
    shape = [1] * self.dim()
    shape[dim] = size
    return torch.where(filled.logical_not().reshape(shape), self, value.to(self.dtype))


def _safe_softmax(self: Tensor, dim: int, dtype: torch.dtype | None = None) -> Tensor:
    """Rows that are masked as a whole are zero, also on the way to the gradient."""
    is_closed = torch.all(self.eq(-torch.inf), dim=dim, keepdim=True)
    made = torch.softmax(self.masked_fill(is_closed, 0), dim=dim, dtype=dtype)
    return made.masked_fill(is_closed, 0)


def _in_order(tensor: Tensor, slowest_first: Sequence[int]) -> Tensor:
    """A copy without gaps whose dimensions lie in this order."""
    if [*slowest_first] == [*range(len(slowest_first))]:
        return tensor.contiguous()
    back = [slowest_first.index(dim) for dim in range(len(slowest_first))]
    return tensor.permute(*slowest_first).contiguous().permute(*back)


def _type_of(tensor: Tensor) -> TensorType:
    if isinstance(tensor, AbstractTensor):
        return tensor.tensor_type
    return TensorType(tuple(tensor.shape), tensor.dtype, tensor.device, tuple(tensor.stride()))


def _slowest_first(given: TensorType) -> list[int]:
    """The dimensions in the order they lie in memory."""
    return [*reversed(stride_order(given))]


CORRECTIONS: dict[Any, Callable[..., Any]] = {
    **{overload: _of_batches(overload) for overload in present(_BATCHES)},
    **{overload: _of_packed(overload) for overload in present(_PACKED)},
    aten._scaled_dot_product_flash_attention_for_cpu.default: _flash,
    prims.copy_strided.default: _copy_strided,
    aten.index_fill.int_Tensor: _index_fill,
    aten._safe_softmax.default: _safe_softmax,
}

__all__ = ["CORRECTIONS"]
