"""Decompositions in closed form, of frequent operators whose formulas need not be run.

A shortcut takes what the operator takes, tensors as nodes, and gives what PyTorch's formulas end
in, or `NotImplemented` where it does not know: then they are run. Law: it writes what they write,
whatever the sizes and layouts. It counts where nobody changed the table, and outside of autocast.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import torch

from monograph.abstract.layout import is_contiguous
from monograph.host.overloads import aten
from monograph.integers import eq, ge, known
from monograph.passes.graph_builder import tensor_type
from monograph.rules.views.reshaping import inferred_shape
from monograph.rules.views.strides import are_ints, view_strides

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch.fx.node import Node

    from monograph.host.operator_types import OpOverload
    from monograph.integers import Int
    from monograph.passes.graph_builder import GraphBuilder


SHORTCUTS: dict[Any, Callable[..., Any]] = {}
"""By overload; each takes what computes operators, and then the arguments of its own.

One that does not know writes nothing, and leaves nothing unused behind otherwise.
"""


class OperatorCalls:
    """Computes operators on values; `lower` takes an overload, its arguments and its keywords."""

    __slots__ = ("builder", "lower")

    def __init__(self, lower: Callable[..., Any], builder: GraphBuilder) -> None:
        self.lower = lower
        self.builder = builder

    def __call__(self, overload: OpOverload, *args: Any, **kwargs: Any) -> Any:
        """An operator's result, or all of them."""
        return self.lower(overload, args, kwargs)

    def first(self, overload: OpOverload, *args: Any) -> Node:
        """The first result of an operator that has several, and no formula."""
        return self.builder.call_for_first(overload, args)


def shortcut(*overloads: Any) -> Callable[[Any], Any]:
    """Register what operators come to."""

    def register(function: Any) -> Any:
        SHORTCUTS.update(dict.fromkeys(overloads, function))
        return function

    return register


@shortcut(aten.t.default)
def _t(call: OperatorCalls, x: Node) -> Any:
    return call(aten.permute.default, x, [1, 0]) if tensor_type(x).rank == 2 else NotImplemented


@shortcut(aten.transpose.int)
def _transpose(call: OperatorCalls, x: Node, dim0: int, dim1: int) -> Any:
    rank = tensor_type(x).rank
    order = list(range(rank))
    if dim0 % max(rank, 1) == dim1 % max(rank, 1):
        return NotImplemented
    order[dim0], order[dim1] = order[dim1], order[dim0]
    return call(aten.permute.default, x, order)


@shortcut(aten.reshape.default, aten._reshape_alias.default)  # noqa: SLF001 - an operator's name
def _reshape(call: OperatorCalls, x: Node, shape: Sequence[Int], _strides: Any = None) -> Any:
    given = tensor_type(x)
    if given.strides is None:
        return call(aten.view.default, x, list(shape))
    if not are_ints(given.shape) or not are_ints(given.strides) or not are_ints(tuple(shape)):
        return NotImplemented
    if is_contiguous(given) is True:
        return call(aten.view.default, x, list(shape))
    sizes = list(inferred_shape(given.shape, shape))
    if view_strides(given.shape, given.strides, sizes) is None:
        x = _contiguous(call, x)
    return call(aten.view.default, x, sizes)


@shortcut(aten.contiguous.default)
def _contiguous(call: OperatorCalls, x: Node, memory_format: Any = torch.contiguous_format) -> Any:
    if memory_format is not torch.contiguous_format:
        return NotImplemented
    given = tensor_type(x)
    if given.strides is None:
        return x
    if not are_ints(given.shape) or not are_ints(given.strides):
        return NotImplemented
    return (
        x
        if is_contiguous(given) is True
        else call(aten.clone.default, x, memory_format=memory_format)
    )


@shortcut(aten.linear.default)
def _linear(call: OperatorCalls, x: Node, weight: Node, bias: Node | None = None) -> Any:
    given = tensor_type(x)
    if tensor_type(weight).rank != 2 or given.rank < 2:
        return NotImplemented
    if given.rank == 2:
        turned = call(aten.permute.default, weight, [1, 0])
        if bias is None:
            return call(aten.mm.default, x, turned)
        return call(aten.addmm.default, bias, x, turned)
    if given.strides is not None:
        return NotImplemented
    rows = [prod(given.shape[:-1]), given.shape[-1]]
    shape = [*given.shape[:-1], tensor_type(weight).shape[0]]
    if bias is None:
        turned = call(aten.permute.default, weight, [1, 0])
        made = call(aten.mm.default, call(aten.view.default, x, rows), turned)
    else:
        x = call(aten.view.default, x, rows)
        made = call(aten.addmm.default, bias, x, call(aten.permute.default, weight, [1, 0]))
    return call(aten.view.default, made, shape)


@shortcut(aten.matmul.default)
def _matmul(call: OperatorCalls, x: Node, y: Node) -> Any:
    left, right = tensor_type(x), tensor_type(y)
    if left.rank == right.rank == 2:
        return call(aten.mm.default, x, y)
    if left.rank >= 3 and right.rank == 2 and left.strides is None:
        flat = call(aten.view.default, x, [prod(left.shape[:-1]), left.shape[-1]])
        made = call(aten.mm.default, flat, y)
        return call(aten.view.default, made, [*left.shape[:-1], right.shape[1]])
    if left.rank < 3 or left.rank != right.rank:
        return NotImplemented
    batch = left.shape[:-2]
    if any(known(eq(a, b)) is not True for a, b in zip(batch, right.shape[:-2], strict=True)):
        return NotImplemented
    return _products(call, x, y, batch)


