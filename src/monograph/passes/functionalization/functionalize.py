"""Functionalisation of writes: a storage has a newest value, and its views follow it.

    Storage   the newest value of the whole tensor that owns the memory, and how often it changed
    Alias     a tensor in that memory: the storage, and the views that lead from the whole to it

A write through an alias computes the alias's new value, then walks its views backwards (`scatter`)
up to the whole, which is the storage's newest value from then on. A read of an alias whose storage
has changed since walks the views forwards again. So every write is seen through every alias, and
results that share memory in eager are views of one value here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum, auto
from math import prod
from typing import TYPE_CHECKING, Any, Final

import torch

from monograph.abstract.layout import (
    dense_like_strides,
    is_dense,
    stride_order,
    strides_for,
)
from monograph.host.overloads import aten
from monograph.integers import active, any_of, eq, ge, known, total
from monograph.passes.functionalization.views import View, makes_anew, scatter
from monograph.passes.graph_builder import is_tensor, same_layout, tensor_type

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch.fx.node import Node

    from monograph.abstract.tensor_type import TensorType
    from monograph.integers import Facts, Int


Plain = "Callable[..., Any]"


@dataclass(slots=True, eq=False)
class Storage:
    """The memory of one tensor that is written to; `input` is the placeholder that brought it."""

    value: Node
    input: Node | None = None
    generation: int = 0
    begin: Int = 0
    """Where the tensor begins in memory: newer values begin elsewhere."""
    is_dense: bool = True
    """Whether memory has no gaps between elements; newer values have none."""
    has_leaf: bool = False
    """Whether a tensor in it was made a leaf of autograd's: it is no value of a write."""
    is_counted_apart: bool = False
    """Whether autograd overlooks writes: what it kept of this memory is lost without a word."""
    has_unseen_write: bool = False
    """Whether it was written to where autograd does not see it."""


@dataclass(slots=True, eq=False)
class Alias:
    """A tensor in a storage; `node` is its value as of a generation, None before it was read.

    `state` are the regions that this value was read in: one that autograd does not see into is not
    the value outside of it.
    """

    storage: Storage
    type: TensorType
    views: tuple[View, ...] = ()
    node: Node | None = None
    generation: int = -1
    state: tuple[Any, ...] = ()
    unseen: tuple[int, tuple[Any, ...]] | None = None
    """As of which generation, and in which regions, a view is taken where autograd sees nothing."""


def whole(value: Node, *, is_input: bool = False) -> Alias:
    """The alias that owns a new storage with this value."""
    seen = tensor_type(value)
    storage = Storage(
        value, value if is_input else None, begin=seen.offset, is_dense=is_dense(seen)
    )
    return Alias(storage, seen, (), value, 0)


def unseen(value: Any, state: tuple[Any, ...]) -> Any:
    """Views, or one of them, that are taken where autograd sees nothing."""
    if isinstance(value, list):
        return [unseen(each, state) for each in value]
    if value.__class__ is not Alias or not value.views or value.unseen is not None:
        return value
    return replace(value, unseen=(value.storage.generation, state))


def owned(value: Any) -> Any:
    """What may be a view of written memory, and proved to be a copy, is memory of its own."""
    if isinstance(value, list):
        return [owned(each) for each in value]
    return whole(value) if is_tensor(value) else value


def read(alias: Alias, call: Callable[..., Any], state: tuple[Any, ...]) -> Node:
    """The newest value of an alias; `call` computes an operator on plain values in this state."""
    storage = alias.storage
    is_outside = bool(alias.views) and state[: len(alias.state)] != alias.state
    if alias.node is None or is_outside or alias.generation != storage.generation:
        value = storage.value
        for view in alias.views:
            value = seen_through(view, value, call)
        alias.node, alias.generation, alias.state = value, storage.generation, state
    return alias.node


class Overlap(Enum):
    """What two tensors of one storage have in common."""

    NONE = auto()
    SAME = auto()
    """All elements, at the same places."""
    PART = auto()


def overlap(one: TensorType, other: TensorType) -> Overlap:
    """What two tensors of one storage have in common.

    Where sizes decide whether their spans meet, a guard says that it is as it is at the example;
    spans that meet are looked into there.
    """
    if one.dtype is not other.dtype:
        return Overlap.NONE
    if _is_same_place(one, other):
        return Overlap.SAME
    ends = [each.offset + _reach(each) for each in (one, other)]
    apart = any_of(ge(other.offset, ends[0]), ge(one.offset, ends[1]))
    facts = active()
    example = facts.hint_of_relation(apart)
    if example is not False:
        if example and known(apart) is None:
            facts.guard(apart)
        return Overlap.NONE
    left, right = _elements(one, facts), _elements(other, facts)
    if left is None or right is None:
        return Overlap.PART if is_dense(one) and is_dense(other) else Overlap.NONE
    if left == right:
        return Overlap.SAME
    return Overlap.NONE if {*left}.isdisjoint(right) else Overlap.PART


_MOST_ELEMENTS: Final = 10_000


