"""Inverses of views: what a tensor becomes when a view of it has new values.

    scatter(view, source, value)  is a tensor like `source` with `view(result) == value`, and equal
    to `source` wherever the view does not reach.

Only views that meet each element at most once have such an inverse. The others (an expanded tensor,
overlapping windows) PyTorch refuses to write to, or leaves undefined; here they are refused.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from monograph.abstract.layout import stride_order
from monograph.host.overloads import aten
from monograph.integers import eq, ge, known, require, total

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.host.operator_types import OpOverload


_OUT_OF_RANGE = "the index is out of range"


class NoInverseError(Exception):
    """A view cannot be written through; the message says why."""


@dataclass(frozen=True, slots=True)
class View:
    """One step from a tensor to a view of it: an operator, its arguments after the tensor.

    `item` is which of several results this is, None where there is one. `source` and `type` are
    the types of the tensor and of the view.
    """

    overload: OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    item: int | None
    source: TensorType
    type: TensorType


Call = "Callable[..., Node]"
Inverse = "Callable[[Call, View, Node, Node], Node]"

_INVERSES: dict[int, Any] = {}


def inverse_of(*overloads: OpOverload) -> Callable[[Any], Any]:
    """Register how to write through the views of these operators."""

    def register(function: Any) -> Any:
        _INVERSES.update({id(overload): function for overload in overloads})
        return function

    return register


def can_be_written_through(overload: OpOverload) -> bool:
    """Whether views by this operator may have an inverse."""
    return id(overload) in _INVERSES


_ANEW = frozenset(
    id(overload)
    for overload in (
        aten.select.int,
        aten.slice.Tensor,
        aten.diagonal.default,
        aten.split.Tensor,
        aten.split_with_sizes.default,
        aten.unsafe_split.Tensor,
        aten.unsafe_split_with_sizes.default,
        aten.unbind.int,
        aten.as_strided.default,
        aten.unfold.default,
    )
)


def makes_anew(view: View) -> bool:
    """Whether what the source becomes by a write through the view has memory of its own."""
    return id(view.overload) in _ANEW


def lies_in_rows(view: View) -> bool:
    """Whether what the source becomes by a write through the view is always contiguous."""
    return view.overload is aten.unfold.default


def scatter(call: Callable[..., Node], view: View, source: Node, value: Node) -> Node:
    """What `source` becomes when `view` of it becomes `value`; `call` computes an operator.

    Raises: NoInverseError.
    """
    inverse = _INVERSES.get(id(view.overload))
    if inverse is None:
        raise NoInverseError(f"nothing is known about writing through {view.overload}")
    return inverse(call, view, source, value)


def _argument(view: View, position: int, name: str, default: Any) -> Any:
    """An argument of the view by its place after the tensor, or by name."""
    if position < len(view.args):
        return view.args[position]
    return view.kwargs.get(name, default)


@inverse_of(aten.alias.default, aten.detach.default, aten.lift_fresh.default)
def _same(_call: Any, _view: View, _source: Node, value: Node) -> Node:
    return value


@inverse_of(
    aten.view.default,
    aten._unsafe_view.default,  # noqa: SLF001 - an operator's name
    aten._reshape_alias.default,  # noqa: SLF001
    aten.squeeze.default,
    aten.squeeze.dims,
)
def _reshaped(call: Any, view: View, _source: Node, value: Node) -> Node:
    return call(aten.reshape.default, value, list(view.source.shape))


@inverse_of(aten.unsqueeze.default)
def _unsqueezed(call: Any, view: View, _source: Node, value: Node) -> Node:
    dim = _argument(view, 0, "dim", 0)
    return call(aten.squeeze.dim, value, dim)


@inverse_of(aten.squeeze.dim)
def _squeezed(call: Any, view: View, _source: Node, value: Node) -> Node:
    if view.type.rank == view.source.rank:
        return value
    return call(aten.unsqueeze.default, value, _argument(view, 0, "dim", 0))


@inverse_of(aten.permute.default)
def _permuted(call: Any, view: View, _source: Node, value: Node) -> Node:
    dims = [dim % view.source.rank for dim in _argument(view, 0, "dims", ())]
    return call(aten.permute.default, value, [dims.index(i) for i in range(len(dims))])


@inverse_of(aten.transpose.int)
def _transposed(call: Any, view: View, _source: Node, value: Node) -> Node:
    return call(
        aten.transpose.int, value, _argument(view, 0, "dim0", 0), _argument(view, 1, "dim1", 0)
    )


@inverse_of(aten.t.default)
def _t(call: Any, _view: View, _source: Node, value: Node) -> Node:
    return call(aten.t.default, value)


@inverse_of(aten.select.int)
def _selected(call: Any, view: View, source: Node, value: Node) -> Node:
    dim, index = _argument(view, 0, "dim", 0), _argument(view, 1, "index", 0)
    if isinstance(index, int):
        size, least = view.source.shape[dim], index + 1 if index >= 0 else -index
        require(ge(size, least), "operator-refused-types", op="select", reason=_OUT_OF_RANGE)
    return call(aten.select_scatter.default, source, value, dim, index)


@inverse_of(aten.slice.Tensor)
def _sliced(call: Any, view: View, source: Node, value: Node) -> Node:
    rest = [
        _argument(view, position, name, default)
        for position, (name, default) in enumerate(
            [("dim", 0), ("start", None), ("end", None), ("step", 1)]
        )
    ]
    return call(aten.slice_scatter.default, source, value, *rest)


@inverse_of(aten.diagonal.default)
def _diagonal(call: Any, view: View, source: Node, value: Node) -> Node:
    rest = [
        _argument(view, position, name, default)
        for position, (name, default) in enumerate([("offset", 0), ("dim1", 0), ("dim2", 1)])
    ]
    return call(aten.diagonal_scatter.default, source, value, *rest)


@inverse_of(aten.split.Tensor, aten.unsafe_split.Tensor)
def _split(call: Any, view: View, source: Node, value: Node) -> Node:
    size, dim = _argument(view, 0, "split_size", 0), _argument(view, 1, "dim", 0)
    assert view.item is not None, "split gives a list"
    start = size * view.item
    end = start + view.type.shape[dim]
    return call(aten.slice_scatter.default, source, value, dim, start, end, 1)


@inverse_of(aten.split_with_sizes.default, aten.unsafe_split_with_sizes.default)
def _split_with_sizes(call: Any, view: View, source: Node, value: Node) -> Node:
    sizes, dim = _argument(view, 0, "split_sizes", ()), _argument(view, 1, "dim", 0)
    assert view.item is not None, "split gives a list"
    start = total(sizes[: view.item])
    end = start + sizes[view.item]
    return call(aten.slice_scatter.default, source, value, dim, start, end, 1)


@inverse_of(aten.unbind.int)
def _unbound(call: Any, view: View, source: Node, value: Node) -> Node:
    dim = _argument(view, 0, "dim", 0)
    return call(aten.select_scatter.default, source, value, dim, view.item)


@inverse_of(aten.expand.default)
def _expanded(call: Any, view: View, _source: Node, value: Node) -> Node:
    """An expansion that repeats nothing only adds dimensions of size 1 in front."""
    added = view.type.rank - view.source.rank
    kept = zip(view.source.shape, view.type.shape[added:], strict=True)
    repeats = any(known(eq(a, b)) is not True for a, b in kept)
    if repeats or any(known(eq(size, 1)) is not True for size in view.type.shape[:added]):
        raise NoInverseError("its elements are repeated by an expansion")
    return call(aten.reshape.default, value, list(view.source.shape)) if added else value


@inverse_of(aten.as_strided.default)
def _as_strided(call: Any, view: View, source: Node, value: Node) -> Node:
    if not _meets_each_once(view.type):
        raise NoInverseError("its elements may overlap in memory")
    steps = [list(_argument(view, 0, "size", ())), list(_argument(view, 1, "stride", ()))]
    start = _argument(view, 2, "storage_offset", 0)
    # Of a copy with all of memory in a row: PyTorch's `as_strided_scatter` has a wrong gradient.
    length = view.source.numel()
    row = call(aten.as_strided.default, source, [length], [1])
    places = call(aten.arange.default, length, device=view.source.device)
    places = call(aten.as_strided.default, places, *steps, start)
    places = call(aten.reshape.default, places, [-1])
    row = call(aten.scatter.src, row, 0, places, call(aten.reshape.default, value, [-1]))
    return call(
        aten.as_strided.default, row, list(view.source.shape), list(view.source.stride()), 0
    )


@inverse_of(aten.unfold.default)
def _unfolded(call: Any, view: View, source: Node, value: Node) -> Node:
    """Windows that do not overlap, by the places that they show."""
    size, step = _argument(view, 1, "size", 0), _argument(view, 2, "step", 0)
    if known(ge(step, size)) is not True:
        raise NoInverseError("its windows may overlap in memory")
    shape = list(view.source.shape)
    length = view.source.numel()
    places = call(aten.arange.default, length, device=view.source.device)
    places = call(aten.reshape.default, places, shape)
    places = call(aten.unfold.default, places, *view.args, **view.kwargs)
    row = call(aten.reshape.default, source, [-1])
    rest = [call(aten.reshape.default, each, [-1]) for each in (places, value)]
    return call(aten.reshape.default, call(aten.scatter.src, row, 0, *rest), shape)


@inverse_of(aten.view_as_real.default)
def _as_real(call: Any, _view: View, _source: Node, value: Node) -> Node:
    return call(aten.view_as_complex.default, value)


@inverse_of(aten.view_as_complex.default)
def _as_complex(call: Any, _view: View, _source: Node, value: Node) -> Node:
    return call(aten.view_as_real.default, value)


@inverse_of(aten.view.dtype)
def _reinterpreted(call: Any, view: View, _source: Node, value: Node) -> Node:
    return call(aten.view.dtype, value, view.source.dtype)


def _meets_each_once(t: TensorType) -> bool:
    """Whether no two indices of a strided tensor are one place: each stride passes what is below.

    Σ (n_j - 1) s_j < s_i for all dimensions j with smaller strides.
    """
    strides, reach = t.stride(), 0
    for dim in stride_order(t):
        size = t.shape[dim]
        if known(eq(size, 1)) is True:
            continue
        if known(ge(strides[dim], reach + 1)) is not True:
            return False
        reach = reach + (size - 1) * strides[dim]
    return True
