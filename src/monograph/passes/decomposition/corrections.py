"""Corrected decompositions, for operators whose formula in PyTorch computes something else.

Layers of recurrent networks: PyTorch's formula drops nothing between them, whatever `dropout` says
(it compares the number of layers with the layer in the wrong order). Attention by the CPU's kernel:
the result lies as the query does, and PyTorch's formula has another order for batches. Copies with
given strides: the operator that formulas use has no derivative. Filling by an index: the gradient
of a tensor to fill with counts each place once, however often the index names it. Attention,
softplus and others: the gradient is no number where a row is masked as a whole, or a value large.
The nearest of neighbours in a row: the result lies as the tensor does. Logits in half precision:
the kernel rounds each step, also the limits that `eps` sets. `xlogy` at zero: it has a gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.layout import stride_order
from monograph.abstract.symbols import to_python
from monograph.abstract.tensor import AbstractTensor
from monograph.abstract.tensor_type import TensorType
from monograph.host.decompositions import composite_formula, core_formulas
from monograph.host.execution_modes import is_cast
from monograph.host.overloads import aten, present, prims
from monograph.integers import eq, known

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from monograph.host.operator_types import OpOverload


_RECURRENT: dict[OpOverload, int] = {
    getattr(getattr(aten, name), kind): n_sizes
    for n_sizes, kind in enumerate(("input", "data"))
    for name in ("lstm", "gru", "rnn_tanh", "rnn_relu")
}
"""Of batches, and of packed sequences, whose sizes are given beside the data."""


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


def _recurrent(overload: OpOverload, n_sizes: int) -> Callable[..., Any]:
    whole = composite_formula(overload)

    def formula(data: Tensor, *given: Any) -> Any:
        if is_cast(data.device.type):
            return NotImplemented  # which kernels run it, and in which dtype, depends on more
        sizes, rest = given[:n_sizes], given[n_sizes:]
        hx, params, has_biases, layers, dropout, train, is_bidirectional, *batch_first = rest
        if not (train and dropout and layers > 1):
            fixed = (has_biases, layers, 0.0, train, is_bidirectional, *batch_first)
            return whole(data, *sizes, hx, params, *fixed)

        def run(data: Any, states: Any, own: Sequence[Tensor]) -> Sequence[Tensor]:
            in_order = [False for _ in batch_first]
            flags = (has_biases, 1, 0.0, train, is_bidirectional, *in_order)
            return whole(data, *sizes, states, own, *flags)

        data = data.transpose(0, 1) if any(batch_first) else data
        directions = 2 if is_bidirectional else 1
        out, *ends = _stacked(run, data, hx, params, layers, directions, dropout)
        return out.transpose(0, 1) if any(batch_first) else out, *ends

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


def _std(
    self: Tensor, dim: Any = None, *, correction: float | None = None, keepdim: bool = False
) -> Tensor:
    """Of what is constant it is zero, also on the way to the gradient."""
    wide = self.float() if self.dtype in {torch.half, torch.bfloat16} else self
    variance = torch.var(wide, dim, correction=correction, keepdim=keepdim)
    is_zero = variance == 0
    made = variance.masked_fill(is_zero, 1).sqrt().masked_fill(is_zero, 0)
    return made.to(self.dtype) if wide is not self else made


def _std_mean(self: Tensor, dim: Any = None, **options: Any) -> tuple[Tensor, Tensor]:
    return _std(self, dim, **options), torch.mean(self, dim, options.get("keepdim", False))


def _outside(
    overload: OpOverload, find: Callable[..., Tensor], fill: int, value: int | None
) -> Callable[..., Any]:
    """A formula, but for values outside of it, which are themselves or `value` in the result.

    What it would compute of them has a gradient that is not a number, whoever looks at it.
    """
    whole = core_formulas()[overload]

    def formula(self: Tensor, *rest: Any) -> Tensor:
        outside = find(self, *rest)
        made = whole(self.masked_fill(outside, fill), *rest)
        return made.masked_fill(outside, value) if value else torch.where(outside, self, made)

    return formula


_OUTSIDE: dict[OpOverload, tuple[Callable[..., Tensor], int, int | None]] = {
    aten.celu.default: (lambda x, _alpha=1: x > 0, 0, None),
    aten.sinc.default: (lambda x: x == 0, 1, 1),
    aten.softplus.default: (lambda x, beta=1, threshold=20: x * beta > threshold, 0, None),
}


def _logit(self: Tensor, eps: float | None = None) -> Tensor:
    """In half precision each step is rounded, and the limits first of all."""
    if self.dtype not in {torch.half, torch.bfloat16}:
        return core_formulas()[aten.logit.default](self, eps)
    if eps is not None:
        limits = torch.tensor([eps, 1 - eps], dtype=torch.float64).to(self.dtype)
        self = self.clamp(*limits.tolist())
    return torch.log(self / (1 - self))


def _xlogy(self: Tensor, other: Tensor) -> Tensor:
    """Zero where the first is zero, with the gradient `log(other)` there, where that is finite."""
    made = torch.result_type(self, other)
    wide = torch.float if made in {torch.half, torch.bfloat16} else made
    x, y = self.to(wide), other.to(wide)
    is_closed = torch.logical_and(x == 0, torch.logical_or(y <= 0, y == torch.inf))
    product = x * torch.log(y.masked_fill(is_closed, 1))
    product = torch.where(x == 0, product + 0.0, product)  # and never -0.0
    return product if wide is made else product.to(made)


def _nearest_1d(offset: float) -> Callable[..., Any]:
    """A formula whose result lies in rows, however the tensor does; it picks from its middles."""

    def formula(self: Tensor, output_size: Sequence[Any] | None, scales: Any = None) -> Tensor:
        scale: Any = scales[0] if isinstance(scales, list | tuple) and scales else scales
        length: Any = self.shape[2]
        if output_size is None:
            made = length * int(scale) if int(scale) == scale else torch.sym_int(length * scale)
        else:
            made: Any = output_size[0]
        step = length / (length * scale) if scale else length / made
        places = torch.arange(made, dtype=torch.float32, device=self.device)
        return self.index_select(2, ((places + offset) * step).to(torch.int64))

    return formula


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
    **{overload: _recurrent(overload, _RECURRENT[overload]) for overload in present(_RECURRENT)},
    **{overload: _outside(overload, *_OUTSIDE[overload]) for overload in present(_OUTSIDE)},
    aten.std.correction: _std,
    aten.std_mean.correction: _std_mean,
    aten.logit.default: _logit,
    aten.xlogy.Tensor: _xlogy,
    aten.upsample_nearest1d.default: _nearest_1d(0.0),
    aten.upsample_nearest1d.vec: _nearest_1d(0.0),
    aten._upsample_nearest_exact1d.default: _nearest_1d(0.5),
    aten._upsample_nearest_exact1d.vec: _nearest_1d(0.5),
    aten._scaled_dot_product_flash_attention_for_cpu.default: _flash,
    prims.copy_strided.default: _copy_strided,
    aten.index_fill.int_Tensor: _index_fill,
    aten._safe_softmax.default: _safe_softmax,
}

__all__ = ["CORRECTIONS"]