def _elements(t: TensorType, facts: Facts) -> list[int] | None:
    """Where each element lies at the example; None where that is not known, or there are many."""
    sizes = [t.offset, *t.shape, *t.stride()]
    hints = [hint for hint in map(facts.hint_of, sizes) if hint is not None]
    if len(hints) < len(sizes) or prod(hints[1 : 1 + t.rank]) > _MOST_ELEMENTS:
        return None
    places = hints[:1]
    for size, step in zip(hints[1 : 1 + t.rank], hints[1 + t.rank :], strict=True):
        places = [place + at * step for place in places for at in range(size)]
    return places


def _is_same_place(one: TensorType, other: TensorType) -> bool:
    pairs = [(one.offset, other.offset), *zip(one.stride(), other.stride(), strict=False)]
    same = [*pairs, *zip(one.shape, other.shape, strict=False)]
    return one.rank == other.rank and all(known(eq(a, b)) is True for a, b in same)


def _reach(t: TensorType) -> Int:
    """How many elements of memory lie between the first and the last of a tensor that has some."""
    steps = zip(t.shape, t.stride(), strict=True)
    return total([1, *((size - 1) * step for size, step in steps)])


def lies_within(inner: TensorType, storage: Storage) -> bool:
    """Whether all elements of a tensor are elements of the one in a storage, which has no gaps.

    Where sizes decide, a guard says that it is as it is at the example.
    """
    facts, start = active(), inner.offset - storage.begin
    end = tensor_type(storage.value).numel()
    inside = (ge(start, 0), ge(end, start + _reach(inner)))
    if not storage.is_dense or any(facts.hint_of_relation(each) is False for each in inside):
        return False
    for each in inside:
        if known(each) is None and facts.hint_of_relation(each):
            facts.guard(each)
    return True


def seen_through(view: View, source: Node, call: Callable[..., Any]) -> Node:
    """A view of a plain value.

    `as_strided` counts from where its source begins, and says no place in memory: values, callers'
    tensors and those of files begin anywhere.
    """
    if view.overload is aten.as_strided.default and view.args[2:]:
        size, steps, start = view.args
        if known(eq(start, 0)) is not True:
            length = tensor_type(source).numel()
            row = call(aten.as_strided.default, source, [length], [1])
            source = call(aten.slice.Tensor, row, 0, start)
        return call(aten.as_strided.default, source, size, steps)
    result = call(view.overload, source, *view.args, **view.kwargs)
    return result if view.item is None else result[view.item]


def write(alias: Alias, value: Node, call: Callable[..., Any]) -> bool:
    """From now on the alias has this value, and so has the memory it stands for.

    Tells whether the value was laid out anew, as the memory lies.

    Raises: NoInverseError.
    """
    value = _fitted(value, alias, call)
    sources = [alias.storage.value]
    for view in alias.views[:-1]:
        sources.append(seen_through(view, sources[-1], call))
    for view, source in zip(reversed(alias.views), reversed(sources), strict=False):
        value = scatter(call, view, source, value)
    storage = alias.storage
    storage.value = _laid_out_as(storage, value, call)
    storage.generation += 1
    return storage.value is not value


def _fitted(value: Node, alias: Alias, call: Callable[..., Any]) -> Node:
    """The value in the dtype of what it is written to."""
    wanted = alias.type
    if tensor_type(value).dtype is not wanted.dtype:
        value = call(aten._to_copy.default, value, dtype=wanted.dtype)  # noqa: SLF001 - an operator's name
    return value


def copied(alias: Alias, source: Node, call: Callable[..., Any]) -> Node:
    """What an alias becomes when a tensor is copied over it; `aten.copy` would have no gradient.

    It has memory of its own, unless what views the alias sees through gives it some.
    """
    wanted, given = alias.type, tensor_type(source)
    options: dict[str, Any] = {}
    if given.dtype is not wanted.dtype:
        options["dtype"] = wanted.dtype
    if given.device != wanted.device:
        options["device"] = wanted.device
    if given.shape != wanted.shape:
        source = call(aten.expand.default, source, list(wanted.shape))
    if options.keys() & {"dtype", "device"}:
        return call(aten._to_copy.default, source, **options)  # noqa: SLF001 - an operator's name
    if any(makes_anew(view) for view in alias.views):
        return source
    return call(aten.clone.default, source, **options)


def _laid_out_as(storage: Storage, value: Node, call: Callable[..., Any]) -> Node:
    """The value as the storage lies, without its gaps, by operators that have a gradient."""
    wanted, given = tensor_type(storage.value), tensor_type(value)
    if same_layout(given, wanted):
        return value
    strides = dense_like_strides(wanted)
    if given.stride() == strides and is_dense(given):
        return value
    for memory_format in _FORMATS:
        if strides == strides_for(wanted.shape, memory_format):
            return call(aten.clone.default, value, memory_format=memory_format)
    order = [*reversed(stride_order(wanted))]
    value = call(aten.permute.default, value, order)
    value = call(aten.clone.default, value, memory_format=torch.contiguous_format)
    return call(aten.permute.default, value, [order.index(dim) for dim in range(wanted.rank)])


_FORMATS = (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)


def view_of(alias: Alias, view: View) -> Alias:
    """One view further; its value is computed when it is read."""
    return Alias(alias.storage, view.type, (*alias.views, view), unseen=alias.unseen)
