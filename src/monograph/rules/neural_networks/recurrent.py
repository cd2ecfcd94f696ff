"""Recurrent layers: sequences [T, B, I] (or [B, T, I]) and states [layers*directions, B, H].

Law: the hidden state's sizes say everything; the output has `directions * H` features. With
`batch_first` the output is computed as [T, B, *] and is a transposed view of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from monograph.abstract.tensor_type import TensorType
from monograph.diagnostics import problem
from monograph.host.overloads import aten
from monograph.integers import fresh
from monograph.rules.operand_checks import need_same_dtype, refusal
from monograph.rules.registry import rule, shared_rule
from monograph.rules.size_checks import need_positive, need_same_shape

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monograph.integers import Int


def _need_shape(t: TensorType, shape: tuple[Int, ...], op: str) -> None:
    """Kernels trust these sizes, and read beyond the tensors where they are wrong.

    Raises: rank-disagrees, sizes-disagree.
    """
    need_same_shape(shape, t.shape, op, f"a parameter of {op}")


def _state(x: TensorType) -> TensorType:
    return TensorType(x.shape, x.dtype, x.device)


@dataclass(frozen=True, slots=True)
class _Layer:
    """What a recurrent layer is made of; `hidden` features inside, `state` of them come out."""

    op: str
    gates: int
    params: Sequence[TensorType]
    has_biases: bool
    n_layers: int
    bidirectional: bool
    hidden: Int
    state: Int


def _check_layer(layer: _Layer, features: Int, batch: Int, states: Sequence[TensorType]) -> Int:
    """The features of the output, after comparing all parameters and states."""
    op, params, directions = layer.op, layer.params, 2 if layer.bidirectional else 1
    for state, size in zip(states, (layer.state, layer.hidden), strict=False):
        _need_shape(state, (layer.n_layers * directions, batch, size), op)
    rows = layer.gates * layer.hidden
    wanted = [(rows, features), (rows, layer.state)]
    if layer.has_biases:
        wanted += [(rows,), (rows,)]
    if layer.op == "lstm" and len(params) // (layer.n_layers * directions) > len(wanted):
        wanted.append((layer.state, layer.hidden))  # the projection
    if len(params) != layer.n_layers * directions * len(wanted):
        raise refusal(op, f"{len(params)} parameters for {layer.n_layers} layers")
    need_same_dtype(op, *states, *params)
    result = layer.state * directions
    first_layer = len(wanted) * directions
    for i, t in enumerate(params):
        if i == first_layer:
            wanted[0] = (rows, result)
        _need_shape(t, wanted[i % len(wanted)], op)
    return result


def _sequence(
    layer: _Layer, input: TensorType, states: Sequence[TensorType], batch_first: bool
) -> tuple[TensorType, ...]:
    """The output of a layer over padded sequences, and the last states."""
    if len(input.shape) != 3:
        raise problem("rank-disagrees", what=layer.op, expected=3, got=input.rank)
    length, batch, features = input.shape
    if batch_first:
        length, batch = batch, length
    need_same_dtype(layer.op, input, *states)
    need_positive((length, batch), layer.op)
    width = _check_layer(layer, features, batch, states)
    last = [_state(state) for state in states]
    if not batch_first:
        return TensorType((length, batch, width), input.dtype, input.device), *last
    strides = (width, batch * width, 1)
    return TensorType((batch, length, width), input.dtype, input.device, strides), *last


def _packed(
    layer: _Layer, data: TensorType, states: Sequence[TensorType]
) -> tuple[TensorType, ...]:
    """The output of a layer over packed sequences, and the last states."""
    if len(data.shape) != 2:
        raise problem("rank-disagrees", what=layer.op, expected=2, got=data.rank)
    need_same_dtype(layer.op, data, *states)
    width = _check_layer(layer, data.shape[1], states[0].shape[1], states)
    result = TensorType((data.shape[0], width), data.dtype, data.device)
    return result, *[_state(state) for state in states]


# ------------------------------------------------------------------------------ layers


@shared_rule(aten.lstm.input, op="lstm", gates=4)
@shared_rule(aten.gru.input, op="gru", gates=3)
@shared_rule(aten.rnn_tanh.input, aten.rnn_relu.input, op="rnn", gates=1)
def recurrent(
    input: TensorType,
    hx: TensorType | Sequence[TensorType],
    params: Sequence[TensorType],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    op: str,
    gates: int,
) -> tuple[TensorType, ...]:
    """gru([T, B, I], [L, B, H]) -> [T, B, directions*H], [L, B, H].

    lstm([T, B, I], ([L, B, P], [L, B, H])) -> [T, B, directions*P], [L, B, P], [L, B, H].
    """
    states = _states(hx)
    sizes = states[-1].shape[-1], states[0].shape[-1]
    layer = _Layer(op, gates, params, has_biases, num_layers, bidirectional, *sizes)
    return _sequence(layer, input, states, batch_first)


@shared_rule(aten.lstm.data, op="lstm", gates=4)
@shared_rule(aten.gru.data, op="gru", gates=3)
@shared_rule(aten.rnn_tanh.data, aten.rnn_relu.data, op="rnn", gates=1)
def recurrent_packed(
    data: TensorType,
    hx: TensorType | Sequence[TensorType],
    params: Sequence[TensorType],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    op: str,
    gates: int,
) -> tuple[TensorType, ...]:
    """gru([rows, I], [T], [L, B, H]) -> [rows, directions*H], [L, B, H].

    lstm([n, I], [T], ([L, B, P], [L, B, H])) -> [n, directions*P], [L, B, P], [L, B, H].
    """
    states = _states(hx)
    sizes = states[-1].shape[-1], states[0].shape[-1]
    layer = _Layer(op, gates, params, has_biases, num_layers, bidirectional, *sizes)
    return _packed(layer, data, states)


def _states(hx: TensorType | Sequence[TensorType]) -> Sequence[TensorType]:
    return [hx] if isinstance(hx, TensorType) else hx


# ------------------------------------------------------------------------------ one step


@shared_rule(aten.gru_cell.default, op="gru_cell", gates=3)
@shared_rule(aten.rnn_tanh_cell.default, aten.rnn_relu_cell.default, op="rnn_cell", gates=1)
def recurrent_cell(
    input: TensorType,
    hx: TensorType | Sequence[TensorType],
    w_ih: TensorType,
    w_hh: TensorType,
    b_ih: TensorType | None,
    b_hh: TensorType | None,
    op: str,
    gates: int,
) -> TensorType:
    """gru_cell([B, I], [B, H]) -> [B, H]."""
    states, params = _states(hx), (w_ih, w_hh, b_ih, b_hh)
    need_same_dtype(op, input, *states, *params)
    batch, features = input.shape
    hidden = states[0].shape[-1]
    for state in states:
        _need_shape(state, (batch, hidden), op)
    rows = gates * hidden
    for t, shape in zip(params, ((rows, features), (rows, hidden), (rows,), (rows,)), strict=True):
        if t is not None:
            _need_shape(t, shape, op)
    return _state(states[0])


@shared_rule(aten.lstm_cell.default)
def lstm_cell(
    input: TensorType,
    hx: Sequence[TensorType],
    w_ih: TensorType,
    w_hh: TensorType,
    b_ih: TensorType | None,
    b_hh: TensorType | None,
) -> tuple[TensorType, ...]:
    """lstm_cell([B, I], ([B, H], [B, H])) -> [B, H], [B, H]."""
    recurrent_cell(input, hx, w_ih, w_hh, b_ih, b_hh, "lstm_cell", 4)
    return tuple(_state(state) for state in hx)


# ------------------------------------------------------------------------------ packing


@rule(aten._pack_padded_sequence.default)
def pack_padded_sequence(
    input: TensorType, lengths: TensorType, batch_first: bool
) -> tuple[TensorType, TensorType]:
    """pack([T, B, *], lengths: i64[B]) -> [Σ lengths, *], batch sizes i64[max(lengths)]."""
    length, batch, *features = input.shape
    if batch_first:
        length, batch = batch, length
    _need_shape(lengths, (batch,), "pack_padded_sequence")
    n_rows = fresh("number of packed elements", 1, _bound(length * batch))
    n_steps = fresh("longest packed sequence", 1, _bound(length))
    return (
        TensorType((n_rows, *features), input.dtype, input.device),
        TensorType((n_steps,), torch.int64, lengths.device),
    )


def _bound(size: Int) -> int | None:
    return size if isinstance(size, int) else None


@shared_rule(aten._pad_packed_sequence.default)
def pad_packed_sequence(
    data: TensorType, batch_sizes: TensorType, batch_first: bool, total_length: Int
) -> tuple[TensorType, TensorType]:
    """pad([rows, *], batch sizes: i64[T]) -> [T or total_length, B, *], lengths i64[B].

    B is the first of the batch sizes, which is data.
    """
    is_given = not isinstance(total_length, int) or total_length > 0
    length = total_length if is_given else batch_sizes.shape[0]
    batch = fresh("number of packed sequences", 1, _bound(data.shape[0]))
    lengths = TensorType((batch,), torch.int64, torch.device("cpu"))
    result = TensorType((length, batch, *data.shape[1:]), data.dtype, data.device)
    if not batch_first:
        return result, lengths
    steps = result.stride()
    shape = (batch, length, *data.shape[1:])
    strides = (steps[1], steps[0], *steps[2:])
    return TensorType(shape, data.dtype, data.device, strides), lengths