def _products(call: OperatorCalls, x: Node, y: Node, batch: Sequence[Int]) -> Any:
    """A stack of products, with one dimension for all that tell them apart."""
    left, right = tensor_type(x), tensor_type(y)
    flat: list[Node] = []
    for each, t in ((x, left), (y, right)):
        expanded = call(aten.expand.default, each, [*batch, *t.shape[-2:]])
        flat.append(call(aten.reshape.default, expanded, [prod(batch), *t.shape[-2:]]))
    made = call(aten.bmm.default, *flat)
    return call(aten.view.default, made, [*batch, left.shape[-2], right.shape[-1]])


@shortcut(aten.layer_norm.default)
def _layer_norm(
    call: OperatorCalls,
    x: Node,
    shape: Sequence[Int],
    weight: Node | None = None,
    bias: Node | None = None,
    eps: float = 1e-5,
    _cudnn: bool = True,  # noqa: FBT001, FBT002 - as in the schema
) -> Any:
    return call.first(aten.native_layer_norm.default, x, list(shape), weight, bias, eps)


@shortcut(aten.softmax.int)
def _softmax(call: OperatorCalls, x: Node, dim: int, dtype: torch.dtype | None = None) -> Any:
    if dtype is not None or not tensor_type(x).dtype.is_floating_point:
        return NotImplemented
    return call(aten._softmax.default, x, dim, False)  # noqa: SLF001 - an operator's name


@shortcut(aten.conv1d.default, aten.conv2d.default, aten.conv3d.default)
def _convolution(
    call: OperatorCalls,
    x: Node,
    weight: Node,
    bias: Node | None = None,
    stride: Sequence[Int] | None = None,
    padding: Sequence[Int] | None = None,
    dilation: Sequence[Int] | None = None,
    groups: int = 1,
) -> Any:
    n_dims = tensor_type(weight).rank - 2
    if tensor_type(x).rank != n_dims + 2:
        return NotImplemented
    defaults = ((stride, 1), (padding, 0), (dilation, 1))
    steps = [[least] * n_dims if each is None else list(each) for each, least in defaults]
    return call(aten.convolution.default, x, weight, bias, *steps, False, [0] * n_dims, groups)


@shortcut(aten.batch_norm.default)
def _batch_norm(
    call: OperatorCalls,
    x: Node,
    weight: Node | None,
    bias: Node | None,
    mean: Node | None,
    var: Node | None,
    training: bool,  # noqa: FBT001
    momentum: float,
    eps: float,
    _cudnn: bool,  # noqa: FBT001
) -> Any:
    given = tensor_type(x)
    is_plain = given.device.type == "cpu" and known(ge(given.numel(), 1)) is True
    if training or mean is None or var is None or not is_plain:
        return NotImplemented
    op = aten._native_batch_norm_legit_no_training.default  # noqa: SLF001 - an operator's name
    return call.first(op, x, weight, bias, mean, var, momentum, eps)


@shortcut(aten.max_pool2d.default)
def _max_pool2d(call: OperatorCalls, x: Node, *steps: Any) -> Any:
    return call.first(aten.max_pool2d_with_indices.default, x, *steps)


@shortcut(aten.adaptive_avg_pool2d.default)
def _adaptive_avg_pool2d(call: OperatorCalls, x: Node, output_size: Sequence[Int]) -> Any:
    given = tensor_type(x)
    is_plain = given.rank == 4 and given.strides is None and given.device.type == "cpu"
    if not is_plain or list(output_size) != [1, 1]:
        return NotImplemented
    if not all(type(size) is int and size > 1 for size in given.shape[1:]):
        return NotImplemented
    return call(aten.mean.dim, x, [-1, -2], True)


@shortcut(aten.flatten.using_ints)
def _flatten(call: OperatorCalls, x: Node, start_dim: int = 0, end_dim: int = -1) -> Any:
    given = tensor_type(x)
    if given.strides is not None or not given.rank:
        return NotImplemented
    first, last = start_dim % given.rank, end_dim % given.rank
    if first >= last:
        return NotImplemented
    shape = [*given.shape[:first], prod(given.shape[first : last + 1]), *given.shape[last + 1 :]]
    return call(aten.view.default, x, shape)


@shortcut(aten.to.dtype)
def _to_dtype(
    call: OperatorCalls,
    x: Node,
    dtype: torch.dtype,
    non_blocking: bool = False,  # noqa: FBT001, FBT002 - as in the schema
    copy: bool = False,  # noqa: FBT001, FBT002
    memory_format: Any = None,
) -> Any:
    if non_blocking or copy or memory_format is not None:
        return NotImplemented
    if tensor_type(x).dtype is dtype:
        return x
    return call(aten._to_copy.default, x, dtype=dtype)  # noqa: SLF001 - an operator's name


__all__ = ["SHORTCUTS", "OperatorCalls", "shortcut"]
